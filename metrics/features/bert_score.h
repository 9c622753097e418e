#pragma once

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of BERTScore.
struct BERTScoreOptions {
  /// The precision of unrelated texts, below 1: a precision x becomes (x -
  /// baseline) / (1 - baseline).
  TORCH_ARG(double, precision_baseline) = 0;
  /// The same for recall.
  TORCH_ARG(double, recall_baseline) = 0;
  /// The same for F1.
  TORCH_ARG(double, f1_baseline) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("precision_baseline", precision_baseline_, OptionRole::kValue,
      "Precision of unrelated texts, which is rescaled to 0.");
    v("recall_baseline", recall_baseline_, OptionRole::kValue,
      "Recall of unrelated texts, which is rescaled to 0.");
    v("f1_baseline", f1_baseline_, OptionRole::kValue,
      "F1 of unrelated texts, which is rescaled to 0.");
  }
  void validate(const char* metric) const;
};

/// The observer of BERTScore.
class TokenMatches {
 public:
  static constexpr const char* kName = "TokenMatches";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kReal, "real [N, L, D]"},
      {"target", InputKind::kReal, "real [N, M, D]"},
      {"preds_mask", InputKind::kInteger, "1 for tokens, [N, L]", true},
      {"target_mask", InputKind::kInteger, "1 for tokens, [N, M]", true},
      {"preds_weight", InputKind::kReal, "real [N, L]", true},
      {"target_weight", InputKind::kReal, "real [N, M]", true}};
  struct State {
    Number precision, recall, f1;  // sums
    std::int64_t total = 0;
    void fields(Fields& f) {
      f("precision", precision)("recall", recall)("f1", f1)("total", total);
    }
  };

  TokenMatches(const BERTScoreOptions&, const MetricOptions& metric_options)
      : options_(metric_options) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& preds_mask = {},
                const at::Tensor& target_mask = {},
                const at::Tensor& preds_weight = {},
                const at::Tensor& target_weight = {}) const;

 private:
  MetricOptions options_;
};

/// 0-dim float64.
struct PrecisionRecallF1 {
  at::Tensor precision, recall, f1;
  void visit(ResultParts& parts) {
    parts("precision", precision)("recall", recall)("f1", f1);
  }
};

/// BERTScore of texts, from the contextual embeddings of their tokens: each
/// token is matched with the most similar token of the other text.
///
///     precision = sum_i w_i max_j cos(p_i, t_j) / sum_i w_i
///     recall    = sum_j w_j max_i cos(p_i, t_j) / sum_j w_j
///     f1        = 2 precision recall / (precision + recall)
///
/// for tokens i of preds and j of target; the mean over N pairs of texts.
/// update(preds, target, preds_mask = {}, target_mask = {}, preds_weight = {},
/// target_weight = {}): embeddings [N, L, D] and [N, M, D] of any real dtypes;
/// masks that are 1 for tokens that take part and 0 for padding and special
/// tokens, by default all 1; weights of at least 0, such as inverse document
/// frequencies, by default equal ones. Masked tokens are never matched,
/// whatever they contain; those of weight 0 are.
/// Result: {precision, recall, f1}, 0-dim float64, at most 1; all three are 0
/// for a pair in which a text has no tokens or no weight. NaN without pairs.
/// State: sums in float64 and the number of pairs, merged by addition.
/// NaN: propagates; NanPolicy::kIgnore skips the pair.
/// Errors: c10::ValueError for other shapes, for masks other than 0 and 1, for
/// weights that are negative or not finite, for NaN with NanPolicy::kError, and
/// for baselines of 1 or more; c10::TypeError for masks that are not integers
/// and for complex or sparse inputs.
/// Not differentiable.
/// Source: Zhang et al. 2020; values equal those of bert-score 0.3.13 for one
/// pair at a time. In larger batches it also matches padding.
///
/// Example:
///     BERTScore score;
///     score.update(at::randn({10, 7, 16}), at::randn({10, 5, 16}));
///     double f1 = score.compute().f1.item<double>();
class BERTScore final : public MetricOf<BERTScore, TokenMatches,
                                        PrecisionRecallF1, BERTScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BERTScore";
  static constexpr MetricSummary kSummary{
      "Precision, recall and F1 of tokens matched by their embeddings.",
      "[-1, 1]",
      "",
      "bert score, bertscore",
      R"(R = \frac{1}{|y|} \sum_{y_i} \max_{\hat y_j} y_i^T \hat y_j)",
      "Zhang et al. 2020"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  PrecisionRecallF1 evaluate(const State& state) const;
};

extern template class MetricOf<BERTScore, TokenMatches, PrecisionRecallF1,
                               BERTScoreOptions>;

}  // namespace tally
