#include "tally/metrics/audio/permutation_invariant_training.h"

#include <c10/util/Exception.h>

#include <memory>
#include <vector>

#include "tally/metrics/audio/named_measures.h"
#include "tally/metrics/common/checks.h"

namespace tally {
namespace {

using internal::audio::FunctionMeasure;
using internal::audio::Layout;
using internal::audio::SignalMeasure;
using internal::audio::Signals;

std::shared_ptr<const SignalMeasure> measure_of(
    const PermutationInvariantTrainingOptions& options) {
  const bool is_joint = options.mode() == PermutationMode::kPermutationWise;
  if (options.function()) {
    return std::make_shared<FunctionMeasure>(
        options.function(), is_joint ? Layout::kChannels : Layout::kTime);
  }
  return internal::audio::named_measure(options.metric());
}

}  // namespace

void PermutationInvariantTrainingOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!metric_.empty(), metric, ": expected a metric, such as ",
                    "ScaleInvariantSignalNoiseRatio",
                    function_ ? ", or a name for the function" : "",
                    ", got none");
  if (function_) {
    TORCH_CHECK_VALUE(!internal::audio::names_measure(metric_), metric,
                      ": expected a distinct name for the function, got "
                      "that of a metric, ",
                      metric_);
    return;
  }
  try {
    const auto measure = internal::audio::named_measure(metric_);
    TORCH_CHECK_VALUE(measure->layout() != Layout::kChannels ||
                          mode_ == PermutationMode::kPermutationWise,
                      "expected mode=permutation-wise for a metric of all ",
                      "speakers together, ", metric_, ", got speaker-wise");
  } catch (const c10::ValueError& error) {
    TORCH_CHECK_VALUE(false, metric, ": ", error.what_without_backtrace());
  }
}

BestPermutation::BestPermutation(const Options& options)
    : Permuted(measure_of(options), options.eval_func() == EvalFunc::kMax) {}

SignalScore PermutationInvariantTraining::evaluate(const State& state) const {
  return internal::audio::mean_score(state, options().count_silent());
}

at::Tensor best_permutations(
    const at::Tensor& preds, const at::Tensor& target,
    const PermutationInvariantTrainingOptions& options) {
  options.validate(PermutationInvariantTraining::kName);
  const BestPermutation best(options);
  const Signals signals =
      internal::audio::arrange(preds, target, best.layout());
  best.check(signals);
  std::vector<double> scores(static_cast<std::size_t>(signals.samples()));
  return best.permutations(signals.plain(), scores.data()).to(preds.device());
}

at::Tensor pit_permutate(const at::Tensor& preds,
                         const at::Tensor& permutations) {
  internal::check_defined("preds", preds);
  internal::check_integral("permutations", permutations);
  TORCH_CHECK_VALUE(
      preds.dim() >= 2 && permutations.sizes() == preds.sizes().slice(0, 2),
      "expected permutations [N, C] of preds [N, C, ...], got ",
      permutations.sizes(), " and ", preds.sizes());
  const at::Tensor orders = permutations.to(at::kCPU, at::kLong);
  const at::Tensor is_other = orders.lt(0).logical_or(orders.ge(preds.size(1)));
  TORCH_CHECK_INDEX(!is_other.any().item<bool>(),
                    "expected permutations of 0 to ", preds.size(1) - 1,
                    ", got ",
                    orders.masked_select(is_other)[0].item<std::int64_t>());
  return internal::audio::permuted(preds, orders);
}

template class MetricOf<PermutationInvariantTraining,
                        SignalScores<BestPermutation>, SignalScore>;

}  // namespace tally
