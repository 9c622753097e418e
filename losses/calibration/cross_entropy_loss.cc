#include "tally/losses/calibration/cross_entropy_loss.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <optional>
#include <utility>

#include "tally/losses/calibration/entropy.h"
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

template <class Options>
internal::EntropyTerms terms_of(const char* name, const Options& options) {
  const std::optional<double> alpha = alpha_of(options);
  return {name,
          options.mode(),
          options.class_weights(),
          options.label_smoothing(),
          gamma_of(options),
          alpha.value_or(1),
          alpha ? 1 - *alpha : 1,
          options.ignore_index()};
}

template <class Options>
at::Tensor ratio_of(const char* name, const Options& options,
                    const at::Tensor& preds, const at::Tensor& target) {
  const internal::AutocastOff as_written;
  const internal::EntropyTerms terms = terms_of(name, options);
  const auto ranks = options.communicator() ? options.communicator()
                                            : sync::default_communicator();
  if (ranks->size() == 1) {
    check(options);
    const at::Tensor ratio = internal::entropy_ratio(terms, preds, target);
    if (ratio.defined()) return ratio;
  }
  const sync::Call call = internal::call_of(name, options);
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check(options);
    const internal::EntropySums sums =
        internal::entropy_sums(terms, preds, target);
    own = sums.loss;
    return sums.both;
  });
  return sync::replicated(call, own, all[0], call.size())
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
