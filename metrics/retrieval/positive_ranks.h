#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"

namespace tally {

/// What metrics of ranks are given.
enum class RankInput {
  kRanks,   ///< ranks, from 1
  kScores,  ///< the scores of one positive and of others
};
template <>
struct EnumNames<RankInput> {
  static constexpr const char* kNames[] = {"ranks", "scores"};
};

namespace internal::retrieval {

/// What does not depend on the metric.
struct PositiveRules {
  RankInput input;
  std::int64_t positive;
  TieOrder ties;
};
/// c10::ValueError for options that are not as RankOptions says.
void check_positive(const char* metric, const PositiveRules& rules);

}  // namespace internal::retrieval

/// Options of all metrics of ranks; `Self` inherits them.
template <class Self>
struct RankOptions {
  /// What update() is given. Default: ranks.
  TALLY_INHERITED_ARG(Self, RankInput, input) = RankInput::kRanks;
  /// With RankInput::kScores, the column of the positive. Default: 0.
  TALLY_INHERITED_ARG(Self, std::int64_t, positive) = 0;
  /// With RankInput::kScores, where the positive stands among scores that equal
  /// its own: in all places (the value is the mean), last, or first. Not kIds.
  TALLY_INHERITED_ARG(Self, TieOrder, ties) = TieOrder::kExpected;

 public:
  void visit(OptionVisitor& v) {
    v("input", input_, "Whether ranks are given, or scores with one positive.");
    v("positive", positive_, "Column of the positive, with input=scores.");
    v.first<3>("ties", ties_, OptionRole::kState,
               "Rank of the positive among equal scores.");
  }
  void validate(const char* metric) const {
    internal::retrieval::check_positive(metric, {input_, positive_, ties_});
  }
};

/// Options of MeanRank.
struct MeanRankOptions : RankOptions<MeanRankOptions> {};
/// Options of MeanReciprocalRank.
struct MeanReciprocalRankOptions : RankOptions<MeanReciprocalRankOptions> {};

/// Options of RankHitRate.
struct RankHitRateOptions : RankOptions<RankHitRateOptions> {
  /// The last rank that is a hit. Default: 10.
  TALLY_INHERITED_ARG(RankHitRateOptions, std::int64_t, top_k) = 10;

 public:
  void visit(OptionVisitor& v) {
    v("top_k", top_k_, "Ranks up to this one are hits.");
    RankOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// Adds up what metrics of ranks make of each rank.
class PositiveRanks {
 public:
  static constexpr const char* kName = "PositiveRanks";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "ranks [N], or float scores [N, C]"}};
  struct State {
    Number sum;
    std::int64_t total = 0;
    void fields(Fields& f) { f("sum", sum)("total", total); }
    /// The mean; NaN without rows.
    at::Tensor mean() const;
  };

  /// What a metric makes of ranks that lie anywhere between `first` and `last`,
  /// both float64 [N], with the same probability.
  using RankValue = at::Tensor (*)(const at::Tensor& first,
                                   const at::Tensor& last, std::int64_t top_k);

 protected:
  PositiveRanks(const internal::retrieval::PositiveRules& rules,
                RankValue value, std::int64_t top_k,
                const MetricOptions& metric_options)
      : rules_(rules),
        value_(value),
        top_k_(top_k),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

 public:
  State observe(const at::Tensor& preds) const;

 private:
  void check(const at::Tensor& preds) const;

