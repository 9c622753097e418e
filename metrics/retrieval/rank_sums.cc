#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"
#include "tally/metrics/retrieval/retrieval_map.h"
#include "tally/metrics/retrieval/retrieval_mean_rank.h"
#include "tally/metrics/retrieval/retrieval_mrr.h"
#include "tally/metrics/retrieval/retrieval_rbp.h"

namespace tally {
namespace {

namespace retrieval = internal::retrieval;
using retrieval::QueryValue;
using retrieval::QueryView;
using retrieval::TieGroup;

// The precisions of the relevant documents within the best k.
double precision_sum(const QueryView& query, std::int64_t k) {
  double sum = 0;
  if (query.is_strict()) {
    // A branch would be guessed wrong.
    double found = 0;
    for (std::int64_t i = 0; i < std::min(k, query.runs); ++i) {
      const double is_relevant = query.grades[i] > 0;
      found += is_relevant;
      sum += is_relevant * (found / static_cast<double>(i + 1));
    }
    return sum;
  }
  std::int64_t hits = 0;
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const std::int64_t relevant = group.relevant();
    if (relevant == 0) return;
    const auto before = static_cast<double>(hits);
    const auto above = static_cast<double>(group.above);
    hits += relevant;
    if (group.size == 1) {
      sum += (before + 1) / (above + 1);
      return;
    }
    // A document is relevant with this chance, and with that each before it.
    const double chance =
        static_cast<double>(relevant) / static_cast<double>(group.size);
    const double others =
        static_cast<double>(relevant - 1) / static_cast<double>(group.size - 1);
    const std::int64_t slots = group.slots(k);
    for (std::int64_t i = 1; i <= slots; ++i) {
      const auto place = static_cast<double>(i);
      sum += chance * (before + (place - 1) * others + 1) / (above + place);
    }
  });
  return sum;
}

double reciprocal_rank(const QueryView& query, std::int64_t k) {
  if (query.is_strict()) {
    const std::int64_t last = std::min(k, query.runs);
    std::int64_t i = 0;
    while (i < last && query.grades[i] <= 0) ++i;
    return i < last ? 1 / static_cast<double>(i + 1) : 0;
  }
  double sum = 0;
  bool found = false;
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const std::int64_t relevant = found ? 0 : group.relevant();
    if (relevant == 0) return;
    found = true;
    // The chance that the i-th document of the group is the first one.
    double chance =
        static_cast<double>(relevant) / static_cast<double>(group.size);
    const std::int64_t last =
        std::min(group.slots(k), group.size - relevant + 1);
    for (std::int64_t i = 1; i <= last; ++i) {
      sum += chance / static_cast<double>(group.above + i);
      if (i == last) break;
      chance *= static_cast<double>(group.size - i - relevant + 1) /
                static_cast<double>(group.size - i);
    }
  });
  return sum;
}

/// None if no relevant document is retrieved.
QueryValue first_rank(const QueryView& query) {
  QueryValue rank = QueryValue::none();
  retrieval::for_each_group(
      query, retrieval::depth_of(std::nullopt), [&](const TieGroup& group) {
        const std::int64_t relevant = rank.defined > 0 ? 0 : group.relevant();
        if (relevant == 0) return;
        rank = {static_cast<double>(group.above) +
                static_cast<double>(group.size + 1) /
                    static_cast<double>(relevant + 1)};
      });
  return rank;
}

struct Parts {
  double value = 0;
  double residual = 0;
};

Parts parts_of(const QueryView& query, std::int64_t k, double persistence,
               double g_max) {
  Parts parts;
  double weight = 1;  // persistence to the power of the documents above
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const std::int64_t slots = group.slots(k);
    double weights = 0;
    for (std::int64_t i = 0; i < slots; ++i) {
      weights += weight;
      weight *= persistence;
    }
    const auto size = static_cast<double>(group.size);
    const double grades =
        group.sum([](double grade) { return grade > 0 ? grade : 0; });
    const double unjudged =
        group.sum([](double grade) { return grade < 0 ? 1.0 : 0.0; });
    parts.value += weights * (grades / size);
    parts.residual += weights * (unjudged / size);
  });
  parts.value *= (1 - persistence) / g_max;
  parts.residual = weight + (1 - persistence) * parts.residual;
  return parts;
}

}  // namespace

at::Tensor RetrievalMAP::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const bool attainable = options().denominator() == APDenominator::kAttainable;
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) {
        const std::int64_t most =
            attainable ? std::min(k, query.relevant) : query.relevant;
        return std::min(1.0,
                        precision_sum(query, k) / static_cast<double>(most));
      });
}

at::Tensor RetrievalMRR::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) { return reciprocal_rank(query, k); });
}

void RetrievalMeanRankOptions::validate(const char* metric) const {
  WholeRankingOptions::validate(metric);
  const EmptyTargetAction action = empty_target_action();
  TORCH_CHECK_VALUE(
      action == EmptyTargetAction::kSkip || action == EmptyTargetAction::kError,
      metric,
      ": expected empty_target_action to be skip or error, as no number is the "
      "rank of nothing, got ",
      internal::OptionType<EmptyTargetAction>::print(action));
}

at::Tensor RetrievalMeanRank::evaluate(const State& state) const {
  return retrieval::evaluate_queries(
      state.ranked().get(), options().rules(kName),
      "a relevant document that is retrieved",
      [](const QueryView& query) { return first_rank(query); });
}

void RetrievalRBPOptions::validate(const char* metric) const {
  TopKOptions::validate(metric);
  TORCH_CHECK_VALUE(persistence_ > 0 && persistence_ < 1, metric,
                    ": expected persistence in (0, 1), got ", persistence_);
  TORCH_CHECK_VALUE(g_max_ > 0, metric, ": expected g_max above 0, got ",
                    g_max_);
}

RankBiasedPrecision RetrievalRBP::evaluate(const State& state) const {
  const auto ranked = state.ranked();
  const double g_max = options().g_max();
  if (ranked) retrieval::check_grades(*ranked, kName, g_max);
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const double persistence = options().persistence();
  const retrieval::ValueRules rules = options().rules(kName);
  const bool skips = rules.action == EmptyTargetAction::kSkip;
  RankBiasedPrecision result;
  result.value = retrieval::evaluate_relevant(
      ranked.get(), rules, [&](const QueryView& query) {
        return parts_of(query, k, persistence, g_max).value;
      });
  result.residual = retrieval::evaluate_queries(
      ranked.get(), rules, retrieval::kRelevant, [&](const QueryView& query) {
        if (query.relevant == 0 && skips) return QueryValue::none();
        return QueryValue{parts_of(query, k, persistence, g_max).residual};
      });
  return result;
}

template class MetricOf<RetrievalMAP, JudgedDocuments, at::Tensor,
                        RetrievalMAPOptions>;
template class MetricOf<RetrievalMRR, JudgedDocuments, at::Tensor,
                        RetrievalMRROptions>;
template class MetricOf<RetrievalMeanRank, JudgedDocuments, at::Tensor,
                        RetrievalMeanRankOptions>;
template class MetricOf<RetrievalRBP, JudgedDocuments, RankBiasedPrecision,
                        RetrievalRBPOptions>;

}  // namespace tally
