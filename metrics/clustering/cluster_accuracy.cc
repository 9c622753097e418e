#include "tally/metrics/clustering/cluster_accuracy.h"

#include <limits>

#include "tally/metrics/clustering/kernels/assignment.h"
#include "tally/metrics/tables/contingency.h"
#include "tally/metrics/tables/label_range.h"

namespace tally {

void ClusterAccuracyOptions::validate(const char* metric) const {
  internal::tables::check_num_classes(metric, num_classes_);
}

at::Tensor ClusterAccuracy::evaluate(const State& state) const {
  const auto table = internal::tables::contingency_of(state);
  if (table.total == 0) {
    return internal::scalar_tensor(std::numeric_limits<double>::quiet_NaN());
  }
  const std::int64_t correct = internal::clustering::largest_assignment(table);
  return internal::scalar_tensor(static_cast<double>(correct) /
                                 static_cast<double>(table.total));
}

}  // namespace tally
