#pragma once

#include <optional>
#include <string>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/states/row_scores.h"

namespace tally {

/// Options of KLDivergence and JensenShannonDivergence.
///
/// Example:
///     KLDivergence divergence(KLDivergenceOptions().log_prob(true));
struct KLDivergenceOptions {
  /// False: inputs are probabilities, or proportional to them, and are divided
  /// by their sums. True: they are log-probabilities, and are not normalized.
  TORCH_ARG(bool, log_prob) = false;
  TORCH_ARG(RowReduction, reduction) = RowReduction::kMean;

 public:
  void visit(OptionVisitor& v) {
    v("log_prob", log_prob_, "Whether inputs are log-probabilities.");
    v("reduction", reduction_, internal::regression::role_of(reduction_),
      internal::words::kReducedSamples);
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
};
using JensenShannonDivergenceOptions = KLDivergenceOptions;

/// Common parts of the scores of both divergences.
struct DistributionRows {
  static constexpr InputInfo kInputs[] = {
      {"p", InputKind::kReal, "real [N, D]"},
      {"q", InputKind::kReal, "real [N, D]"}};
  using Options = KLDivergenceOptions;
  explicit DistributionRows(const Options& options)
      : log_prob(options.log_prob()) {}
  std::optional<internal::regression::RowKind> kernel_of(
      internal::regression::RowKind kind) const {
    return log_prob ? std::nullopt : std::make_optional(kind);
  }
  std::string invalid(const at::Tensor& p, const at::Tensor& q) const;
  std::string domain() const { return "p and q of at least 0"; }
  bool log_prob;
};

/// The score of KLDivergence.
struct KLOfRows : DistributionRows {
  static constexpr const char* kName = "KLOfRows";
  using DistributionRows::DistributionRows;
  template <class T>
  double operator()(const T* p, const T* q, std::int64_t size) const;
  at::Tensor operator()(const at::Tensor& p, const at::Tensor& q) const;
  std::optional<internal::regression::RowKind> kernel() const {
    return kernel_of(internal::regression::RowKind::kKL);
  }
};
extern template class RowScores<KLOfRows>;

/// The Kullback-Leibler divergence of q from p, in nats.
///
///     sum_d p_d log(p_d / q_d), of rows p and q
///
/// with 0 log(0 / q) = 0.
/// update(p, q): [N, D], any real dtypes; each row is a distribution.
/// Result: the mean or sum over rows (0-dim), or one value each (kNone, [N]);
/// float64, 0 or more (with log_prob only if rows add up to 1). Infinite where
/// q is 0 and p is not; NaN for a row of zeros.
/// State: the sum in float64 and the number of rows, merged by addition; with
/// kNone the scores, concatenated.
/// NaN: propagates; NanPolicy::kIgnore ignores the row.
/// Errors: c10::ValueError for other shapes, for values below 0 (with
/// validate_args and without log_prob) and for NaN with NanPolicy::kError;
/// c10::TypeError for complex or sparse inputs.
/// Differentiable in p and q.
///
/// Example:
///     KLDivergence divergence;
///     divergence.update(at::rand({8, 3}), at::rand({8, 3}));
///     double value = divergence.compute().item<double>();
class KLDivergence final
    : public MetricOf<KLDivergence, RowScores<KLOfRows>, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "KLDivergence";
  static constexpr MetricSummary kSummary{
      "Kullback-Leibler divergence of q from p.",
      "[0, inf]",
      "",
      "kl, kullback-leibler, relative entropy",
      R"(\sum_i p_i \log \frac{p_i}{q_i})",
      "Kullback and Leibler 1951"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The score of JensenShannonDivergence.
struct JensenShannonOfRows : DistributionRows {
  static constexpr const char* kName = "JensenShannonOfRows";
  using DistributionRows::DistributionRows;
  template <class T>
  double operator()(const T* p, const T* q, std::int64_t size) const;
  at::Tensor operator()(const at::Tensor& p, const at::Tensor& q) const;
  std::optional<internal::regression::RowKind> kernel() const {
    return kernel_of(internal::regression::RowKind::kJensenShannon);
  }
};
extern template class RowScores<JensenShannonOfRows>;

/// The Jensen-Shannon divergence of p and q, in nats: from 0 to log 2.
///
///     (KL(p, m) + KL(q, m)) / 2 with m = (p + q) / 2
///
/// SciPy's jensenshannon() is its square root. Otherwise like KLDivergence, but
/// never infinite.
///
/// Example:
///     JensenShannonDivergence divergence;
///     divergence.update(at::rand({8, 3}), at::rand({8, 3}));
///     double value = divergence.compute().item<double>();
class JensenShannonDivergence final
    : public MetricOf<JensenShannonDivergence, RowScores<JensenShannonOfRows>,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "JensenShannonDivergence";
  static constexpr MetricSummary kSummary{
      "Jensen-Shannon divergence of p and q.",
      "[0, log(2)] for each row",
      "",
      "js, jsd, jensen-shannon",
      R"(\frac{KL(p \| m) + KL(q \| m)}{2},\ m = \frac{p + q}{2})",
      "Lin 1991"};
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<KLDivergence, RowScores<KLOfRows>, at::Tensor>;
extern template class MetricOf<JensenShannonDivergence,
                               RowScores<JensenShannonOfRows>, at::Tensor>;

}  // namespace tally
