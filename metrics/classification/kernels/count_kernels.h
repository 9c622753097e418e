#pragma once

#include <cstdint>

/// The inner loops of metrics of counts, in the widest vectors that the machine
/// has.
namespace tally::internal::classification {

/// The least number of classes for which predict_rows is worth its call.
constexpr std::int64_t kLeastVectorClasses = 4;

/// The class of the largest score of each row [classes], the first of equal
/// ones, or the target if that is among the top_k; kNanClass for a row with a
/// NaN. Targets that are no classes are never among them. On several threads
/// where there is much to do.
void predict_rows(const float* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted);
void predict_rows(const double* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted);

/// What there is in elements whose targets are all 0 or 1.
struct PlainCounts {
  std::int64_t tp = 0;
  std::int64_t predicted = 0;
  std::int64_t target = 0;
};

/// Adds the counts of elements, predicted to be 1 above the threshold. False,
/// and nothing is added, if a target is not 0 or 1, a score NaN or (under
/// `checks_range`) outside [0, 1].
bool count_plain_run(const float* preds, const std::int64_t* targets,
                     std::int64_t size, float threshold, bool checks_range,
                     PlainCounts& counts);

/// The same for rows [labels] by label: true positives, predictions and targets
/// are added to counts [3, labels]. Returns how many rows were counted: all
/// before one, or some rows before it, that count_plain_run would not count.
std::int64_t count_plain_rows(const float* preds, const std::int64_t* targets,
                              std::int64_t rows, std::int64_t labels,
                              float threshold, bool checks_range,
                              std::int64_t* counts);

}  // namespace tally::internal::classification
