#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalRecall.
struct RetrievalRecallOptions : TopKOptions<RetrievalRecallOptions> {};

/// The mean over queries of the fraction of relevant documents that are found.
///
///     relevant documents within the best k / relevant documents
///
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// Not differentiable. Source: trec_eval's recall.
///
/// Example:
///     RetrievalRecall recall(RetrievalRecallOptions().top_k(5));
///     recall.update(preds, target, indexes);
///     double value = recall.compute().item<double>();
class RetrievalRecall final
    : public MetricOf<RetrievalRecall, JudgedDocuments, at::Tensor,
                      RetrievalRecallOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalRecall";
  static constexpr MetricSummary kSummary{
      "Fraction of the relevant documents that are among the best k.", "[0, 1]",
      "", "recall@k, r@k, recall at k", R"(\frac{|rel \cap top_k|}{|rel|})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalRecall, JudgedDocuments, at::Tensor,
                               RetrievalRecallOptions>;

}  // namespace tally
