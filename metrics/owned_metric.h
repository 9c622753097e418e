#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "tally/metrics/metric.h"

namespace tally {

/// A metric whose ownership is passed to a wrapper: moved in, or as a pointer.
///
/// Example:
///     MinMaxMetric best(MulticlassAccuracy(10));
///     MeanSquaredError mse;
///     MinMaxMetric least(mse.clone());
class OwnedMetric {
 public:
  template <class M, std::enable_if_t<
                         std::is_base_of_v<Metric, std::decay_t<M>>, int> = 0>
  OwnedMetric(M&& metric)
      : metric_(std::make_unique<std::decay_t<M>>(std::move(metric))) {
    static_assert(
        !std::is_lvalue_reference_v<M>,
        "a wrapper takes ownership of its metric: std::move it in, or pass its "
        "clone()");
  }
  template <class M, std::enable_if_t<std::is_base_of_v<Metric, M>, int> = 0>
  OwnedMetric(std::unique_ptr<M> metric) : metric_(std::move(metric)) {}

  /// For `owner`, which accumulates in its place: throws c10::ValueError for
  /// null, and for a metric that has accumulated data.
  std::unique_ptr<Metric> take(const char* owner);

 private:
  std::unique_ptr<Metric> metric_;
};

}  // namespace tally
