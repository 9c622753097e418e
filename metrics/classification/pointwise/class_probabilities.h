#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/state/note.h"

/// Class probabilities whose sum matters. Rounding makes them miss 1 by little;
/// what misses it by more is noted, and what cannot be a distribution refused.
namespace tally::internal::classification {

inline constexpr NoteKind kUnnormalized{
    "unnormalized", "probabilities do not add up to 1",
    "set input to logits if they are logits, and use a multilabel metric for "
    "labels that are independent"};

/// The state of a weighted mean over rows of class probabilities.
struct ClassWeightedSum {
  Number sum;
  Number weight;
  Note unnormalized{kUnnormalized};

  void fields(Fields& f) { f("sum", sum)("weight", weight)(unnormalized); }
};

/// c10::ValueError: probabilities that add up to `sum`.
[[noreturn]] void refuse_sum(double sum, std::int64_t position);

/// Checks the probabilities of positions in plain loops.
class ProbabilityRows {
 public:
  /// Sums that miss 1 by more are noted: rounding to bfloat16, and to anything
  /// more precise.
  static constexpr double kCoarseTolerance = 1e-2;
  static constexpr double kTolerance = 1e-3;
  /// Sums that miss 1 by more are refused if they have to be those of a
  /// distribution.
  static constexpr double kMostMissed = 0.05;

  /// `preds` are [N, C, ...].
  ProbabilityRows(const at::Tensor& preds, bool are_distributions)
      : classes_(preds.size(1)),
        positions_(preds.numel() == 0
                       ? 1
                       : preds.numel() / (preds.size(0) * preds.size(1))),
        tolerance_(preds.scalar_type() == at::kBFloat16 ? kCoarseTolerance
                                                        : kTolerance),
        most_missed_(are_distributions ? kMostMissed
                                       : std::numeric_limits<double>::max()) {}

  /// Throws c10::ValueError for one outside [0, 1], and for what is no
  /// distribution if it has to be one. NaN is neither.
  template <class Score>
  void check(const Score* own, std::int64_t stride, std::int64_t position,
             Note& note) const {
    bool inside = true;
    const double sum = stride == 1 ? sum_of<1>(own, 1, inside)
                                   : sum_of<0>(own, stride, inside);
    const double missed = std::abs(sum - 1);
    if (inside && !(missed > tolerance_)) return;
    if (!inside) refuse_first(own, stride, position);
    if (missed > most_missed_) refuse_sum(sum, position);
    note.mark(position / positions_);
  }

 private:
  // In a fixed order, of several sums at once.
  template <std::int64_t kStride, class Score>
  double sum_of(const Score* own, std::int64_t given, bool& inside) const {
    constexpr std::int64_t kSums = 8;
    const std::int64_t stride = kStride == 0 ? given : kStride;
    std::array<double, kSums> sums{};
    // Extremes rather than a count of what is outside: vectors have those.
    std::array<Score, kSums> least{}, most{};
    const auto add = [&](Score p, std::int64_t i) {
      sums[i] += static_cast<double>(p);
      least[i] = p < least[i] ? p : least[i];
      most[i] = p > most[i] ? p : most[i];
    };
    std::int64_t c = 0;
    for (; c + kSums <= classes_; c += kSums) {
      for (std::int64_t i = 0; i < kSums; ++i) add(own[(c + i) * stride], i);
    }
    for (; c < classes_; ++c) add(own[c * stride], 0);
    inside = *std::min_element(least.begin(), least.end()) >= Score(0) &&
             *std::max_element(most.begin(), most.end()) <= Score(1);
    double sum = 0;
    for (const double each : sums) sum += each;
    return sum;
  }
  template <class Score>
  void refuse_first(const Score* own, std::int64_t stride,
                    std::int64_t position) const {
    for (std::int64_t c = 0; c < classes_; ++c) {
      const auto p = static_cast<double>(own[c * stride]);
      if (p < 0 || p > 1) refuse_probability(p, position);
    }
  }

  std::int64_t classes_;
  std::int64_t positions_;
  double tolerance_;
  double most_missed_;
};

/// The same for the counted positions of tensors with a graph. On a device
/// nothing is noted, as that would wait for it.
void check_rows(const ClassLossRules& rules, const ProbabilityRows& rows,
                const at::Tensor& preds, const at::Tensor& target, Note& note);

/// sum_class_losses() of probabilities, whose rows are checked with
/// validate_args: the loss of a position is plain(scores, stride, label).
template <class Plain, class TensorLoss>
ClassWeightedSum sum_probability_losses(const ClassLossRules& rules,
                                        const at::Tensor& preds,
                                        const at::Tensor& target,
                                        const at::Tensor& weight,
                                        const Plain& plain,
                                        const TensorLoss& tensor) {
  check_class_scores(preds, target, rules.num_classes);
  const ProbabilityRows rows(preds, /*are_distributions=*/true);
  ClassWeightedSum state;
  bool looped = preds.numel() == 0;
  const WeightedSum sums = sum_class_losses(
      rules, preds, target, weight,
      [&](const auto* own, std::int64_t stride, std::int64_t label,
          std::int64_t index) {
        looped = true;
        if (rules.validate_args) {
          rows.check(own, stride, index, state.unnormalized);
        }
        return plain(own, stride, label);
      },
      tensor);
  if (rules.validate_args && !looped) {
    check_rows(rules, rows, preds, target, state.unnormalized);
  }
  state.unnormalized.add_rows(preds.size(0));
  state.sum = sums.sum;
  state.weight = sums.weight;
  return state;
}

}  // namespace tally::internal::classification
