#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalRPrecision.
struct RetrievalRPrecisionOptions
    : WholeRankingOptions<RetrievalRPrecisionOptions> {};

/// The mean over queries of the precision at R, the number of relevant
/// documents: there precision and recall are the same.
///
///     relevant documents within the best R / R
///
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// keep_top_k is an error. Not differentiable. Source: trec_eval's Rprec.
///
/// Example:
///     RetrievalRPrecision precision;
///     precision.update(preds, target, indexes);
///     double value = precision.compute().item<double>();
class RetrievalRPrecision final
    : public MetricOf<RetrievalRPrecision, JudgedDocuments, at::Tensor,
                      RetrievalRPrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalRPrecision";
  static constexpr MetricSummary kSummary{
      "Precision at R, the number of relevant documents.", "[0, 1]", "",
      "r-precision, rprec", R"(\frac{|rel \cap top_R|}{R})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalRPrecision, JudgedDocuments, at::Tensor,
                               RetrievalRPrecisionOptions>;

}  // namespace tally
