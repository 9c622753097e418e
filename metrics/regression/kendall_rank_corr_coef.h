#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/states/sample_pairs.h"

namespace tally {

/// The variants of Kendall's tau, which differ in the handling of ties.
enum class KendallVariant { kA, kB, kC };
template <>
struct EnumNames<KendallVariant> {
  static constexpr const char* kNames[] = {"a", "b", "c"};
};

/// The alternative hypothesis to independence in the test of
/// KendallRankCorrCoef.
enum class Alternative {
  kTwoSided,  ///< tau is not 0
  kLess,      ///< tau is negative
  kGreater,   ///< tau is positive
};
template <>
struct EnumNames<Alternative> {
  static constexpr const char* kNames[] = {"two-sided", "less", "greater"};
};

/// Options of KendallRankCorrCoef.
///
/// Example:
///     KendallRankCorrCoef tau(
///         KendallRankCorrCoefOptions().variant(KendallVariant::kC));
struct KendallRankCorrCoefOptions {
  KendallRankCorrCoefOptions() : num_outputs_(1) {}
  template <class Count, RequireCount<Count> = 0>
  KendallRankCorrCoefOptions(Count num_outputs)
      : num_outputs_(static_cast<std::int64_t>(num_outputs)) {}
  /// If above 1, inputs are [N, num_outputs] and the result is [num_outputs].
  /// Default: 1.
  TORCH_ARG(std::int64_t, num_outputs);
  TORCH_ARG(KendallVariant, variant) = KendallVariant::kB;
  /// Whether the result includes a p-value.
  TORCH_ARG(bool, t_test) = false;
  TORCH_ARG(Alternative, alternative) = Alternative::kTwoSided;

 public:
  void visit(OptionVisitor& v) {
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
    v("variant", variant_, OptionRole::kValue,
      "Kendall's tau-a, tau-b or tau-c.");
    v("t_test", t_test_, OptionRole::kValue,
      "Whether to return a p-value as well.");
    v("alternative", alternative_, OptionRole::kValue,
      "Alternative hypothesis of the test.");
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

/// The result of KendallRankCorrCoef. In a collection the metric "kendall" has
/// the values "kendall" and, with t_test, "kendall.p_value".
struct KendallResult {
  at::Tensor tau;
  at::Tensor p_value;  ///< undefined without t_test

  void visit(ResultParts& parts) {
    parts("", tau);
    if (p_value.defined()) parts("p_value", p_value);
  }
};

/// Kendall's rank correlation coefficient tau.
///
///     variant a: (C - D) / (n (n - 1) / 2)
///     variant b: (C - D) / sqrt((C + D + T_p) (C + D + T_t))
///     variant c: 2 (C - D) / (n^2 (m - 1) / m)
///
/// with C concordant and D discordant pairs of n samples, T_p and T_t pairs
/// tied only in preds or only in target, and m the smaller number of distinct
/// values. The p-value is from the normal approximation for C - D, which
/// accounts for ties except in variant a.
/// update(preds, target): of shape [N] or [N, 1], any real dtypes (integers
/// beyond 2^53 are rounded). With num_outputs > 1: [N, num_outputs].
/// Result: KendallResult of 0-dim or [num_outputs]; float64, tau in [-1, 1].
/// NaN for fewer than two samples and, except for variant a, for constant
/// inputs. c10::ValueError for 2^32 samples or more. State, NaN and errors: as
/// in SpearmanCorrCoef. Not differentiable. Source: Knight 1966; Kendall 1970.
///
/// Example:
///     KendallRankCorrCoef kendall(KendallRankCorrCoefOptions().t_test(true));
///     kendall.update(preds, target);
///     auto [tau, p_value] = kendall.compute();
class KendallRankCorrCoef final
    : public MetricOf<KendallRankCorrCoef, SamplePairs, KendallResult,
                      KendallRankCorrCoefOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "KendallRankCorrCoef";
  static constexpr MetricSummary kSummary{
      "Concordant minus discordant pairs, as a fraction of all.",
      "[-1, 1]",
      "",
      "kendall, kendall's tau, krcc",
      R"(\frac{C - D}{\sqrt{(C + D + T_x)(C + D + T_y)}})",
      "Kendall 1938; Knight 1966"};

  KendallResult evaluate(const State& state) const;
};

extern template class MetricOf<KendallRankCorrCoef, SamplePairs, KendallResult,
                               KendallRankCorrCoefOptions>;

}  // namespace tally
