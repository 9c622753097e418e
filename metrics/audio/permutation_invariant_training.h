#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "tally/metrics/audio/states/permuted.h"
#include "tally/metrics/audio/states/signal_scores.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// What is scored for each permutation of the speakers.
enum class PermutationMode {
  kSpeakerWise,      ///< each speaker; the mean counts
  kPermutationWise,  ///< all speakers together
};

template <>
struct EnumNames<PermutationMode> {
  static constexpr const char* kNames[] = {"speaker-wise", "permutation-wise"};
};

/// Which permutation is the best.
enum class EvalFunc {
  kMax,  ///< that of the highest score
  kMin,  ///< that of the lowest score
};

template <>
struct EnumNames<EvalFunc> {
  static constexpr const char* kNames[] = {"max", "min"};
};

/// Options of PermutationInvariantTraining.
///
/// Example:
///     PermutationInvariantTraining pit(
///         PermutationInvariantTrainingOptions("SignalDistortionRatio")
///             .count_silent(false));
struct PermutationInvariantTrainingOptions
    : SignalOptions<PermutationInvariantTrainingOptions> {
  /// preds and target [N, ...] of a speaker, or [N, C, ...] of all with
  /// kPermutationWise, to floating-point scores [N].
  using Function = internal::audio::ScoreFunction;

  /// The audio metric that scores a speaker, as Name(option=value, ...); see
  /// `metric`.
  PermutationInvariantTrainingOptions(std::string metric)
      : metric_(std::move(metric)) {}
  PermutationInvariantTrainingOptions(const char* metric) : metric_(metric) {}
  explicit PermutationInvariantTrainingOptions(internal::Unset) {}

  /// The audio metric that scores a speaker, as Name(option=value, ...), or if
  /// there is a function, its name, for functions cannot be compared: metrics
  /// with equal names share states in a collection, load each other's
  /// checkpoints, and sync.
  TORCH_ARG(std::string, metric);
  /// Scores in place of an audio metric. Default: null.
  TORCH_ARG(Function, function) = nullptr;
  /// Default: kSpeakerWise. SourceAggregatedSignalDistortionRatio needs
  /// kPermutationWise, which takes at most 8 speakers.
  TORCH_ARG(PermutationMode, mode) = PermutationMode::kSpeakerWise;
  TORCH_ARG(EvalFunc, eval_func) = EvalFunc::kMax;

 public:
  void visit(OptionVisitor& v) {
    v("metric", metric_,
      "Audio metric that scores a speaker, as Name(option=value, ...).");
    v("mode", mode_,
      "Whether speakers are scored one by one, or all together.");
    v("eval_func", eval_func_,
      "Whether the highest or the lowest score is the best.");
    SignalOptions::visit(v);
  }
  void validate(const char* metric) const;
};

/// The score of PermutationInvariantTraining.
struct BestPermutation : internal::audio::Permuted {
  static constexpr const char* kName = "BestPermutation";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kFloat, "float signals [N, C, ..., T]"},
      {"target", InputKind::kFloat, "float signals [N, C, ..., T]"}};
  using Options = PermutationInvariantTrainingOptions;
  explicit BestPermutation(const Options& options);
};

/// The score of several speakers' estimated signals in the order that suits
/// each sample best (utterance-level permutation invariant training).
///
///     max over permutations s of 1 / C sum_c metric(p_s(c), t_c)
///
/// for the estimates p, the references t and C speakers; min with `eval_func`,
/// and one score of all speakers in place of the mean with `mode`.
/// update(preds, target): floating point [N, C, ...]: samples, speakers, and
/// what the metric takes of each: [T], for
/// ComplexScaleInvariantSignalNoiseRatio complex [F, T] or [F, T, 2].
/// Result: SignalScore: `value`, the mean over samples, 0-dim float64, NaN
/// without samples, and `silent`, the number of silent references, of all
/// speakers. The best permutation is found exactly, by the method of Jonker and
/// Volgenant; of those whose scores differ by less than 1e-9 of the largest,
/// the lexicographically first, so that rounding decides nothing. As many pairs
/// of -infinity as possible are avoided; NaN among the scores of a sample makes
/// its score NaN.
/// State: the sum of the scores, which is exact, so that the mean has the same
/// bits for every split; the numbers of samples and of silent references.
/// NaN: propagates; NanPolicy::kIgnore skips the sample.
/// Errors: c10::TypeError for inputs that are not dense and floating point;
/// c10::ValueError for an unknown metric, for different shapes, for too many
/// speakers (256, or 8 with kPermutationWise), for signals without values, for
/// a score of 2^31 or more, and for NaN with NanPolicy::kError.
/// Differentiable in preds and target, through the chosen permutation; with a
/// function, if that is. A function scores all pairs on copies on the CPU
/// without a graph first.
/// Source: Kolbaek, Yu, Tan and Jensen 2017.
///
/// Example:
///     PermutationInvariantTraining pit("ScaleInvariantSignalNoiseRatio");
///     pit.update(at::randn({4, 2, 8000}), at::randn({4, 2, 8000}));
///     double decibels = pit.compute().value.item<double>();
class PermutationInvariantTraining final
    : public MetricOf<PermutationInvariantTraining,
                      SignalScores<BestPermutation>, SignalScore> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "PermutationInvariantTraining";
  static constexpr MetricSummary kSummary{
      "Mean score of speakers in their best order.",
      "any",
      "metric=ScaleInvariantSignalNoiseRatio",
      "pit, upit",
      R"(\max_\pi \frac{1}{K} \sum_k m(\hat s_{\pi(k)}, s_k))",
      "Yu et al. 2017"};
  static constexpr bool kIsDifferentiable = true;

  SignalScore evaluate(const State& state) const;
};

/// For each sample, which speaker of preds belongs to each of target, int64 [N,
/// C]: the permutation that PermutationInvariantTraining scores. Inputs and
/// errors as there.
at::Tensor best_permutations(
    const at::Tensor& preds, const at::Tensor& target,
    const PermutationInvariantTrainingOptions& options);

/// preds [N, C, ...] in the order of permutations, int64 [N, C].
/// c10::ValueError for permutations of another shape, c10::TypeError for those
/// of another dtype, c10::IndexError for places that are not there.
at::Tensor pit_permutate(const at::Tensor& preds,
                         const at::Tensor& permutations);

extern template class MetricOf<PermutationInvariantTraining,
                               SignalScores<BestPermutation>, SignalScore>;

}  // namespace tally
