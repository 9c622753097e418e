#pragma once

#include <cstdint>

/// The inner loop of calibration errors of classes, in the widest vectors that
/// the machine has.
namespace tally::internal::classification {

/// The class that is predicted.
struct TopScore {
  double confidence;  // NaN if a score is
  bool hit;
};

/// Of one row; `target` is a class, and hit if it has the largest score, of
/// equal ones as the first. The confidence is that score, of logits their
/// softmax there.
TopScore top_score(const float* scores, std::int64_t classes,
                   std::int64_t target, bool logits);
TopScore top_score(const double* scores, std::int64_t classes,
                   std::int64_t target, bool logits);

}  // namespace tally::internal::classification
