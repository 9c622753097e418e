#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/clustering/states/label_pairs.h"
#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// The mutual information of predicted and true clusters, in nats.
///
///     sum_ij n_ij / N log(N n_ij / (a_i b_j))
/// of the counts n_ij of samples in predicted cluster i and true cluster j,
/// with sums a_i and b_j.
///
/// update(preds, target): int labels of one shape, any dtypes; each pair of
/// elements is a sample. Any numbers are labels, also beyond int32 and below 0,
/// and so are texts (see Keys).
/// Result: 0-dim float64, 0 or more. NaN without samples.
/// State: the counts of pairs that occur (see PairCounts), never the samples.
/// Errors: c10::ValueError for shapes that differ; c10::TypeError for labels
/// that are not integers. Not differentiable.
/// As sklearn.metrics.mutual_info_score.
///
/// Example:
///     MutualInfoScore score;
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class MutualInfoScore final
    : public MetricOf<MutualInfoScore, LabelPairs, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MutualInfoScore";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfInformation;
  static constexpr MetricSummary kSummary{
      "Mutual information between two clusterings, in nats.", "[0, inf)", "",
      "mutual information, mi",
      R"(\sum_{u, v} \frac{n_{uv}}{N} \log \frac{N n_{uv}}{n_u n_v})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// A mean of two entropies.
enum class AverageMethod {
  kMin,
  kGeometric,
  kArithmetic,
  kMax,
};

template <>
struct EnumNames<AverageMethod> {
  static constexpr const char* kNames[] = {"min", "geometric", "arithmetic",
                                           "max"};
};

/// Options of NormalizedMutualInfoScore and AdjustedMutualInfoScore.
///
/// Example: `NormalizedMutualInfoScore score(AverageMethod::kMax);`
struct MutualInfoOptions {
  MutualInfoOptions(AverageMethod average_method = AverageMethod::kArithmetic)
      : average_method_(average_method) {}
  /// Which mean of both entropies normalizes the score. Default: kArithmetic.
  TORCH_ARG(AverageMethod, average_method);

 public:
  void visit(OptionVisitor& v) {
    v("average_method", average_method_, OptionRole::kValue,
      "Which mean of the two entropies normalizes the score.");
  }
};
using NormalizedMutualInfoScoreOptions = MutualInfoOptions;
using AdjustedMutualInfoScoreOptions = MutualInfoOptions;

/// Mutual information, divided by a mean of the entropies of both clusterings.
///
///     MI / mean(H(preds), H(target))
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64 in [0, 1]; exactly 1 for the same clusters under any
/// names, also for one cluster in both; 0 for one cluster against several. NaN
/// without samples.
/// Errors: as in MutualInfoScore. Not differentiable.
/// As sklearn.metrics.normalized_mutual_info_score.
///
/// Example:
///     NormalizedMutualInfoScore score;
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class NormalizedMutualInfoScore final
    : public MetricOf<NormalizedMutualInfoScore, LabelPairs, at::Tensor,
                      NormalizedMutualInfoScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "NormalizedMutualInfoScore";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfInformation;
  static constexpr MetricSummary kSummary{
      "Mutual information over a mean of both entropies.",
      "[0, 1]",
      "",
      "nmi, normalized mutual information",
      R"(\frac{I(U, V)}{\mathrm{mean}(H(U), H(V))})",
      "Strehl and Ghosh 2002"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// Mutual information adjusted for chance: 0 is what clusters of the same sizes
/// have on average.
///
///     (MI - E[MI]) / (mean(H(preds), H(target)) - E[MI])
/// with the expectation over all tables with the same sums of rows and columns.
///
/// update(preds, target): see MutualInfoScore, with which it shares its state.
/// Result: 0-dim float64, at most 1; exactly 1 for the same clusters under any
/// names, also for one cluster in both; 0 for one cluster against several, or
/// clusters of one sample each against others. NaN without samples.
/// The expectation takes about 20 terms for each pair of different cluster
/// sizes, with an error of 1e-13.
/// Errors: as in MutualInfoScore. Not differentiable.
/// As sklearn.metrics.adjusted_mutual_info_score (Vinh, Epps and Bailey 2010).
///
/// Example:
///     AdjustedMutualInfoScore score;
///     score.update(at::randint(5, {32}, at::kLong),
///                  at::randint(3, {32}, at::kLong));
///     double value = score.compute().item<double>();
class AdjustedMutualInfoScore final
    : public MetricOf<AdjustedMutualInfoScore, LabelPairs, at::Tensor,
                      AdjustedMutualInfoScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "AdjustedMutualInfoScore";
  static constexpr MetricSummary kSummary{
      "Normalized mutual information, adjusted for chance.",
      "(-inf, 1]",
      "",
      "ami, adjusted mutual information",
      R"(\frac{I(U, V) - E[I]}{\mathrm{mean}(H(U), H(V)) - E[I]})",
      "Vinh, Epps and Bailey 2010"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MutualInfoScore, LabelPairs, at::Tensor>;
extern template class MetricOf<NormalizedMutualInfoScore, LabelPairs,
                               at::Tensor, NormalizedMutualInfoScoreOptions>;
extern template class MetricOf<AdjustedMutualInfoScore, LabelPairs, at::Tensor,
                               AdjustedMutualInfoScoreOptions>;

}  // namespace tally
