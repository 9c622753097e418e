#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "tally/losses/soft_counts/balanced_accuracy_loss.h"
#include "tally/losses/soft_counts/dice_loss.h"
#include "tally/losses/soft_counts/f_beta_loss.h"
#include "tally/losses/soft_counts/jaccard_loss.h"
#include "tally/losses/soft_counts/matthews_loss.h"
#include "tally/losses/soft_counts/soft_counts_loss.h"
#include "tally/losses/soft_counts/tversky_loss.h"

namespace tally::losses {
namespace {

using internal::check_above_0;
using internal::check_at_least_0;
using internal::ClassValues;
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

// Of tensors or of plain numbers.
template <class V>
V one_less(const V& numerator, const V& denominator) {
  return numerator.div(denominator).neg().add(1);
}

template <class V>
V loss_of(const DiceLossOptions& options, const SoftCountsOf<V>& of) {
  return one_less(of.both.mul(2).add(options.smooth_nr()),
                  of.preds.add(of.target).add(options.smooth_dr()));
}

template <class V>
V loss_of(const JaccardLossOptions& options, const SoftCountsOf<V>& of) {
  return one_less(
      of.both.add(options.smooth_nr()),
      of.preds.add(of.target).sub(of.both).add(options.smooth_dr()));
}

template <class Options, class V>
V tversky(const Options& options, const SoftCountsOf<V>& of) {
  return one_less(of.both.add(options.smooth_nr()),
                  of.both.mul(1 - options.alpha() - options.beta())
                      .add(of.preds, options.alpha())
                      .add(of.target, options.beta())
                      .add(options.smooth_dr()));
}

template <class V>
V loss_of(const TverskyLossOptions& options, const SoftCountsOf<V>& of) {
  return tversky(options, of);
}

template <class V>
V loss_of(const FocalTverskyLossOptions& options, const SoftCountsOf<V>& of) {
  const double power = 1 / options.gamma(), linear_below = 1e-6;
  const V loss = tversky(options, of).clamp_min(0);
  return where(loss.lt(linear_below),
               loss.mul(std::pow(linear_below, power - 1)),
               loss.clamp_min(linear_below).pow(power));
}

template <class V>
V loss_of(const FBetaLossOptions& options, const SoftCountsOf<V>& of) {
  const double square = options.beta() * options.beta();
  return one_less(of.both.mul(1 + square).add(options.smooth_nr()),
                  of.preds.add(of.target, square).add(options.smooth_dr()));
}

template <class V>
V loss_of(const MatthewsLossOptions& options, const SoftCountsOf<V>& of) {
  const bool joint = options.mode() == LabelMode::kMulticlass &&
                     options.average() == Average::kMicro;
  const auto sum = [&](const V& classes) {
    return joint ? classes.sum({1}, /*keepdim=*/true) : classes;
  };
  // Every class has the same count.
  const V count = joint ? of.count.narrow(1, 0, 1) : of.count;
  const V numerator = count.mul(sum(of.both)).sub(sum(of.preds.mul(of.target)));
  const V product = joint
                        ? count.square()
                              .sub(sum(of.preds.square()))
                              .mul(count.square().sub(sum(of.target.square())))
                        : of.preds.mul(of.target)
                              .mul(count.sub(of.preds))
                              .mul(count.sub(of.target));
  // Rounding may bring it below 0.
  return one_less(numerator.add(options.smooth_nr()),
                  product.clamp_min(0).add(options.smooth_dr()).sqrt());
}

template <class V>
V loss_of(const BalancedAccuracyLossOptions& options,
          const SoftCountsOf<V>& of) {
  const auto missed = [&](const V& found, const V& all) {
    return one_less(found.add(options.smooth_nr()),
                    all.add(options.smooth_dr()));
  };
  const V positive = missed(of.both, of.target);
  if (options.mode() == LabelMode::kMulticlass) return positive;
  const V others = of.count.sub(of.target);
  return positive.add(missed(others.sub(of.preds).add(of.both), others)).div(2);
}

template <class V>
V loss_of(const GeneralizedDiceLossOptions& options,
          const SoftCountsOf<V>& of) {
  const V target = of.target.detach(), there = target.gt(0);
  V weight = options.weight() == DiceWeight::kSquare
                 ? target.square().reciprocal()
             : options.weight() == DiceWeight::kSimple ? target.reciprocal()
                                                       : target.mul(0).add(1);
  weight = where(there, weight, zeros_like(weight));
  if (options.absent() == AbsentClassLoss::kSmooth) {
    weight = where(there, weight, weight.amax({1}, /*keepdim=*/true));
  }
  const auto sum = [&](const V& classes) {
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
class Rule final : public internal::SoftCountsRule {
 public:
  Rule(const char* name, const Options& options)
      : name_(name), options_(options) {}

  at::Tensor loss(const SoftCountsOf<at::Tensor>& counts) const override {
    return loss_of(options_, counts);
  }
  ClassValues loss(const SoftCountsOf<ClassValues>& counts) const override {
    return loss_of(options_, counts);
  }
  void check() const override { check_own(name_, options_); }
  std::string description() const override {
    return c10::str(name_, '(', options_repr(options_), ')');
  }

 private:
  const char* name_;
  Options options_;
};

template <class Options>
at::Tensor forward(const char* name, const at::Tensor& preds,
                   const at::Tensor& target, const Options& options) {
  return internal::soft_counts_loss(
      settings_for(name, options),
      std::make_shared<Rule<Options>>(name, options), preds, target);
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
