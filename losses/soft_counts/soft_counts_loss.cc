#include "tally/losses/soft_counts/soft_counts_loss.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "tally/losses/autocast.h"
#include "tally/losses/label_inputs.h"
#include "tally/losses/soft_counts/soft_counts.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {
namespace {

using Settings = SoftCountsSettings;

/// The product of dimensions from `first` on, which may be none.
std::int64_t positions_of(const at::Tensor& tensor, std::int64_t first) {
  return c10::multiply_integers(tensor.sizes().slice(first));
}

SoftCountsInput input_of(const Settings& s, const at::Tensor& preds,
                         const at::Tensor& target) {
  const bool binary = s.mode == LabelMode::kBinary;
  const std::int64_t samples = preds.size(0);
  const std::int64_t classes = binary ? 1 : preds.size(1);
  const std::int64_t positions = positions_of(preds, binary ? 1 : 2);
  SoftCountsInput input;
  input.preds = preds.to(sync::accumulate_dtype(preds.scalar_type()))
                    .reshape({samples, classes, positions});
  input.target = target.dim() == preds.dim()
                     ? target.reshape({samples, classes, positions})
                     : target.reshape({samples, positions});
  input.activation = s.input == ScoreKind::kProbabilities ? Activation::kNone
                     : s.mode == LabelMode::kMulticlass   ? Activation::kSoftmax
                                                        : Activation::kSigmoid;
  input.soft_labels = s.soft_labels;
  input.by_sample = !s.batch;
  input.ignore_index = s.ignore_index;
  return input;
}

/// Losses of groups, and what they count in a mean.
struct Weighted {
  at::Tensor loss, weight;
};

/// From [groups, kSoftCounts, C]: [groups, C] of losses, 0 where nothing
/// counts.
Weighted losses_of(const Settings& s, const at::Tensor& sums,
                   LossOfCounts loss) {
  at::Tensor counted = sums;
  if (!s.include_background && sums.size(2) > 1) {
    counted = sums.narrow(2, 1, sums.size(2) - 1);
  }
  if (s.average == Average::kMicro) counted = counted.sum({2}, true);
  const SoftCountsOf counts{counted.select(1, 0), counted.select(1, 1),
                            counted.select(1, 2), counted.select(1, 3)};
  Weighted result;
  result.loss = loss(counts);
  at::Tensor target = counts.target.detach(), count = counts.count.detach();
  if (result.loss.size(1) != target.size(1)) {
    target = target.sum({1}, true);
    count = count.sum({1}, true);
  }
  at::Tensor counts_at_all = count.gt(0), has_loss = counts_at_all;
  if (s.absent != AbsentClassLoss::kSmooth) {
    has_loss = has_loss.logical_and(target.gt(0));
  }
  if (s.absent == AbsentClassLoss::kSkip) counts_at_all = has_loss;
  result.loss =
      at::where(has_loss, result.loss, at::zeros({}, result.loss.options()));
  result.weight = counts_at_all.to(at::kDouble);
  if (s.average == Average::kWeighted) {
    result.weight = result.weight.mul(target);
  }
  return result;
}

/// The mean over classes, of weight 1 unless nothing counts; as they are with
/// kNone.
Weighted averaged(const Settings& s, const Weighted& classes) {
  if (s.average == Average::kNone) return classes;
  const at::Tensor total = classes.weight.sum({1}, true);
  const at::Tensor any = total.gt(0);
  return {classes.loss.mul(classes.weight)
              .sum({1}, true)
              .div(at::where(any, total, at::ones_like(total))),
          any.to(at::kDouble)};
}

/// Of [1, classes] or [1, 1], in the dtype of results.
at::Tensor result_of(const Settings& s, const at::Tensor& loss,
                     const at::Tensor& preds) {
  const at::Tensor result =
      loss.to(sync::accumulate_dtype(preds.scalar_type()));
  return s.average == Average::kNone ? result.select(0, 0) : result.reshape({});
}

}  // namespace

void check_at_least_0(const std::string& loss, const char* option,
                      double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value >= 0, loss, ": expected ",
                    option, " of at least 0, got ", value);
}

void check_above_0(const std::string& loss, const char* option, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value > 0, loss, ": expected ",
                    option, " above 0, got ", value);
}

void check(const Settings& settings) {
  TORCH_CHECK_VALUE(settings.input != ScoreKind::kScores, settings.name,
                    ": expected input to be probabilities or logits, got "
                    "scores");
  check_at_least_0(settings.name, "smooth_nr", settings.smooth_nr);
  check_above_0(settings.name, "smooth_dr", settings.smooth_dr);
}

at::Tensor soft_counts_loss(const Settings& settings, const at::Tensor& preds,
                            const at::Tensor& target,
                            c10::function_ref<void()> check_options,
                            LossOfCounts loss) {
  const AutocastOff as_written;
  sync::Call call(settings.description, settings.communicator,
                  settings.timeout);
  call.asker = settings.name;
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check(settings);
    check_options();
    check_labels(settings.name, settings.mode, settings.ignore_index, preds,
                 target);
    own = soft_counts(call, input_of(settings, preds, target));
    if (!settings.batch) {
      const Weighted samples =
          averaged(settings, losses_of(settings, own, loss));
      own = at::stack({samples.loss.mul(samples.weight).sum({0}, true),
                       samples.weight.sum({0}, true)});
    }
    return own.detach();
  });
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  if (settings.batch) {
    return result_of(settings,
                     averaged(settings, losses_of(settings, sums, loss)).loss,
                     preds);
  }
  return result_of(settings,
                   sums[0].div(at::where(sums[1].gt(0), sums[1].detach(),
                                         at::ones_like(sums[1]))),
                   preds);
}

}  // namespace tally::losses::internal
