#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalFallOut; empty_target_action is kPositive by default.
struct RetrievalFallOutOptions : TopKOptions<RetrievalFallOutOptions> {
  RetrievalFallOutOptions() : TopKOptions(EmptyTargetAction::kPositive) {}
};

/// The mean over queries of the fraction of documents that are not relevant
/// among the best k.
///
///     documents of grade 0 within the best k / documents of grade 0
///
/// A query without documents of grade 0 counts as empty_target_action says.
/// TieOrder::kPessimistic puts them first, which makes the value higher.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// Not differentiable.
///
/// Example:
///     RetrievalFallOut fall_out(RetrievalFallOutOptions().top_k(5));
///     fall_out.update(preds, target, indexes);
///     double value = fall_out.compute().item<double>();
class RetrievalFallOut final
    : public MetricOf<RetrievalFallOut, JudgedDocuments, at::Tensor,
                      RetrievalFallOutOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalFallOut";
  static constexpr MetricSummary kSummary{
      "Fraction of the irrelevant documents that are among the best k.",
      "[0, 1]", "", "fallout, fall-out",
      R"(\frac{|\overline{rel} \cap top_k|}{|\overline{rel}|})"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalFallOut, JudgedDocuments, at::Tensor,
                               RetrievalFallOutOptions>;

}  // namespace tally
