#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "tally/metrics/common/interval_words.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/retrieval/kernels/ranked_queries.h"
#include "tally/metrics/sampling.h"
#include "tally/state/fields.h"

namespace tally {

/// Documents as retrieval metrics accumulate them: in any order, those of a
/// query in any batch and on any rank.
struct DocumentState {
  Rows indexes;  ///< int64 [N]
  Rows preds;    ///< float32 or float64 [N]; -infinity: not retrieved
  /// [N]: float64 if the targets are, else float32; -1: not judged.
  Rows target;
  Rows doc_ids;  ///< int64 [N], if there are any
  /// int64 [N] with keep_top_k: how many documents are alike.
  Rows counts;
  std::int64_t keep_top_k = 0;  ///< 0: all are kept

  void fields(Fields& f) {
    f("indexes", indexes)("preds", preds)("target", target);
    f("doc_ids", doc_ids)("counts", counts);
    f("keep_top_k", keep_top_k, Merge::kMax);
  }
  void compact();

  /// Grouped by query and in order: once for all metrics that evaluate this
  /// state. Null without documents.
  std::shared_ptr<const internal::retrieval::RankedQueries> ranked() const;

 private:
  internal::retrieval::DocumentRows rows() const;

  internal::retrieval::RankedOnce ranked_;
  std::int64_t least_rows_ = 0;  // what the last compact() left
};

/// Keeps documents: the observer of all retrieval metrics, which share it in
/// a collection.
class JudgedDocuments {
 public:
  static constexpr const char* kName = "JudgedDocuments";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kFloat, "float scores [N, ...]"},
      {"target", InputKind::kReal, "int or float grades, 0 or more [N, ...]"},
      {"indexes", InputKind::kKeys,
       "int queries, numbered over all batches and ranks [N, ...], or texts"},
      {"doc_ids", InputKind::kKeys, "int documents [N, ...], or texts",
       /*is_optional=*/true}};
  static constexpr const char* kUnit = "query";
  static constexpr std::size_t kUnitInput = 2;  // indexes
  using State = DocumentState;

  template <class Options>
  JudgedDocuments(const Options& options, const MetricOptions& metric_options)
      : ignore_index_(options.ignore_index()),
        unjudged_(options.unjudged()),
        condensed_(options.condensed()),
        keep_top_k_(options.keep_top_k()),
        needs_ids_(options.ties() == TieOrder::kIds),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

  template <class M>
  static MetricSampling sampling(const M& metric) {
    MetricSampling sampling;
    switch (metric.options().aggregation()) {
      case QueryAggregation::kMedian:
      case QueryAggregation::kMin:
      case QueryAggregation::kMax:
        sampling.refusal = internal::kNoIntervalOfQueries;
        break;
      default:
        break;
    }
    return sampling;
  }

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const Keys& indexes, const Keys& doc_ids = {}) const;

 private:
  void check(const at::Tensor& preds, const at::Tensor& target,
             const at::Tensor& indexes, const at::Tensor& doc_ids) const;
  at::Tensor left_out(const at::Tensor& preds, const at::Tensor& target) const;
  at::Tensor grades_of(const at::Tensor& target) const;
  void check_values(const at::Tensor& preds, const at::Tensor& target,
                    const at::Tensor& grades) const;

  std::optional<std::int64_t> ignore_index_;
  std::optional<std::int64_t> unjudged_;
  bool condensed_;
  std::optional<std::int64_t> keep_top_k_;
  bool needs_ids_;
  NanPolicy nan_policy_;
  bool validate_;
};

}  // namespace tally
