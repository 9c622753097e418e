#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// What a document of grade g is worth.
enum class Gain {
  kLinear,       ///< g, as in trec_eval and scikit-learn
  kExponential,  ///< 2^g - 1
};
template <>
struct EnumNames<Gain> {
  static constexpr const char* kNames[] = {"linear", "exponential"};
};

/// Options of RetrievalNormalizedDCG.
struct RetrievalNormalizedDCGOptions
    : TopKOptions<RetrievalNormalizedDCGOptions> {
  TALLY_INHERITED_ARG(RetrievalNormalizedDCGOptions, Gain,
                      gain) = Gain::kLinear;

 public:
  void visit(OptionVisitor& v) {
    v("gain", gain_, OptionRole::kValue,
      "Gain of a document of grade g: g, or 2^g - 1.");
    TopKOptions::visit(v);
  }
};

/// The mean over queries of the normalized discounted cumulative gain.
///
///     DCG = sum over the best k of gain(grade) / log2(1 + rank)
///     NDCG = DCG / the DCG of all judged documents by descending grade
///
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// 0-dim, or one value for each query; float64 in [0, 1], NaN without queries.
/// Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP. With
/// kExponential grades above 1023 are an error of compute().
/// Not differentiable. Source: Jarvelin & Kekalainen 2002; trec_eval's ndcg.
///
/// Example:
///     RetrievalNormalizedDCG ndcg(RetrievalNormalizedDCGOptions().top_k(10));
///     ndcg.update(preds, target, indexes);
///     double value = ndcg.compute().item<double>();
class RetrievalNormalizedDCG final
    : public MetricOf<RetrievalNormalizedDCG, JudgedDocuments, at::Tensor,
                      RetrievalNormalizedDCGOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalNormalizedDCG";
  static constexpr MetricSummary kSummary{
      "Discounted cumulative gain relative to the ideal order (NDCG).",
      "[0, 1]",
      "",
      "ndcg, normalized discounted cumulative gain, ndcg@k, dcg",
      R"(\frac{\sum_k g_k / \log_2 (k + 1)}{\sum_k g^*_k / \log_2 (k + 1)})",
      "Jarvelin and Kekalainen 2002"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalNormalizedDCG, JudgedDocuments,
                               at::Tensor, RetrievalNormalizedDCGOptions>;

}  // namespace tally
