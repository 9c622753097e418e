#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of MultilabelCoverageError, MultilabelRankingAveragePrecision and
/// MultilabelRankingLoss. With equal options they share one state in a
/// collection.
struct MultilabelRankingOptions {
  /// The number of labels, at least 1.
  template <class Count, RequireCount<Count> = 0>
  MultilabelRankingOptions(Count num_labels)
      : num_labels_(static_cast<std::int64_t>(num_labels)) {}
  explicit MultilabelRankingOptions(internal::Unset) : num_labels_(0) {}

  /// The size of dimension 1 of preds and target.
  TORCH_ARG(std::int64_t, num_labels);
  /// Labels with this target are removed from their sample.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_labels", num_labels_, OptionRole::kSize,
      internal::words::kNumLabels);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  /// Throws c10::ValueError for invalid values.
  void validate(const char* metric) const;
};

/// Sums ranking scores over samples.
///
/// update(preds, target, weight): scores [N, L, ...] of a floating-point dtype
/// and targets 0 or 1 of the same shape, of any real dtype; each position after
/// the labels is a separate sample. weight, if given, has the sizes [N, ...]
/// and is neither negative nor NaN.
class MultilabelRanking {
 public:
  static constexpr const char* kName = "MultilabelRanking";
  static constexpr const auto& kInputs =
      internal::classification::kMultilabelScoreInputs;
  using Options = MultilabelRankingOptions;

  struct State {
    Number coverage;
    Number precision;
    Number loss;
    Number weight;
    void fields(Fields& f) {
      f("coverage", coverage)("precision", precision);
      f("loss", loss)("weight", weight);
    }
  };

  MultilabelRanking(const Options& options,
                    const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  struct Place {
    std::int64_t ties = 0;
    std::int64_t wrong = 0;
  };
  template <class Score>
  class Scores;
  template <class Score>
  struct Buffers;
  template <class Score, class Label>
  State add_rows(const Score* scores, const Label* labels,
                 const double* weights, std::int64_t rows) const;
  template <class Score, class Label>
  bool split_row(const Score* scores, const Label* labels, std::int64_t row,
                 Buffers<Score>& buffers, bool& has_nan) const;

  std::int64_t num_labels_;
  std::optional<std::int64_t> ignore_index_;
  NanPolicy nan_policy_;
};

/// How far down the ranking one must go to find all labels of a sample.
///
///     mean over samples of #{labels with s >= min over positives of s_p}
///
/// update(preds, target[, weight]): see MultilabelRanking. Result: 0-dim, from
/// 0 to L; the best value is the mean number of positives.
///
/// State: the sum over samples and their weight. A sample without positives has
/// value 0. NaN before any update, or if all weights are 0. A NaN in preds
/// makes the result NaN; with kIgnore that sample is ignored.
///
/// Throws c10::IndexError for targets other than 0, 1 and ignore_index,
/// c10::TypeError and c10::ValueError for other inputs. Inputs on a GPU are
/// copied to the CPU. Not differentiable.
///
/// Source: coverage_error of scikit-learn; Tsoumakas et al. 2010.
///
/// Example:
///     MultilabelCoverageError coverage(5);
///     coverage.update(at::rand({8, 5}), at::randint(2, {8, 5}, at::kLong));
///     double depth = coverage.compute().item<double>();
class MultilabelCoverageError final
    : public MetricOf<MultilabelCoverageError, MultilabelRanking, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelCoverageError";
  static constexpr MetricSummary kSummary =
      MetricSummary{"How far down the ranking all true labels are found.",
                    "[0, L]",
                    "",
                    "coverage",
                    R"(\frac{1}{N} \sum_n \max_{l : y_{nl} = 1} rank_{nl})",
                    "Tsoumakas, Katakis and Vlahavas 2010"}
          .multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The mean fraction of positives among the labels ranked at or above each
/// positive.
///
///     mean over samples, over positives p, of
///         #{positives with s >= s_p} / #{labels with s >= s_p}
///
/// update(preds, target[, weight]): see MultilabelRanking. Result: 0-dim, in
/// (0, 1]. A sample whose labels are all positive, or all negative, has value
/// 1. State, NaN and errors as in MultilabelCoverageError.
///
/// Source: label_ranking_average_precision_score of scikit-learn.
///
/// Example:
///     MultilabelRankingAveragePrecision precision(5);
class MultilabelRankingAveragePrecision final
    : public MetricOf<MultilabelRankingAveragePrecision, MultilabelRanking,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelRankingAveragePrecision";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Mean precision at each true label, ranked by score.",
          "(0, 1]",
          "",
          "lrap, label ranking average precision",
          R"(\frac{1}{N} \sum_n \frac{1}{|Y_n|} \sum_{l \in Y_n} \frac{|\{k \in Y_n : s_{nk} \ge s_{nl}\}|}{rank_{nl}})",
          "Tsoumakas, Katakis and Vlahavas 2010"}
          .multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

/// The fraction of pairs of a positive and a negative label that are in the
/// wrong order; ties count as wrong.
///
///     mean over samples of #{s_n >= s_p} / (#p * #n)
///
/// update(preds, target[, weight]): see MultilabelRanking. Result: 0-dim, in
/// [0, 1]. A sample whose labels are all positive, or all negative, has value
/// 0. State, NaN and errors as in MultilabelCoverageError.
///
/// Source: label_ranking_loss of scikit-learn.
///
/// Example:
///     MultilabelRankingLoss loss(5);
class MultilabelRankingLoss final
    : public MetricOf<MultilabelRankingLoss, MultilabelRanking, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MultilabelRankingLoss";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Fraction of label pairs in the wrong order.",
          "[0, 1]",
          "",
          "label ranking loss",
          R"(\frac{1}{N} \sum_n \frac{|\{(k, l) : s_{nk} \le s_{nl},\ y_{nk} = 1,\ y_{nl} = 0\}|}{|Y_n| (L - |Y_n|)})",
          "Tsoumakas, Katakis and Vlahavas 2010"}
          .multilabel();
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MultilabelCoverageError, MultilabelRanking,
                               at::Tensor>;
extern template class MetricOf<MultilabelRankingAveragePrecision,
                               MultilabelRanking, at::Tensor>;
extern template class MetricOf<MultilabelRankingLoss, MultilabelRanking,
                               at::Tensor>;

}  // namespace tally
