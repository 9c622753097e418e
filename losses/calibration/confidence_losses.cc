#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/losses/calibration/confidences.h"
#include "tally/losses/calibration/mmce_loss.h"
#include "tally/losses/calibration/soft_calibration_loss.h"
#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/metrics/common/constants.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {

Confidences confidences_of(const std::string& loss, LabelMode mode,
                           ScoreKind input, const at::Tensor& preds,
                           const at::Tensor& target) {
  check_labels(loss, mode, {}, preds, target);
  const bool binary = mode == LabelMode::kBinary;
  TORCH_CHECK_VALUE(!target.is_floating_point() &&
                        (binary || target.dim() + 1 == preds.dim()),
                    loss, ": expected target of integers, a class for each ",
                    "sample, got ", target.toString(), ' ', target.sizes());
  const std::int64_t classes = binary ? 2 : preds.size(1);
  const at::Tensor labels = target.flatten();
  const at::Tensor wrong =
      labels.masked_select(labels.lt(0).logical_or(labels.ge(classes)));
  TORCH_CHECK_VALUE(wrong.numel() == 0, loss,
                    ": expected target to be a class below ", classes, ", got ",
                    wrong[0].item<std::int64_t>());

  const bool logits = input == ScoreKind::kLogits;
  const at::Tensor p = in_dtype_of_losses(preds);
  if (binary) {
    return {(logits ? p.sigmoid() : p).flatten(), labels.to(p.scalar_type())};
  }
  const at::Tensor of_classes =
      (logits ? p.softmax(1) : p).movedim(1, -1).reshape({-1, classes});
  const at::Tensor best = of_classes.detach().argmax(1, /*keepdim=*/true);
  return {of_classes.gather(1, best).squeeze(1),
          best.squeeze(1).eq(labels).to(p.scalar_type())};
}

void check_confidence_options(const std::string& loss, LabelMode mode,
                              ScoreKind input) {
  TORCH_CHECK_VALUE(mode != LabelMode::kMultilabel, loss,
                    ": expected mode to be binary or multiclass, got "
                    "multilabel");
  TORCH_CHECK_VALUE(input != ScoreKind::kScores, loss,
                    ": expected input to be probabilities or logits, got "
                    "scores");
}

}  // namespace tally::losses::internal

namespace tally::losses {
namespace {

using internal::Confidences;
using sync::Call;

void check_mmce(const MMCELossOptions& options) {
  const char* const name = MMCELossImpl::kName;
  internal::check_confidence_options(name, options.mode(), options.input());
  TORCH_CHECK_VALUE(
      std::isfinite(options.bandwidth()) && options.bandwidth() > 0, name,
      ": expected bandwidth above 0, got ", options.bandwidth());
}

/// The sum over pairs of errors, weighted by the kernel, and its derivatives by
/// confidences.
struct PairSum {
  double value;
  std::vector<double> slopes;
};

/// Samples in ascending order of confidences; `error` is accuracy less
/// confidence. Equal confidences have a kernel of 1, and of slope 0.
PairSum pair_sum(const std::vector<double>& confidence,
                 const std::vector<double>& error, double bandwidth) {
  const std::size_t count = confidence.size();
  PairSum result{0, std::vector<double>(count)};
  // Of each sample: errors times the kernel of those below, of its equals, and
  // of those above.
  std::vector<double> below(count), equal(count);
  std::size_t begin = 0;
  double before = 0, of_group = 0;
  const auto kernel = [&](std::size_t low, std::size_t high) {
    return std::exp((confidence[low] - confidence[high]) / bandwidth);
  };
  for (std::size_t end = 0; begin < count; begin = end) {
    if (begin > 0) before = (before + of_group) * kernel(begin - 1, begin);
    of_group = 0;
    for (end = begin; end < count && confidence[end] == confidence[begin];
         ++end) {
      of_group += error[end];
    }
    std::fill(below.begin() + begin, below.begin() + end, before);
    std::fill(equal.begin() + begin, equal.begin() + end, of_group);
  }
  double above = 0;
  for (std::size_t i = count; i > 0; --i) {
    const std::size_t k = i - 1;
    if (i < count && confidence[k] != confidence[i]) {
      above = (above + equal[i]) * kernel(k, i);
    }
    const double all = below[k] + equal[k] + above;
    result.value += error[k] * all;
    result.slopes[k] = 2 * (error[k] * (above - below[k]) / bandwidth - all);
  }
  return result;
}

/// The squared loss of all samples, and its derivatives: [M], float64.
struct SquaredLoss {
  double value;
  at::Tensor gradient;
};

SquaredLoss squared_loss(const at::Tensor& all, double bandwidth) {
  const at::Tensor confidence = all.select(1, 0).to(at::kDouble).cpu();
  const at::Tensor accuracy = all.select(1, 1).to(at::kDouble).cpu();
  if (confidence.isnan().any().item<bool>()) {
    constexpr double nan = tally::internal::kNaN;
    return {nan, at::full_like(confidence, nan)};
  }
  const auto [sorted, order] =
      at::sort(confidence, /*stable=*/true, 0, /*descending=*/false);
  const at::Tensor errors =
      accuracy.index_select(0, order).sub(sorted).contiguous();
  const auto vector_of = [](const at::Tensor& numbers) {
    const auto* const data = numbers.const_data_ptr<double>();
    return std::vector<double>(data, data + numbers.numel());
  };
  const PairSum sum =
      pair_sum(vector_of(sorted.contiguous()), vector_of(errors), bandwidth);
  const double scale =
      1 / static_cast<double>(all.size(0)) / static_cast<double>(all.size(0));
  at::Tensor gradient = at::empty(confidence.sizes(), confidence.options());
  auto* const to = gradient.mutable_data_ptr<double>();
  const auto* const place = order.const_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < sum.slopes.size(); ++i) {
    to[place[i]] = sum.slopes[i] * scale;
  }
  // It is positive definite, rounding is not.
  return {std::max(0.0, sum.value * scale), gradient};
}

}  // namespace

