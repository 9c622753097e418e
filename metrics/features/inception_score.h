#pragma once

#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/features/split_statistics.h"
#include "tally/metrics/features/states/logit_samples.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of InceptionScore.
struct InceptionScoreOptions {
  /// The number of parts that samples are divided into.
  TORCH_ARG(std::int64_t, splits) = 10;

 public:
  void visit(OptionVisitor& v) {
    v("splits", splits_, OptionRole::kValue,
      "How many parts the samples are divided into.");
  }
  void validate(const char* metric) const;
};

/// Inception score (IS): how confident a classifier is about each generated
/// sample, and how diverse its predictions are.
///
///     exp(mean_i sum_c p_ic (log p_ic - log mean_j p_jc)), p = softmax(logits)
///
/// in each of `splits` parts of the samples.
/// update(logits, ids = {}): [N, C] of any real dtype, and ids of samples.
/// Part k of n consists of samples floor(k N / n) to floor((k + 1) N / n) - 1
/// in the order of their ids; without ids, in the order of a hash of their
/// logits, which is random but the same for any split over ranks.
/// Result: {mean, std} over the parts that have samples, 0-dim float64; the
/// mean is from 1 to C. NaN without samples.
/// State: all logits, with ids.
/// NaN, infinity: propagate, except that -inf is a probability of 0;
/// NanPolicy::kIgnore skips rows with NaN.
/// Errors: c10::ValueError for other shapes, for C that changes, and for NaN
/// with NanPolicy::kError; c10::TypeError for ids that are not integers and for
/// complex or sparse logits.
/// Not differentiable.
/// Source: Salimans et al. 2016; parts as in torch-fidelity 0.4.0.
///
/// Example:
///     InceptionScore score;
///     score.update(at::randn({100, 10}));
///     double value = score.compute().mean.item<double>();
class InceptionScore final
    : public MetricOf<InceptionScore, LogitSamples, SplitStatistics,
                      InceptionScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "InceptionScore";
  static constexpr const char* kNoInterval = internal::kNoIntervalOfFeatures;
  static constexpr MetricSummary kSummary{
      "Confidence and diversity of a classifier's predictions (IS).",
      "[1, C]",
      "",
      "is, inception",
      R"(\exp E_x KL(p(y | x) \| p(y)))",
      "Salimans et al. 2016"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SplitStatistics evaluate(const State& state) const;
};

extern template class MetricOf<InceptionScore, LogitSamples, SplitStatistics,
                               InceptionScoreOptions>;

}  // namespace tally
