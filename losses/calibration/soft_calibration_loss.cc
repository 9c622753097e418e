#include "tally/losses/calibration/soft_calibration_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "tally/losses/autocast.h"
#include "tally/losses/calibration/confidences.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

void check(const SoftCalibrationLossOptions& options) {
  const char* const name = SoftCalibrationLossImpl::kName;
  internal::check_confidence_options(name, options.mode(), options.input());
  TORCH_CHECK_VALUE(options.num_bins() >= 1, name,
                    ": expected num_bins of at least 1, got ",
                    options.num_bins());
  TORCH_CHECK_VALUE(
      std::isfinite(options.temperature()) && options.temperature() > 0, name,
      ": expected temperature above 0, got ", options.temperature());
  TORCH_CHECK_VALUE(options.norm() == 1 || options.norm() == 2, name,
                    ": expected norm to be 1 or 2, got ", options.norm());
}

/// Of each bin the sums of accuracies, confidences and ones: [3, num_bins].
at::Tensor bins_of(const SoftCalibrationLossOptions& options,
                   const at::Tensor& preds, const at::Tensor& target) {
  const auto [p, accuracy] =
      internal::confidences_of(SoftCalibrationLossImpl::kName, options.mode(),
                               options.input(), preds, target);
  const at::Tensor centers = at::arange(options.num_bins(), p.options())
                                 .add(0.5)
                                 .div(options.num_bins());
  const at::Tensor in_bin = p.unsqueeze(1)
                                .sub(centers)
                                .square()
                                .div(-options.temperature())
                                .softmax(1);
  const auto sum = [&in_bin](const at::Tensor& weight) {
    return in_bin.mul(weight.unsqueeze(1)).sum(0).to(at::kDouble);
  };
  return at::stack({sum(accuracy), sum(p), sum(at::ones_like(accuracy))});
}

}  // namespace

namespace functional {

at::Tensor soft_calibration_loss(const at::Tensor& preds,
                                 const at::Tensor& target,
                                 const SoftCalibrationLossOptions& options) {
  const internal::AutocastOff as_written;
  const sync::Call call =
      internal::call_of(SoftCalibrationLossImpl::kName, options);
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check(options);
    own = bins_of(options, preds, target);
    return own.detach();
  });
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  const auto or_one = [](const at::Tensor& divisor) {
    return at::where(divisor.eq(0), at::ones_like(divisor), divisor);
  };
  // Every sample is in all bins together once.
  const at::Tensor samples = or_one(all[2].sum());
  const at::Tensor difference = sums[0].sub(sums[1]);
  at::Tensor loss;
  if (options.norm() == 1) {
    loss = difference.abs().sum().div(samples);
  } else {
    const at::Tensor square =
        difference.square().div(or_one(sums[2])).sum().div(samples);
    // The root has an infinite slope at 0.
    const at::Tensor is_zero = square.eq(0);
    loss = at::where(is_zero, at::zeros_like(square),
                     at::where(is_zero, at::ones_like(square), square).sqrt());
  }
  return loss.to(sync::accumulate_dtype(preds.scalar_type()));
}

}  // namespace functional

SoftCalibrationLossImpl::SoftCalibrationLossImpl(
    SoftCalibrationLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor SoftCalibrationLossImpl::forward(const at::Tensor& preds,
                                            const at::Tensor& target) {
  return functional::soft_calibration_loss(preds, target, options());
}

}  // namespace tally::losses
