#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/metrics/regression/kernels/row_kernels.h"
#include "tally/state/fields.h"

namespace tally {

/// How the scores of rows are reduced.
enum class RowReduction {
  kMean,  ///< their mean; NaN before any update
  kSum,   ///< their sum; 0 before any update
  kNone,  ///< not reduced: [N], in the order of updates and ranks
};

template <>
struct EnumNames<RowReduction> {
  static constexpr const char* kNames[] = {"mean", "sum", "none"};
};

/// The state of metrics that score rows.
struct RowScoresState {
  Number sum;
  std::int64_t total = 0;
  Rows scores;  // kNone: instead of the sum

  void fields(Fields& f) { f("sum", sum)("total", total)("scores", scores); }
  bool has_nan() const;
};

/// Scores the rows of two inputs [N, D]. `Score` has kName, Options (with
/// reduction()), the names of both inputs, a constructor from the options, and
/// the score of a row in two forms:
///
///     template <class T> double operator()(const T* a, const T* b,
///                                          std::int64_t size) const;
///     at::Tensor operator()(const at::Tensor& a, const at::Tensor& b) const;
///
/// the latter for float64 tensors [N, D], with a gradient, returning [N]; also
/// kernel(), the equivalent of row_kernels.h for ordinary values, if any,
/// invalid(a, b), the first value that is not in the domain (NaN is), "-1 as
/// p", or empty, and domain(), a description of it. In the .cc file of the
/// metric: #include row_scores_impl.h, and `template class RowScores<Score>;`.
template <class Score>
class RowScores {
 public:
  static constexpr const char* kName = Score::kName;
  static constexpr const auto& kInputs = Score::kInputs;
  using Options = typename Score::Options;
  using State = RowScoresState;

  RowScores(const Options& options, const MetricOptions& metric_options)
      : score_(options),
        keep_scores_(options.reduction() == RowReduction::kNone),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

  State observe(const at::Tensor& a, const at::Tensor& b) const;

 private:
  Score score_;
  bool keep_scores_;
  NanPolicy nan_policy_;
  bool validate_;
};

namespace internal::regression {

/// For options: sums and means share a state.
inline OptionRole role_of(RowReduction reduction) {
  return reduction == RowReduction::kNone ? OptionRole::kState
                                          : OptionRole::kValue;
}

at::Tensor reduce_rows(const RowScoresState& state, RowReduction reduction);

}  // namespace internal::regression
}  // namespace tally