namespace functional {

at::Tensor mmce_loss(const at::Tensor& preds, const at::Tensor& target,
                     const MMCELossOptions& options) {
  const internal::AutocastOff as_written;
  const char* const name = MMCELossImpl::kName;
  const Call call = internal::call_of(name, options);
  Confidences own;
  const internal::RankRows rows =
      internal::agree_on_rows(call, [&] {
        check_mmce(options);
        own = internal::confidences_of(name, options.mode(), options.input(),
                                       preds, target);
        return internal::RowOffer{own.confidence.size(0),
                                  c10::str(own.confidence.scalar_type()),
                                  /*has_graph=*/false};
      }).rows;
  return sync::or_give_up(*call.communicator, [&] {
    const at::Tensor all = internal::all_rows(
        call, rows, at::stack({own.confidence.detach(), own.accuracy}, 1));
    SquaredLoss loss{0, at::full_like(all.select(1, 0), 0.0)};
    if (rows.total() > 0) loss = squared_loss(all, options.bandwidth());
    double slope = 1;
    if (!options.squared()) {
      loss.value = std::sqrt(loss.value);
      // The root has an infinite slope at 0.
      slope = loss.value == 0 ? 0 : 0.5 / loss.value;
    }
    const at::Tensor gradient =
        loss.gradient.narrow(0, rows.before(call.rank()), rows.of(call.rank()))
            .mul(slope)
            .to(own.confidence.options());
    return internal::replicated_value(
        call,
        at::scalar_tensor(loss.value,
                          own.confidence.options().requires_grad(false)),
        {internal::differentiable_once(call, own.confidence,
                                       "are not supported")},
        {gradient});
  });
}

}  // namespace functional

MMCELossImpl::MMCELossImpl(MMCELossOptions options)
    : LossModule(std::move(options)) {
  check_mmce(this->options());
}

at::Tensor MMCELossImpl::forward(const at::Tensor& preds,
                                 const at::Tensor& target) {
  return functional::mmce_loss(preds, target, options());
}

namespace {

void check_soft_calibration(const SoftCalibrationLossOptions& options) {
  const char* const name = SoftCalibrationLossImpl::kName;
  internal::check_confidence_options(name, options.mode(), options.input());
  TORCH_CHECK_VALUE(options.n_bins() >= 1, name,
                    ": expected n_bins of at least 1, got ", options.n_bins());
  TORCH_CHECK_VALUE(
      std::isfinite(options.temperature()) && options.temperature() > 0, name,
      ": expected temperature above 0, got ", options.temperature());
  TORCH_CHECK_VALUE(options.norm() == 1 || options.norm() == 2, name,
                    ": expected norm to be 1 or 2, got ", options.norm());
}

/// Of each bin the sums of accuracies, confidences and ones: [3, n_bins].
at::Tensor bins_of(const SoftCalibrationLossOptions& options,
                   const at::Tensor& preds, const at::Tensor& target) {
  const auto [p, accuracy] =
      internal::confidences_of(SoftCalibrationLossImpl::kName, options.mode(),
                               options.input(), preds, target);
  const at::Tensor centers =
      at::arange(options.n_bins(), p.options()).add(0.5).div(options.n_bins());
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
    check_soft_calibration(options);
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
  check_soft_calibration(this->options());
}

at::Tensor SoftCalibrationLossImpl::forward(const at::Tensor& preds,
                                            const at::Tensor& target) {
  return functional::soft_calibration_loss(preds, target, options());
}

template class internal::LossModule<MMCELossImpl, MMCELossOptions>;
template class internal::LossModule<SoftCalibrationLossImpl,
                                    SoftCalibrationLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::MMCELossImpl>;
template class torch::nn::Cloneable<tally::losses::SoftCalibrationLossImpl>;
