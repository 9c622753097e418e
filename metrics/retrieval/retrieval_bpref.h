#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalBpref.
struct RetrievalBprefOptions : WholeRankingOptions<RetrievalBprefOptions> {};

/// The mean over queries of bpref, binary preference: how few documents that
/// are judged not to be relevant stand above those that are. It looks at judged
/// documents alone, so that it suits incomplete judgments (see `unjudged`).
///
///     1 / R sum over relevant documents retrieved of
///         1 - min(n, R) / min(N, R)
///
/// with n the documents of grade 0 above it, N all of them; 1 where n is 0.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// keep_top_k is an error. Not differentiable.
/// Source: trec_eval's bpref; Buckley & Voorhees 2004.
///
/// Example:
///     RetrievalBpref bpref(RetrievalBprefOptions().unjudged(-1));
///     bpref.update(preds, target, indexes);
///     double value = bpref.compute().item<double>();
class RetrievalBpref final
    : public MetricOf<RetrievalBpref, JudgedDocuments, at::Tensor,
                      RetrievalBprefOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalBpref";
  static constexpr MetricSummary kSummary{
      "Binary preference, for incomplete judgments (bpref).",
      "[0, 1]",
      "",
      "bpref",
      R"(\frac{1}{R} \sum_r \left( 1 - \frac{\min(|n \text{ above } r|, R)}{\min(R, N)} \right))",
      "Buckley and Voorhees 2004"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalBpref, JudgedDocuments, at::Tensor,
                               RetrievalBprefOptions>;

}  // namespace tally
