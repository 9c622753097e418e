#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalPrecision.
///
/// Example: `RetrievalPrecision p(RetrievalPrecisionOptions().top_k(10));`
struct RetrievalPrecisionOptions : TopKOptions<RetrievalPrecisionOptions> {
  /// Divide by the documents retrieved where those are fewer than top_k.
  TALLY_INHERITED_ARG(RetrievalPrecisionOptions, bool, adaptive_k) = false;

 public:
  void visit(OptionVisitor& v) {
    v("adaptive_k", adaptive_k_, OptionRole::kValue,
      internal::words::kAdaptiveK);
    TopKOptions::visit(v);
  }
};

/// The mean over queries of the fraction of the best k documents that are
/// relevant.
///
///     relevant documents within the best k / k
///
/// Without top_k, k is the number of documents that the query has retrieved;
/// with adaptive_k it is that where it is less than top_k. 0 if there are none.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// Not differentiable. Source: trec_eval's P.
///
/// Example:
///     RetrievalPrecision precision(RetrievalPrecisionOptions().top_k(5));
///     precision.update(preds, target, indexes);
///     double value = precision.compute().item<double>();
class RetrievalPrecision final
    : public MetricOf<RetrievalPrecision, JudgedDocuments, at::Tensor,
                      RetrievalPrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalPrecision";
  static constexpr MetricSummary kSummary{
      "Fraction of the best k documents that are relevant.", "[0, 1]", "",
      "precision@k, p@k, precision at k", R"(\frac{|rel \cap top_k|}{k})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalPrecision, JudgedDocuments, at::Tensor,
                               RetrievalPrecisionOptions>;

}  // namespace tally
