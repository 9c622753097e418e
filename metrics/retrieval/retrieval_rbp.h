#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalRBP.
struct RetrievalRBPOptions : TopKOptions<RetrievalRBPOptions> {
  /// The chance p that a user goes on to the next document, in (0, 1).
  TALLY_INHERITED_ARG(RetrievalRBPOptions, double, persistence) = 0.8;
  /// The highest grade there is, above 0.
  TALLY_INHERITED_ARG(RetrievalRBPOptions, double, g_max) = 1;

 public:
  void visit(OptionVisitor& v) {
    v("persistence", persistence_, OptionRole::kValue,
      "Probability of going on to the next document, in (0, 1).");
    v("g_max", g_max_, OptionRole::kValue, internal::words::kGMax);
    TopKOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The result of RetrievalRBP. In a collection the metric "rbp" has the values
/// "rbp" and "rbp.residual".
struct RankBiasedPrecision {
  at::Tensor value;
  /// How much more it could be: what documents that are not judged, and those
  /// behind the last one, leave open.
  at::Tensor residual;

  void visit(ResultParts& parts) { parts("", value)("residual", residual); }
};

/// The mean over queries of rank-biased precision: how relevant the documents
/// are that a user sees who goes on to the next one with probability p.
///
///     (1 - p) sum over ranks i up to k of grade_i / g_max p^(i - 1)
///     residual: p^n + (1 - p) sum over ranks i not judged of p^(i - 1)
///
/// with n the documents looked at, retrieved and among the best k.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// RankBiasedPrecision, each 0-dim, or one value for each query; float64 in [0,
/// 1], NaN without queries. empty_target_action says what the value is of a
/// query without relevant documents, not what the residual is. Inputs, ties,
/// queries, state, NaN and errors: as in RetrievalMAP. Grades above g_max are
/// an error of compute(). Not differentiable. Source: Moffat & Zobel 2008.
///
/// Example:
///     RetrievalRBP rbp(RetrievalRBPOptions().persistence(0.9).unjudged(-1));
///     rbp.update(preds, target, indexes);
///     auto [value, residual] = rbp.compute();
class RetrievalRBP final
    : public MetricOf<RetrievalRBP, JudgedDocuments, RankBiasedPrecision,
                      RetrievalRBPOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalRBP";
  static constexpr MetricSummary kSummary{
      "Rank-biased precision (RBP).",
      "[0, 1]",
      "",
      "rbp, rank-biased precision",
      R"((1 - p) \sum_k \frac{g_k}{g_{max}}\, p^{k - 1})",
      "Moffat and Zobel 2008"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  RankBiasedPrecision evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalRBP, JudgedDocuments,
                               RankBiasedPrecision, RetrievalRBPOptions>;

}  // namespace tally
