#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalMeanRank. Here empty_target_action is kSkip by default,
/// or kError: no number is the rank of nothing.
struct RetrievalMeanRankOptions
    : WholeRankingOptions<RetrievalMeanRankOptions> {
  RetrievalMeanRankOptions() { empty_target_action(EmptyTargetAction::kSkip); }

  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const;
};

/// The mean over queries of the rank of the first relevant document, from 1.
///
///     1 + number of documents above it
///
/// In a group of n documents of equal score, r of them relevant and a others
/// above, the first relevant one has, in the mean over all orders, the rank
/// a + (n + 1) / (r + 1).
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [1, inf), NaN without
/// queries. A query of which no relevant document is retrieved has no rank: it
/// is skipped, or an error.
/// Inputs, ties, state, NaN and errors: as in RetrievalMAP. keep_top_k is an
/// error. Not differentiable. Of one relevant document each, it is the mean
/// rank of link prediction; see MeanRank for ranks that are known.
///
/// Example:
///     RetrievalMeanRank mean_rank;
///     mean_rank.update(preds, target, indexes);
///     double value = mean_rank.compute().item<double>();
class RetrievalMeanRank final
    : public MetricOf<RetrievalMeanRank, JudgedDocuments, at::Tensor,
                      RetrievalMeanRankOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalMeanRank";
  static constexpr MetricSummary kSummary{
      "Mean rank of the first relevant document.", "[1, inf)", "",
      "mean rank of documents", R"(\frac{1}{|Q|} \sum_q rank_q)"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalMeanRank, JudgedDocuments, at::Tensor,
                               RetrievalMeanRankOptions>;

}  // namespace tally
