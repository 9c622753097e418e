#include "tally/metrics/retrieval/positive_ranks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <limits>
#include <utility>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/plain_values.h"

namespace tally {
namespace internal::retrieval {

void check_positive(const char* metric, const PositiveRules& rules) {
  TORCH_CHECK_VALUE(rules.positive >= 0, metric,
                    ": expected positive to be at least 0, got ",
                    rules.positive);
  TORCH_CHECK_VALUE(rules.ties != TieOrder::kIds, metric,
                    ": expected ties expected, pessimistic or optimistic, as "
                    "there are no ids, got ids");
  const bool is_default =
      rules.positive == 0 && rules.ties == TieOrder::kExpected;
  TORCH_CHECK_VALUE(rules.input == RankInput::kScores || is_default, metric,
                    ": positive and ties are of scores: expected "
                    "input=scores, got input=ranks");
}

}  // namespace internal::retrieval

namespace {

using internal::retrieval::PositiveRules;

template <class Options>
PositiveRules rules_of(const Options& options) {
  return {options.input(), options.positive(), options.ties()};
}

/// How many ranks there are from first to last.
at::Tensor places(const at::Tensor& first, const at::Tensor& last) {
  return last.sub(first).add(1);
}

at::Tensor mean_rank(const at::Tensor& first, const at::Tensor& last,
                     std::int64_t /*top_k*/) {
  return first.add(last).div(2);
}

at::Tensor mean_reciprocal(const at::Tensor& first, const at::Tensor& last,
                           std::int64_t /*top_k*/) {
  const at::Tensor reciprocal = first.reciprocal();
  const at::Tensor is_range = last.gt(first);
  if (!is_range.any().item<bool>()) return reciprocal;
  // Sums of 1 / rank up to each rank; those of scores are integers.
  const auto most = at::where(is_range, last, 1).max().item<std::int64_t>();
  const at::Tensor sums =
      at::arange(most + 1, first.options())
          .reciprocal()
          .index_fill(0, at::arange(1, first.options().dtype(at::kLong)), 0)
          .cumsum(0);
  const at::Tensor known = at::where(is_range, first, 1);
  const at::Tensor end = at::where(is_range, last, 1);
  const at::Tensor between =
      sums.index_select(0, end.to(at::kLong))
          .sub(sums.index_select(0, known.sub(1).to(at::kLong)))
          .div(places(known, end));
  return at::where(is_range, between, reciprocal);
}

at::Tensor mean_hit(const at::Tensor& first, const at::Tensor& last,
                    std::int64_t top_k) {
  // A known rank may have a fraction.
  return first.neg()
      .add(top_k + 1)
      .floor()
      .div(places(first, last))
      .clamp(0, 1);
}

/// The same with any number of threads.
Number sum_of(const at::Tensor& values) {
  if (!internal::is_plain(values)) return Number(values.sum());
  const auto* first = values.const_data_ptr<double>();
  return Number(internal::sum_terms(values.numel(),
                                    [=](std::int64_t i) { return first[i]; }));
}

}  // namespace

at::Tensor PositiveRanks::State::mean() const {
  return sum.tensor().div(total);
}

void PositiveRanks::check(const at::Tensor& preds) const {
  if (rules_.input == RankInput::kScores) {
    internal::check_floating("preds", preds);
    TORCH_CHECK_VALUE(preds.dim() == 2 && preds.size(1) > rules_.positive,
                      "expected scores as preds of shape [N, C], with C above "
                      "positive=",
                      rules_.positive, ", got ", preds.sizes());
    return;
  }
  internal::check_real("preds", preds);
  TORCH_CHECK_VALUE(preds.dim() == 1,
                    "expected ranks as preds of shape [N], got ", preds.sizes(),
                    " (input is RankInput::kScores for scores [N, C])");
  if (!validate_) return;
  const at::Tensor low = preds.lt(1).nonzero();
  if (low.size(0) == 0) return;
  const auto place = low[0][0].item<std::int64_t>();
  TORCH_CHECK_VALUE(false, "expected ranks from 1 on, got ",
                    preds[place].item<double>(), " at position ", place);
}

PositiveRanks::State PositiveRanks::observe(const at::Tensor& given) const {
  internal::check_defined("preds", given);
  check(given);
  at::Tensor preds = given.detach();
  const at::Tensor nan =
      preds.dim() == 2 ? preds.isnan().any(1) : preds.isnan();
  bool has_nan = nan.any().item<bool>();
  if (has_nan && nan_policy_ != NanPolicy::kPropagate) {
    TORCH_CHECK_VALUE(nan_policy_ != NanPolicy::kError,
                      "expected preds without NaN, got one in row ",
                      nan.nonzero()[0][0].item<std::int64_t>());
    preds = preds.index_select(0, nan.logical_not().nonzero().squeeze(1));
    has_nan = false;
  }
  State state;
  state.total = preds.size(0);
  if (state.total == 0) return state;
  at::Tensor first, last;
  if (rules_.input == RankInput::kRanks) {
    first = last = preds.to(at::kDouble);
  } else {
    const at::Tensor positive = preds.narrow(1, rules_.positive, 1);
    first = preds.gt(positive).sum(1).add(1).to(at::kDouble);
    last = first.add(preds.eq(positive).sum(1).sub(1));
    if (rules_.ties == TieOrder::kPessimistic) first = last;
    if (rules_.ties == TieOrder::kOptimistic) last = first;
    if (has_nan) {
      // Nothing is higher than NaN, or equal to it.
      const double none = std::numeric_limits<double>::quiet_NaN();
      first = at::where(nan, none, first);
      last = at::where(nan, none, last);
    }
  }
  state.sum = sum_of(value_(first, last, top_k_).contiguous());
  return state;
}

void RankHitRateOptions::validate(const char* metric) const {
  RankOptions::validate(metric);
  TORCH_CHECK_VALUE(top_k_ >= 1, metric,
                    ": expected top_k to be at least 1, got ", top_k_);
}

RankSums::RankSums(const Options& options, const MetricOptions& metric_options)
    : PositiveRanks(rules_of(options), mean_rank, /*top_k=*/0, metric_options) {
}

ReciprocalRankSums::ReciprocalRankSums(const Options& options,
                                       const MetricOptions& metric_options)
    : PositiveRanks(rules_of(options), mean_reciprocal, /*top_k=*/0,
                    metric_options) {}

RankHits::RankHits(const Options& options, const MetricOptions& metric_options)
    : PositiveRanks(rules_of(options), mean_hit, options.top_k(),
                    metric_options) {}

template class MetricOf<MeanRank, RankSums, at::Tensor>;
template class MetricOf<MeanReciprocalRank, ReciprocalRankSums, at::Tensor>;
template class MetricOf<RankHitRate, RankHits, at::Tensor>;

}  // namespace tally
