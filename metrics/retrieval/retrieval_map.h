#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// What the precisions of a query's relevant documents are divided by.
enum class APDenominator {
  kRelevant,    ///< the relevant documents, R, as in trec_eval
  kAttainable,  ///< as many of them as fit into the best k: min(k, R)
};
template <>
struct EnumNames<APDenominator> {
  static constexpr const char* kNames[] = {"relevant", "attainable"};
};

/// Options of RetrievalMAP.
///
/// Example: `RetrievalMAP map(RetrievalMAPOptions().top_k(10));`
struct RetrievalMAPOptions : TopKOptions<RetrievalMAPOptions> {
  TALLY_INHERITED_ARG(RetrievalMAPOptions, APDenominator,
                      denominator) = APDenominator::kRelevant;

 public:
  void visit(OptionVisitor& v) {
    v("denominator", denominator_, OptionRole::kValue,
      "Relevant documents, or as many as fit into top_k.");
    TopKOptions::visit(v);
  }
};

/// The mean over queries of average precision.
///
///     sum over relevant documents within the best k of precision at their rank
///         / R
///
/// with R the relevant documents of the query, retrieved or not.
///
/// What follows holds for all retrieval metrics.
///
/// update(preds, target, indexes, doc_ids = {}):
/// scores of a floating-point dtype, grades of 0 (not relevant) or more of any
/// real dtype, int queries (any int64), and int documents, all of one shape;
/// dimensions have no meaning. Queries and documents may be texts (see Keys);
/// ties=ids then orders documents by their keys.
/// A document is relevant if its grade is above 0;
/// a score of -infinity says that it is judged but was not retrieved: it has no
/// rank, and counts among the relevant (or not relevant) and in the ideal gain.
/// A query's documents may come in any batches and on any ranks; it counts
/// once. Its number is therefore its own over all batches and ranks: the first
/// queries of two batches, both numbered 0, are one query. A document that
/// comes twice counts twice; with doc_ids, which are given in every update or
/// in none, that is an error of compute(). Result: 0-dim, or one value for each
/// query (QueryAggregation::kNone); float64 in [0, 1]. NaN without queries.
/// Scores that are equal (-0 and 0 are) leave the order open: see TieOrder.
/// kExpected is the exact mean over all orders, so that any split of the data
/// gives the same value, to the bit.
/// Queries that lack relevant documents: see EmptyTargetAction; decided when
/// all ranks' documents are together.
/// State: all documents, concatenated, of one dtype of scores over all updates
/// (half and bfloat16 are kept as float32), or the best of each query
/// (keep_top_k). compute() groups them by query on the CPU, once for all
/// metrics of a collection.
/// NaN in preds or target: c10::ValueError; NanPolicy::kIgnore skips the
/// document.
/// Errors: c10::TypeError for indexes or doc_ids that are no integers and preds
/// that are no floating-point numbers; c10::ValueError for shapes that differ
/// and grades below 0, infinite or, as integers, beyond 2^24 - 1.
/// Not differentiable. Source: trec_eval; ties: McSherry & Najork 2008.
///
/// Example:
///     RetrievalMAP map;
///     map.update(preds, target, indexes);
///     double value = map.compute().item<double>();
class RetrievalMAP final : public MetricOf<RetrievalMAP, JudgedDocuments,
                                           at::Tensor, RetrievalMAPOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalMAP";
  static constexpr MetricSummary kSummary{
      "Mean average precision over queries (MAP).", "[0, 1]", "",
      "map, mean average precision of queries",
      R"(\frac{1}{|Q|} \sum_q \frac{1}{|rel_q|} \sum_{k \in rel_q} P@k)"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalMAP, JudgedDocuments, at::Tensor,
                               RetrievalMAPOptions>;

}  // namespace tally
