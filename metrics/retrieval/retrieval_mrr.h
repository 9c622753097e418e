#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalMRR.
struct RetrievalMRROptions : TopKOptions<RetrievalMRROptions> {};

/// The mean over queries of the reciprocal rank of the first relevant document.
///
///     1 / rank, or 0 if none is within the best k
///
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// Not differentiable. Source: trec_eval's recip_rank.
///
/// Example:
///     RetrievalMRR mrr;
///     mrr.update(preds, target, indexes);
///     double value = mrr.compute().item<double>();
class RetrievalMRR final : public MetricOf<RetrievalMRR, JudgedDocuments,
                                           at::Tensor, RetrievalMRROptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalMRR";
  static constexpr MetricSummary kSummary{
      "Mean reciprocal rank of the first relevant document (MRR).",
      "[0, 1]",
      "",
      "mrr, mean reciprocal rank",
      R"(\frac{1}{|Q|} \sum_q \frac{1}{rank_q})",
      "Voorhees 1999"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalMRR, JudgedDocuments, at::Tensor,
                               RetrievalMRROptions>;

}  // namespace tally
