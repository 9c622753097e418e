#include "tally/losses/soft_order/soft_spearman_loss.h"

#include <ATen/ops/_unique2.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/shape_text.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

using sync::Call;

void check_spearman(const SoftSpearmanLossOptions& options) {
  TORCH_CHECK_VALUE(std::isfinite(options.strength()) && options.strength() > 0,
                    SoftSpearmanLossImpl::kName,
                    ": expected strength above 0, got ", options.strength());
}

void check_inputs(const at::Tensor& preds, const at::Tensor& target) {
  const char* const name = SoftSpearmanLossImpl::kName;
  TORCH_CHECK_VALUE(preds.defined() && preds.layout() == at::kStrided &&
                        preds.is_floating_point(),
                    name, ": expected preds of a floating dtype, got ",
                    internal::shape_text(preds));
  TORCH_CHECK_VALUE(
      target.defined() && target.layout() == at::kStrided &&
          !target.is_complex() && target.sizes() == preds.sizes() &&
          target.device() == preds.device(),
      name, ": expected target of real numbers of size ", preds.sizes(), " on ",
      preds.device(), ", got ", internal::shape_text(target));
  TORCH_CHECK_VALUE(!target.requires_grad(), name,
                    ": expected target that requires no gradient; detach() it");
}

/// Less their mean; equal values have the mean of their ranks.
at::Tensor centered_ranks(const at::Tensor& values) {
  const auto [distinct, of_value, counts] =
      at::_unique2(values, /*sorted=*/true, /*return_inverse=*/true,
                   /*return_counts=*/true);
  const at::Tensor number = counts.to(at::kDouble);
  return number.cumsum(0)
      .sub(number.sub(1).div(2))
      .index_select(0, of_value)
      .sub((static_cast<double>(values.numel()) + 1) / 2);
}

/// Of all ranks' samples.
at::Tensor loss_of(const SoftSpearmanLossOptions& options,
                   const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor nan = target.isnan().any();
  const at::Tensor y = centered_ranks(target.nan_to_num(0));
  const at::Tensor ranks = functional::soft_rank(
      preds.to(at::kDouble), SoftRankOptions()
                                 .penalty(options.penalty())
                                 .strength(options.strength())
                                 .relative(options.relative()));
  const at::Tensor x = ranks.sub((static_cast<double>(preds.numel()) + 1) / 2);
  const at::Tensor squares = x.square().sum().mul(y.square().sum());
  const at::Tensor constant = squares.detach().eq(0);
  const at::Tensor loss =
      x.mul(y)
          .sum()
          .masked_fill(constant, 0)
          .div(at::where(constant, at::ones_like(squares), squares).sqrt())
          .neg()
          .add(y.any());
  return loss.masked_fill(nan, std::nan(""));
}

}  // namespace

namespace functional {

at::Tensor soft_spearman_loss(const at::Tensor& preds, const at::Tensor& target,
                              const SoftSpearmanLossOptions& options) {
  const internal::AutocastOff as_written;
  const Call call = internal::call_of(SoftSpearmanLossImpl::kName, options);
  const internal::RankRows rows =
      internal::agree_on_rows(call, [&] {
        check_spearman(options);
        check_inputs(preds, target);
        return internal::RowOffer{
            preds.numel(),
            c10::str(preds.scalar_type(), " and ", target.scalar_type()),
            /*has_graph=*/false};
      }).rows;
  return sync::or_give_up(*call.communicator, [&] {
    const at::ScalarType dtype = sync::accumulate_dtype(preds.scalar_type());
    const at::Tensor own = preds.to(dtype).flatten();
    const at::Tensor targets =
        internal::all_rows(call, rows, target.flatten().to(at::kDouble));
    return internal::loss_of_rows(call, rows, own, [&](const at::Tensor& all) {
      if (all.numel() == 0) {
        return at::zeros({}, all.options().requires_grad(false));
      }
      return loss_of(options, all, targets).to(dtype);
    });
  });
}

}  // namespace functional

SoftSpearmanLossImpl::SoftSpearmanLossImpl(SoftSpearmanLossOptions options)
    : LossModule(std::move(options)) {
  check_spearman(this->options());
}

at::Tensor SoftSpearmanLossImpl::forward(const at::Tensor& preds,
                                         const at::Tensor& target) {
  return functional::soft_spearman_loss(preds, target, options());
}

template class internal::LossModule<SoftSpearmanLossImpl,
                                    SoftSpearmanLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::SoftSpearmanLossImpl>;
