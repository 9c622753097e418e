#pragma once

#include <cstdint>
#include <optional>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"

namespace tally {

/// In what order documents of equal score stand. The first three depend on
/// nothing but the scores and grades of a query's documents.
enum class TieOrder {
  kExpected,     ///< in all orders: the value is their mean
  kPessimistic,  ///< the least relevant first
  kOptimistic,   ///< the most relevant first
  kIds,          ///< the highest of doc_ids first, as in trec_eval
};
template <>
struct EnumNames<TieOrder> {
  static constexpr const char* kNames[] = {"expected", "pessimistic",
                                           "optimistic", "ids"};
};

/// What a query counts as that has none of the documents that the measure is
/// about: relevant ones for most.
enum class EmptyTargetAction {
  kNegative,  ///< 0
  kPositive,  ///< 1
  kSkip,      ///< nothing: it leaves the aggregate
  kError,     ///< c10::ValueError from compute()
};
template <>
struct EnumNames<EmptyTargetAction> {
  static constexpr const char* kNames[] = {"neg", "pos", "skip", "error"};
};

/// How the values of the queries become one.
enum class QueryAggregation {
  kMean,
  kMedian,  ///< of an even number the lower of the two in the middle
  kMin,
  kMax,
  kNone,  ///< a value for each query, by ascending index; NaN if skipped
};
template <>
struct EnumNames<QueryAggregation> {
  static constexpr const char* kNames[] = {"mean", "median", "min", "max",
                                           "none"};
};

namespace internal::retrieval {

/// What makes values of ranked documents, in all metrics.
struct ValueRules {
  const char* metric;
  TieOrder ties;
  EmptyTargetAction action;
  QueryAggregation aggregation;
};

/// c10::ValueError for what does not fit together; see RetrievalOptions.
void check_documents(const char* metric,
                     const std::optional<std::int64_t>& ignore_index,
                     const std::optional<std::int64_t>& unjudged,
                     bool condensed,
                     const std::optional<std::int64_t>& keep_top_k);
/// c10::ValueError unless a depth is at least 1, and within what is kept.
void check_depth(const char* metric, const char* option,
                 const std::optional<std::int64_t>& depth,
                 const std::optional<std::int64_t>& keep_top_k);
/// c10::ValueError if only some documents are kept.
void check_keeps_all(const char* metric,
                     const std::optional<std::int64_t>& keep_top_k);
/// c10::ValueError unless all documents are kept where ids order them.
void check_ties(const char* metric, TieOrder ties,
                const std::optional<std::int64_t>& keep_top_k);

}  // namespace internal::retrieval

/// What all retrieval metrics can be told; `Self` inherits it. Those with the
/// same ignore_index, unjudged, condensed and keep_top_k share one state in a
/// collection, whatever else they are told.
template <class Self>
struct RetrievalOptions {
  /// Documents with this target do not count at all.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;
  /// Documents with this target are not judged: they have a rank, but are
  /// neither relevant nor known not to be.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      unjudged) = std::nullopt;
  /// Remove documents that are not judged, as if they had not been ranked.
  TALLY_INHERITED_ARG(Self, bool, condensed) = false;
  /// Keep this many of each query's best documents, those tied with the last
  /// of them, and how many others there are of each grade: memory does not grow
  /// with the documents. For metrics with a top_k of at most this; the values
  /// are the same. Not with TieOrder::kIds. Default: none, all are kept.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      keep_top_k) = std::nullopt;
  TALLY_INHERITED_ARG(Self, TieOrder, ties) = TieOrder::kExpected;
  TALLY_INHERITED_ARG(Self, EmptyTargetAction,
                      empty_target_action) = EmptyTargetAction::kNegative;
  TALLY_INHERITED_ARG(Self, QueryAggregation,
                      aggregation) = QueryAggregation::kMean;

 public:
  internal::retrieval::ValueRules rules(const char* metric) const {
    return {metric, ties_, empty_target_action_, aggregation_};
  }
  /// One value per query, unless they are aggregated.
  Dimensions dimensions() const { return {Dimension::kSample}; }

 protected:
  RetrievalOptions() = default;
  explicit RetrievalOptions(EmptyTargetAction action)
      : empty_target_action_(action) {}

  void visit_common(OptionVisitor& v) {
    v("ties", ties_, OptionRole::kValue,
      "Order of documents with equal scores.");
    v("empty_target_action", empty_target_action_, OptionRole::kValue,
      "Value of a query without the relevant (or other) documents it needs.");
    v("aggregation", aggregation_, OptionRole::kValue,
      "How the values of the queries are aggregated.");
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
    v("unjudged", unjudged_, "Documents with this target are not judged.");
    v("condensed", condensed_,
      "Drop documents that are not judged, as if not ranked.");
    v("keep_top_k", keep_top_k_,
      "Number of documents kept per query, besides counts; none: all.");
  }
  void check_common(const char* metric) const {
    internal::retrieval::check_documents(metric, ignore_index_, unjudged_,
                                         condensed_, keep_top_k_);
    internal::retrieval::check_ties(metric, ties_, keep_top_k_);
  }
};

/// The same for metrics that need whole rankings; without keep_top_k.
template <class Self>
struct WholeRankingOptions : RetrievalOptions<Self> {
  WholeRankingOptions() {}

  void visit(OptionVisitor& v) { this->visit_common(v); }
  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const {
    this->check_common(metric);
    internal::retrieval::check_keeps_all(metric, this->keep_top_k_);
  }
};

/// Those of all, and how far down the ranking to look.
template <class Self>
struct TopKOptions : RetrievalOptions<Self> {
  TopKOptions() = default;

  /// Only a query's best top_k documents count. Default: none, all of them.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>, top_k) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("top_k", top_k_, OptionRole::kValue,
      "Number of best documents per query that count; none: all.");
    this->visit_common(v);
  }
  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const {
    this->check_common(metric);
    internal::retrieval::check_depth(metric, "top_k", top_k_,
                                     this->keep_top_k_);
  }

 protected:
  explicit TopKOptions(EmptyTargetAction action)
      : RetrievalOptions<Self>(action) {}
};

}  // namespace tally
