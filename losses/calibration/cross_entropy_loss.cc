#include "tally/losses/calibration/cross_entropy_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <utility>

#include "tally/losses/common/autocast.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

template <class Options>
void check_common(const char* name, const Options& options) {
  for (const double weight : options.class_weights()) {
    TORCH_CHECK_VALUE(std::isfinite(weight) && weight >= 0, name,
                      ": expected class_weights of at least 0, got ", weight);
  }
  TORCH_CHECK_VALUE(
      options.label_smoothing() >= 0 && options.label_smoothing() <= 1, name,
      ": expected label_smoothing in [0, 1], got ", options.label_smoothing());
}

void check(const GlobalCrossEntropyLossOptions& options) {
  check_common(GlobalCrossEntropyLossImpl::kName, options);
}

void check(const FocalLossOptions& options) {
  const char* const name = FocalLossImpl::kName;
  check_common(name, options);
  TORCH_CHECK_VALUE(std::isfinite(options.gamma()) && options.gamma() >= 0,
                    name, ": expected gamma of at least 0, got ",
                    options.gamma());
  if (!options.alpha()) return;
  TORCH_CHECK_VALUE(options.mode() != LabelMode::kMulticlass, name,
                    ": expected class_weights instead of alpha with "
                    "LabelMode::kMulticlass");
  TORCH_CHECK_VALUE(*options.alpha() >= 0 && *options.alpha() <= 1, name,
                    ": expected alpha in [0, 1], got ", *options.alpha());
}

double gamma_of(const GlobalCrossEntropyLossOptions&) { return 0; }
double gamma_of(const FocalLossOptions& options) { return options.gamma(); }
std::optional<double> alpha_of(const GlobalCrossEntropyLossOptions&) {
  return {};
}
std::optional<double> alpha_of(const FocalLossOptions& options) {
  return options.alpha();
}

/// -q log p (1 - p)^gamma; 0 without q, also if p is 0. Finite derivatives
/// where p is 1.
at::Tensor focal(const at::Tensor& all_log_p, const at::Tensor& q,
                 double gamma) {
  const at::Tensor log_p =
      at::where(q.gt(0), all_log_p, at::zeros({}, all_log_p.options()));
  if (gamma == 0) return log_p.mul(q).neg();
  // Below, the power has no derivative; its factor log p is 0 there.
  const at::Tensor rest = log_p.expm1().neg().clamp_min(1e-30);
  return log_p.mul(q).neg().mul(rest.pow(gamma));
}

/// The sum of losses and that of weights.
template <class Options>
at::Tensor sums_of(const char* name, const Options& options,
                   const at::Tensor& preds, const at::Tensor& target) {
  internal::check_labels(name, options.mode(), options.ignore_index(), preds,
                         target);
  const bool binary = options.mode() == LabelMode::kBinary;
  const bool multiclass = options.mode() == LabelMode::kMulticlass;
  const at::Tensor x = preds.to(sync::accumulate_dtype(preds.scalar_type()));
  const std::int64_t classes = binary ? 1 : x.size(1);
  const auto given = static_cast<std::int64_t>(options.class_weights().size());
  TORCH_CHECK_VALUE(given == 0 || given == classes, name, ": expected ",
                    classes, " class_weights, got ", given);

  at::Tensor labels = target;
  const at::Tensor counts = options.ignore_index()
                                ? labels.ne(*options.ignore_index())
                                : at::ones_like(labels, at::kBool);
  const bool is_index = target.dim() != preds.dim();
  const double largest = is_index ? static_cast<double>(classes - 1) : 1;
  const at::Tensor wrong =
      labels.masked_select(labels.ge(0)
                               .logical_and(labels.le(largest))
                               .logical_not()
                               .logical_and(counts));
  TORCH_CHECK_VALUE(
      wrong.numel() == 0, name, ": expected target ",
      is_index ? c10::str("to be a class below ", classes) : "in [0, 1]",
      ", got ", wrong[0].item<double>());

  // Of the size of x.
  std::vector<std::int64_t> per_class(x.dim(), 1);
  if (!binary) per_class[1] = classes;
  at::Tensor y;
  if (is_index) {
    y = labels.unsqueeze(1)
            .eq(at::arange(classes, labels.options().dtype(at::kLong))
                    .view(per_class))
            .to(x.scalar_type());
  } else {
    y = labels.to(x.scalar_type());
  }
  const at::Tensor there =
      (is_index ? counts.unsqueeze(1) : counts).expand_as(x);
  const at::Tensor weight =
      given == 0 ? at::ones_like(y)
                 : at::tensor(options.class_weights(), y.options())
                       .view(per_class)
                       .expand_as(y);
  const double smoothing = options.label_smoothing();
  const double gamma = gamma_of(options);
  const at::Tensor zero = at::zeros({}, x.options());
  // What does not count may be NaN.
  const at::Tensor clean = at::where(there, x, zero);
  at::Tensor loss, divisor;
  if (multiclass) {
    const at::Tensor q =
        y.mul(1 - smoothing).add(smoothing / static_cast<double>(classes));
    loss = focal(clean.log_softmax(1), q, gamma);
    divisor = weight.mul(y);
  } else {
    const at::Tensor q = y.mul(1 - smoothing).add(smoothing / 2);
    const double of_1 = alpha_of(options).value_or(1);
    const double of_0 = alpha_of(options) ? 1 - of_1 : 1;
    loss = focal(at::log_sigmoid(clean), q, gamma)
               .mul(of_1)
               .add(focal(at::log_sigmoid(clean.neg()), q.neg().add(1), gamma)
                        .mul(of_0));
    divisor = weight;
  }
  return at::stack({at::where(there, loss.mul(weight), zero).sum(at::kDouble),
                    at::where(there, divisor, zero).sum(at::kDouble)});
}

template <class Options>
at::Tensor ratio_of(const char* name, const Options& options,
                    const at::Tensor& preds, const at::Tensor& target) {
  const internal::AutocastOff as_written;
  const sync::Call call = internal::call_of(name, options);
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check(options);
    own = sums_of(name, options, preds, target);
    return own.detach();
  });
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  return sums[0]
      .div(at::where(all[1].gt(0), all[1], at::ones_like(all[1])))
      .to(sync::accumulate_dtype(preds.scalar_type()));
}

}  // namespace

namespace functional {

at::Tensor cross_entropy_loss(const at::Tensor& preds, const at::Tensor& target,
                              const GlobalCrossEntropyLossOptions& options) {
  return ratio_of(GlobalCrossEntropyLossImpl::kName, options, preds, target);
}

at::Tensor focal_loss(const at::Tensor& preds, const at::Tensor& target,
                      const FocalLossOptions& options) {
  return ratio_of(FocalLossImpl::kName, options, preds, target);
}

}  // namespace functional

GlobalCrossEntropyLossImpl::GlobalCrossEntropyLossImpl(
    GlobalCrossEntropyLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor GlobalCrossEntropyLossImpl::forward(const at::Tensor& preds,
                                               const at::Tensor& target) {
  return functional::cross_entropy_loss(preds, target, options());
}

FocalLossImpl::FocalLossImpl(FocalLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor FocalLossImpl::forward(const at::Tensor& preds,
                                  const at::Tensor& target) {
  return functional::focal_loss(preds, target, options());
}

template class internal::LossModule<GlobalCrossEntropyLossImpl,
                                    GlobalCrossEntropyLossOptions>;
template class internal::LossModule<FocalLossImpl, FocalLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::GlobalCrossEntropyLossImpl>;
template class torch::nn::Cloneable<tally::losses::FocalLossImpl>;
