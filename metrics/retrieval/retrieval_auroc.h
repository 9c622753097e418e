#pragma once

#include <optional>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"
#include "tally/metrics/retrieval/states/judged_documents.h"

namespace tally {

/// Options of RetrievalAUROC.
struct RetrievalAUROCOptions : TopKOptions<RetrievalAUROCOptions> {
  /// Only the area up to this false positive rate, in (0, 1], standardized by
  /// McClish's correction. Default: none, the whole area.
  TALLY_INHERITED_ARG(RetrievalAUROCOptions, std::optional<double>,
                      max_fpr) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("max_fpr", max_fpr_, OptionRole::kValue, internal::words::kMaxFpr);
    TopKOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The mean over queries of the area under the ROC curve of the best k
/// documents: how likely a relevant one of them stands above one that is not.
///
///     pairs in order / (relevant * not relevant), within the best k
///
/// Ties count half, unless TieOrder orders them. A query counts as
/// empty_target_action says if there are not both kinds within its best k; with
/// kExpected, and kNegative or kPositive, in those orders of ties in which that
/// is so.
/// update(preds, target, indexes, doc_ids = {}):
/// see RetrievalMAP; queries are numbered over all batches and ranks. Documents
/// that are not retrieved, and those that are not judged, have no part in it.
/// Result: 0-dim, or one value for each query; float64 in [0, 1], NaN without
/// queries. Inputs, ties, queries, state, NaN and errors: as in RetrievalMAP.
/// Not differentiable. Source: BinaryAUROC, for each query.
///
/// Example:
///     RetrievalAUROC auroc(RetrievalAUROCOptions().top_k(20));
///     auroc.update(preds, target, indexes);
///     double value = auroc.compute().item<double>();
class RetrievalAUROC final
    : public MetricOf<RetrievalAUROC, JudgedDocuments, at::Tensor,
                      RetrievalAUROCOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "RetrievalAUROC";
  static constexpr MetricSummary kSummary{
      "The area under each query's ROC curve.", "[0, 1]", "",
      "retrieval auc, auc by query, gauc", R"(\frac{1}{|Q|} \sum_q AUROC_q)"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<RetrievalAUROC, JudgedDocuments, at::Tensor,
                               RetrievalAUROCOptions>;

}  // namespace tally
