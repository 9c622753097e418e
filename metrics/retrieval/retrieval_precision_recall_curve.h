#pragma once

#include <optional>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// What RetrievalPrecisionRecallCurve and what is read from it can be told.
template <class Self>
struct DepthOptions : RetrievalOptions<Self> {
  /// How far down the ranking to look, at most 2^20. Default: none, as far as
  /// the query with most documents goes.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>, max_k) = std::nullopt;
  /// Divide by the documents retrieved where those are fewer than k.
  TALLY_INHERITED_ARG(Self, bool, adaptive_k) = false;

 public:
  void visit(OptionVisitor& v) {
    v("max_k", max_k_, OptionRole::kValue, "Depth of the curve, at most 2^20.");
    v("adaptive_k", adaptive_k_, OptionRole::kValue,
      internal::words::kAdaptiveK);
    this->visit_common(v);
  }
  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const;
};

/// Options of RetrievalPrecisionRecallCurve.
struct RetrievalPrecisionRecallCurveOptions
    : DepthOptions<RetrievalPrecisionRecallCurveOptions> {};

/// The result of RetrievalPrecisionRecallCurve. In a collection the metric
/// "curve" has the values "curve.precision" and so on.
struct RetrievalPrecisionRecall {
  at::Tensor precision;  ///< [max_k], or [queries, max_k]
  at::Tensor recall;     ///< the same
  at::Tensor top_k;      ///< int64 [max_k]: 1, 2, ...

  void visit(ResultParts& parts) {
    const Dimensions curve{Dimension::kSample, Dimension::kPoint};
    parts("precision", precision, curve)("recall", recall, curve);
    parts("top_k", top_k, curve);
  }
};

/// Precision and recall of the best k documents for each k, each the mean over
/// queries (see RetrievalPrecision and RetrievalRecall).
///
/// Behind a query's last document its recall stays what it is, and its
/// precision falls, unless adaptive_k keeps it.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// RetrievalPrecisionRecall; float64 in [0, 1], NaN without queries. Depths are
/// aggregated one by one. Inputs, ties, queries, state, NaN and errors: as in
/// RetrievalMAP; also without max_k queries of more than 2^20 documents are an
/// error of compute(). Not differentiable.
///
/// Example:
///     RetrievalPrecisionRecallCurve curve(
///         RetrievalPrecisionRecallCurveOptions().max_k(10));
///     curve.update(preds, target, indexes);
///     auto [precision, recall, top_k] = curve.compute();
class RetrievalPrecisionRecallCurve final
    : public MetricOf<RetrievalPrecisionRecallCurve, JudgedDocuments,
                      RetrievalPrecisionRecall,
                      RetrievalPrecisionRecallCurveOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalPrecisionRecallCurve";
  static constexpr MetricSummary kSummary{
      "Precision and recall of the best k documents for each k.", "[0, 1]", "",
      "retrieval pr curve", R"((P@k,\ R@k))"};

  RetrievalPrecisionRecall evaluate(const State& state) const;
};

/// Options of RetrievalRecallAtFixedPrecision.
struct RetrievalRecallAtFixedPrecisionOptions
    : DepthOptions<RetrievalRecallAtFixedPrecisionOptions> {
  /// What the precision must be at least, in [0, 1].
  TALLY_INHERITED_ARG(RetrievalRecallAtFixedPrecisionOptions, double,
                      min_precision) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("min_precision", min_precision_, OptionRole::kValue,
      "Minimum precision, in [0, 1].");
    DepthOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The result of RetrievalRecallAtFixedPrecision. In a collection the metric
/// "recall" has the values "recall" and "recall.top_k".
struct RetrievalRecallAtDepth {
  at::Tensor recall;
  at::Tensor top_k;  ///< int64: the k that has it

  void visit(ResultParts& parts) { parts("", recall)("top_k", top_k); }
};

/// The highest recall of RetrievalPrecisionRecallCurve where precision is at
/// least min_precision, and the greatest k that has it.
///
/// Where that is 0, or nowhere: recall 0, and top_k is max_k.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Result:
/// RetrievalRecallAtDepth, each 0-dim, or one value for each query's own curve;
/// recall float64 in [0, 1], NaN without queries (top_k is 0 then). Inputs,
/// ties, queries, state, NaN and errors: as in RetrievalPrecisionRecallCurve.
/// Not differentiable.
///
/// Example:
///     RetrievalRecallAtFixedPrecision recall(
///         RetrievalRecallAtFixedPrecisionOptions().min_precision(0.5));
///     recall.update(preds, target, indexes);
///     auto [value, top_k] = recall.compute();
class RetrievalRecallAtFixedPrecision final
    : public MetricOf<RetrievalRecallAtFixedPrecision, JudgedDocuments,
                      RetrievalRecallAtDepth,
                      RetrievalRecallAtFixedPrecisionOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalRecallAtFixedPrecision";
  static constexpr MetricSummary kSummary{
      "The highest recall at some k where precision is high enough.", "[0, 1]",
      "", "retrieval recall at precision", R"(\max_k R@k : P@k \ge P_{min})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  RetrievalRecallAtDepth evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalPrecisionRecallCurve, JudgedDocuments,
                               RetrievalPrecisionRecall,
                               RetrievalPrecisionRecallCurveOptions>;
extern template class MetricOf<RetrievalRecallAtFixedPrecision, JudgedDocuments,
                               RetrievalRecallAtDepth,
                               RetrievalRecallAtFixedPrecisionOptions>;

}  // namespace tally
