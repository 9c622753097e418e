#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/features/inputs/declared_inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

namespace internal::features {

/// How many rows of features there were, their mean, and the products of their
/// deviations from it; float64.
struct Moments {
  std::int64_t total = 0;
  at::Tensor mean;  // [D]; undefined without rows, as is:
  /// Up to D + 1 rows: [total - 1, D], whose products X^T X they are. A matrix
  /// of products would lose the half of the digits that its zero eigenvalues
  /// have. From then on the products, [D, D].
  at::Tensor scatter;

  std::int64_t dims() const { return mean.size(0); }
  bool has_rows() const { return total <= dims() + 1; }
};

/// Of features [N, D], with their graph.
Moments moments_of(const at::Tensor& features);
/// c10::ValueError for other numbers of columns.
Moments merged(const Moments& a, const Moments& b);

}  // namespace internal::features

/// Mean and covariance of real and of generated features: the observer of
/// distances between them.
///
/// update(features, real): real [N, D], and whether they are of real samples.
/// float64, merged by the formula of Chan, Golub and LeVeque (1983): large
/// offsets cost no precision. Its size is that of two [D, D] matrices at most,
/// however many samples there are.
/// NaN: propagates; NanPolicy::kIgnore skips the row.
/// Errors: c10::ValueError for other shapes, for D that changes, for flags
/// other than 0 and 1, and for NaN with NanPolicy::kError; c10::TypeError for
/// flags that are not integers and for complex or sparse features.
class FeatureMoments {
 public:
  static constexpr const char* kName = "FeatureMoments";
  static constexpr const auto& kInputs = internal::features::kFeatureInputs;
  struct State {
    internal::features::Moments real, generated;

    void fields(Fields& f) {
      f("real_total", real.total)("generated_total", generated.total);
      f("real_mean", real.mean)("real_scatter", real.scatter);
      f("generated_mean", generated.mean);
      f("generated_scatter", generated.scatter);
    }
    static State merge(const State& a, const State& b);
  };

  template <class Options>
  FeatureMoments(const Options&, const MetricOptions& metric_options)
      : options_(metric_options) {}

  State observe(const at::Tensor& features, const at::Tensor& real) const;

 private:
  MetricOptions options_;
};

}  // namespace tally
