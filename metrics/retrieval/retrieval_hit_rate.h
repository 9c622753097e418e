#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalHitRate.
struct RetrievalHitRateOptions : TopKOptions<RetrievalHitRateOptions> {};

/// The fraction of queries with a relevant document among the best k.
///
///     1 if there is one, else 0
///
/// With TieOrder::kExpected a query that ties at its k-th document has the
/// chance that there is one.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// Not differentiable. Source: trec_eval's success.
///
/// Example:
///     RetrievalHitRate hits(RetrievalHitRateOptions().top_k(5));
///     hits.update(preds, target, indexes);
///     double value = hits.compute().item<double>();
class RetrievalHitRate final
    : public MetricOf<RetrievalHitRate, JudgedDocuments, at::Tensor,
                      RetrievalHitRateOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalHitRate";
  static constexpr MetricSummary kSummary{
      "Fraction of queries with a relevant document among the best k.",
      "[0, 1]", "", "hit rate, hit@k, hits@k, success@k",
      R"([rel \cap top_k \ne \emptyset])"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalHitRate, JudgedDocuments, at::Tensor,
                               RetrievalHitRateOptions>;

}  // namespace tally
