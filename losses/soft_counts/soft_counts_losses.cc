#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/label_inputs.h"
#include "tally/losses/soft_counts/balanced_accuracy_loss.h"
#include "tally/losses/soft_counts/dice_loss.h"
#include "tally/losses/soft_counts/f_beta_loss.h"
#include "tally/losses/soft_counts/jaccard_loss.h"
#include "tally/losses/soft_counts/matthews_loss.h"
#include "tally/losses/soft_counts/soft_counts.h"
#include "tally/losses/soft_counts/soft_counts_loss.h"
#include "tally/losses/soft_counts/tversky_loss.h"
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
  SoftCountsInput input;
  input.samples = preds.size(0);
  input.classes = binary ? 1 : preds.size(1);
  input.positions = positions_of(preds, binary ? 1 : 2);
  input.index = target.dim() != preds.dim();
  input.preds = preds.to(sync::accumulate_dtype(preds.scalar_type()))
                    .reshape({input.samples, input.classes, input.positions});
  input.target =
      input.index
          ? target.reshape({input.samples, input.positions})
          : target.reshape({input.samples, input.classes, input.positions});
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

namespace tally::losses {
namespace {

using internal::check_above_0;
using internal::check_at_least_0;
using internal::SoftCountsOf;
using internal::SoftCountsSettings;

SoftCountsSettings settings_for(const char* name,
                                const GeneralizedDiceLossOptions& options) {
  return internal::settings_of(name, options, Average::kMacro);
}
SoftCountsSettings settings_for(const char* name,
                                const MatthewsLossOptions& options) {
  const bool joint = options.mode() == LabelMode::kMulticlass &&
                     options.average() == Average::kMicro;
  return internal::settings_of(name, options,
                               joint ? Average::kMacro : options.average());
}
template <class Options>
SoftCountsSettings settings_for(const char* name, const Options& options) {
  return internal::settings_of(name, options, options.average());
}

// What a loss has besides the common options.
template <class Options>
void check_own(const char*, const Options&) {}
template <class Options>
void check_weights(const char* name, const Options& options) {
  check_at_least_0(name, "alpha", options.alpha());
  check_at_least_0(name, "beta", options.beta());
}
void check_own(const char* name, const TverskyLossOptions& options) {
  check_weights(name, options);
}
void check_own(const char* name, const FocalTverskyLossOptions& options) {
  check_weights(name, options);
  check_above_0(name, "gamma", options.gamma());
}
void check_own(const char* name, const FBetaLossOptions& options) {
  check_above_0(name, "beta", options.beta());
}

at::Tensor one_less(const at::Tensor& numerator,
                    const at::Tensor& denominator) {
  return numerator.div(denominator).neg().add(1);
}

at::Tensor loss_of(const DiceLossOptions& options, const SoftCountsOf& of) {
  return one_less(of.both.mul(2).add(options.smooth_nr()),
                  of.preds.add(of.target).add(options.smooth_dr()));
}

at::Tensor loss_of(const JaccardLossOptions& options, const SoftCountsOf& of) {
  return one_less(
      of.both.add(options.smooth_nr()),
      of.preds.add(of.target).sub(of.both).add(options.smooth_dr()));
}

template <class Options>
at::Tensor tversky(const Options& options, const SoftCountsOf& of) {
  return one_less(of.both.add(options.smooth_nr()),
                  of.both.mul(1 - options.alpha() - options.beta())
                      .add(of.preds, options.alpha())
                      .add(of.target, options.beta())
                      .add(options.smooth_dr()));
}

at::Tensor loss_of(const TverskyLossOptions& options, const SoftCountsOf& of) {
  return tversky(options, of);
}

at::Tensor loss_of(const FocalTverskyLossOptions& options,
                   const SoftCountsOf& of) {
  const double power = 1 / options.gamma(), linear_below = 1e-6;
  const at::Tensor loss = tversky(options, of).clamp_min(0);
  return at::where(loss.lt(linear_below),
                   loss.mul(std::pow(linear_below, power - 1)),
                   loss.clamp_min(linear_below).pow(power));
}

at::Tensor loss_of(const FBetaLossOptions& options, const SoftCountsOf& of) {
  const double square = options.beta() * options.beta();
  return one_less(of.both.mul(1 + square).add(options.smooth_nr()),
                  of.preds.add(of.target, square).add(options.smooth_dr()));
}

at::Tensor loss_of(const MatthewsLossOptions& options, const SoftCountsOf& of) {
  const bool joint = options.mode() == LabelMode::kMulticlass &&
                     options.average() == Average::kMicro;
  const auto sum = [&](const at::Tensor& classes) {
    return joint ? classes.sum({1}, /*keepdim=*/true) : classes;
  };
  // Every class has the same count.
  const at::Tensor count = joint ? of.count.narrow(1, 0, 1) : of.count;
  const at::Tensor numerator =
      count.mul(sum(of.both)).sub(sum(of.preds.mul(of.target)));
  const at::Tensor product =
      joint ? count.square()
                  .sub(sum(of.preds.square()))
                  .mul(count.square().sub(sum(of.target.square())))
            : of.preds.mul(of.target)
                  .mul(count.sub(of.preds))
                  .mul(count.sub(of.target));
  // Rounding may bring it below 0.
  return one_less(numerator.add(options.smooth_nr()),
                  product.clamp_min(0).add(options.smooth_dr()).sqrt());
}

at::Tensor loss_of(const BalancedAccuracyLossOptions& options,
                   const SoftCountsOf& of) {
  const auto missed = [&](const at::Tensor& found, const at::Tensor& all) {
    return one_less(found.add(options.smooth_nr()),
                    all.add(options.smooth_dr()));
  };
  const at::Tensor positive = missed(of.both, of.target);
  if (options.mode() == LabelMode::kMulticlass) return positive;
  const at::Tensor others = of.count.sub(of.target);
  return positive.add(missed(others.sub(of.preds).add(of.both), others)).div(2);
}

at::Tensor loss_of(const GeneralizedDiceLossOptions& options,
                   const SoftCountsOf& of) {
  const at::Tensor target = of.target.detach(), there = target.gt(0);
  at::Tensor weight =
      options.weight() == DiceWeight::kSquare   ? target.square().reciprocal()
      : options.weight() == DiceWeight::kSimple ? target.reciprocal()
                                                : target.mul(0).add(1);
  weight = at::where(there, weight, at::zeros_like(weight));
  if (options.absent() == AbsentClassLoss::kSmooth) {
    weight = at::where(there, weight, weight.amax({1}, /*keepdim=*/true));
  }
  const auto sum = [&](const at::Tensor& classes) {
    return classes.mul(weight).sum({1}, /*keepdim=*/true);
  };
  return one_less(sum(of.both).mul(2).add(options.smooth_nr()),
                  sum(of.preds.add(of.target)).add(options.smooth_dr()));
}

template <class Options>
void check_all(const char* name, const Options& options) {
  internal::check(settings_for(name, options));
  check_own(name, options);
}

template <class Options>
at::Tensor forward(const char* name, const at::Tensor& preds,
                   const at::Tensor& target, const Options& options) {
  return internal::soft_counts_loss(
      settings_for(name, options), preds, target,
      [&] { check_own(name, options); },
      [&](const SoftCountsOf& counts) { return loss_of(options, counts); });
}

}  // namespace

// The module and the function of a loss, which differ in their names alone.
#define TALLY_SOFT_COUNTS_LOSS(Loss, function)                         \
  Loss##Impl::Loss##Impl(Loss##Options options)                        \
      : LossModule(std::move(options)) {                               \
    check_all(kName, this->options());                                 \
  }                                                                    \
  at::Tensor Loss##Impl::forward(const at::Tensor& preds,              \
                                 const at::Tensor& target) {           \
    return functional::function(preds, target, options());             \
  }                                                                    \
  at::Tensor functional::function(const at::Tensor& preds,             \
                                  const at::Tensor& target,            \
                                  const Loss##Options& options) {      \
    return losses::forward(Loss##Impl::kName, preds, target, options); \
  }                                                                    \
  template class internal::LossModule<Loss##Impl, Loss##Options>;

TALLY_SOFT_COUNTS_LOSS(DiceLoss, dice_loss)
TALLY_SOFT_COUNTS_LOSS(GeneralizedDiceLoss, generalized_dice_loss)
TALLY_SOFT_COUNTS_LOSS(JaccardLoss, jaccard_loss)
TALLY_SOFT_COUNTS_LOSS(TverskyLoss, tversky_loss)
TALLY_SOFT_COUNTS_LOSS(FocalTverskyLoss, focal_tversky_loss)
TALLY_SOFT_COUNTS_LOSS(FBetaLoss, f_beta_loss)
TALLY_SOFT_COUNTS_LOSS(MatthewsLoss, matthews_loss)
TALLY_SOFT_COUNTS_LOSS(BalancedAccuracyLoss, balanced_accuracy_loss)

#undef TALLY_SOFT_COUNTS_LOSS

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::DiceLossImpl>;
template class torch::nn::Cloneable<tally::losses::GeneralizedDiceLossImpl>;
template class torch::nn::Cloneable<tally::losses::JaccardLossImpl>;
template class torch::nn::Cloneable<tally::losses::TverskyLossImpl>;
template class torch::nn::Cloneable<tally::losses::FocalTverskyLossImpl>;
template class torch::nn::Cloneable<tally::losses::FBetaLossImpl>;
template class torch::nn::Cloneable<tally::losses::MatthewsLossImpl>;
template class torch::nn::Cloneable<tally::losses::BalancedAccuracyLossImpl>;
