#pragma once

#include <cstdint>

/// The inner loop of calibration errors of classes, with the widest vectors of
/// the machine.
namespace tally::internal::classification {

/// The predicted class.
struct TopScore {
  double confidence;  // NaN if a score is
  bool hit;
};

/// For one row; `target` is a class, and a hit if it is the first with the
/// largest score. The confidence is that score, or for logits its softmax.
TopScore top_score(const float* scores, std::int64_t classes,
                   std::int64_t target, bool logits);
TopScore top_score(const double* scores, std::int64_t classes,
                   std::int64_t target, bool logits);

}  // namespace tally::internal::classification