  internal::retrieval::PositiveRules rules_;
  RankValue value_;
  std::int64_t top_k_;
  NanPolicy nan_policy_;
  bool validate_;
};

/// Adds up ranks.
class RankSums : public PositiveRanks {
 public:
  static constexpr const char* kName = "RankSums";
  using Options = MeanRankOptions;
  RankSums(const Options& options, const MetricOptions& metric_options);
};

/// Adds up 1 / rank.
class ReciprocalRankSums : public PositiveRanks {
 public:
  static constexpr const char* kName = "ReciprocalRankSums";
  using Options = MeanReciprocalRankOptions;
  ReciprocalRankSums(const Options& options,
                     const MetricOptions& metric_options);
};

/// Counts ranks of at most top_k.
class RankHits : public PositiveRanks {
 public:
  static constexpr const char* kName = "RankHits";
  using Options = RankHitRateOptions;
  RankHits(const Options& options, const MetricOptions& metric_options);
};

/// The mean of ranks that are already known, or of those that one positive has
/// among negatives: link prediction, recommendation with sampled negatives,
/// image and text retrieval.
///
///     sum_n rank_n / N
///
/// update(preds): ranks [N] of any real dtype, from 1, where fractions are
/// means of tied ranks; or with input(RankInput::kScores) floating-point scores
/// [N, C] of C - 1 negatives and one positive, which is in column `positive`.
/// Its rank is then 1 + the number of higher scores, and
///
///     kExpected: + half the number of equal ones
///     kPessimistic: + their number      kOptimistic: + 0
///
/// Result: 0-dim float64 in [1, inf), NaN before any update.
/// State: the sum in float64 and the number of rows, merged by addition; what
/// depends on documents' relevance, or has more than one positive, is of the
/// Retrieval metrics.
/// NaN: a row with one makes the value NaN; NanPolicy::kIgnore skips it.
/// Errors: c10::ValueError for other shapes, for ranks below 1 (unless
/// validate_args is off), for a column that is none, and for NaN with
/// NanPolicy::kError; c10::TypeError for complex inputs, and for scores that
/// are not floating point.
/// Not differentiable. Source: Bordes et al. 2013.
///
/// Example:
///     MeanRank known;
///     known.update(at::tensor({1, 3, 2}));
///     MeanRank ranked(MeanRankOptions().input(RankInput::kScores));
///     ranked.update(at::tensor({0.9, 0.2, 0.4}).unsqueeze(0));
class MeanRank final : public MetricOf<MeanRank, RankSums, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanRank";
  static constexpr MetricSummary kSummary{
      "Mean of known ranks, or of one positive's among negatives.",
      "[1, inf)",
      "",
      "mean rank, link prediction",
      R"(\frac{1}{N} \sum_n rank_n)",
      "Bordes et al. 2013"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const { return state.mean(); }
};

/// The mean of 1 / rank, of ranks that are already known or of one positive's
/// among negatives.
///
///     sum_n 1 / rank_n / N
///
/// Result: 0-dim float64 in [0, 1], NaN before any update. Scores that equal
/// the positive's: with kExpected the mean of 1 / rank over their places.
/// update(preds): inputs, state, NaN and errors as in MeanRank.
/// Not differentiable. Source: Voorhees 1999.
///
/// Example:
///     MeanReciprocalRank known;
///     known.update(at::tensor({1, 3, 2}));
///     double value = known.compute().item<double>();
class MeanReciprocalRank final
    : public MetricOf<MeanReciprocalRank, ReciprocalRankSums, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanReciprocalRank";
  static constexpr MetricSummary kSummary{
      "Mean reciprocal of known ranks, or of one positive's among negatives.",
      "[0, 1]",
      "",
      "reciprocal of known ranks",
      R"(\frac{1}{N} \sum_n \frac{1}{rank_n})",
      "Voorhees 1999"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const { return state.mean(); }
};

/// The fraction of ranks of at most k, of ranks that are already known or of
/// one positive's among negatives (hits@k, recall@k with one positive).
///
///     |{n: rank_n <= k}| / N
///
/// Result: 0-dim float64 in [0, 1], NaN before any update. Scores that equal
/// the positive's: with kExpected the fraction of their places that are hits;
/// a known rank with a fraction is a hit or none.
/// update(preds): inputs, state, NaN and errors as in MeanRank; and
/// c10::ValueError for a top_k below 1.
/// Not differentiable. Source: Bordes et al. 2013.
///
/// Example:
///     RankHitRate hits(RankHitRateOptions().top_k(1));
///     hits.update(at::tensor({1, 3, 2}));
///     double value = hits.compute().item<double>();
class RankHitRate final : public MetricOf<RankHitRate, RankHits, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RankHitRate";
  static constexpr MetricSummary kSummary{
      "Fraction of known ranks, or of one positive's, that are at most k.",
      "[0, 1]",
      "",
      "hits@k of ranks, hits at k",
      R"(\frac{1}{N} |\{n : rank_n \le k\}|)",
      "Bordes et al. 2013"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const { return state.mean(); }
};

extern template class MetricOf<MeanRank, RankSums, at::Tensor>;
extern template class MetricOf<MeanReciprocalRank, ReciprocalRankSums,
                               at::Tensor>;
extern template class MetricOf<RankHitRate, RankHits, at::Tensor>;

}  // namespace tally
