#include "tally/losses/boxes/box_overlap_loss.h"

#include <ATen/ops/full_like.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tally/losses/common/autocast.h"
#include "tally/metrics/detection/kernels/overlap_formulas.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

namespace detection = ::tally::internal::detection;
using sync::Call;

/// Of this rank's boxes, float64. Throws c10::ValueError for boxes that are
/// none.
at::Tensor sum_of_losses(const at::Tensor& preds, const at::Tensor& target,
                         BoxOverlap overlap) {
  const char* const name = BoxOverlapLossImpl::kName;
  detection::check_boxes(name, preds);
  detection::check_boxes(name, target);
  TORCH_CHECK_VALUE(preds.dim() == 2 && target.sizes() == preds.sizes() &&
                        target.device() == preds.device(),
                    name, ": expected preds and target of one size [N, 4], ",
                    "got ", preds.sizes(), " and ", target.sizes());
  const at::ScalarType dtype =
      sync::accumulate_dtype(at::result_type(preds, target));
  return at::rsub(
             detection::overlaps_of(preds.to(dtype), target.to(dtype), overlap),
             1)
      .sum()
      .to(at::kDouble);
}

}  // namespace

namespace functional {

at::Tensor box_overlap_loss(const at::Tensor& preds, const at::Tensor& target,
                            const BoxOverlapLossOptions& options) {
  const internal::AutocastOff as_written;
  const auto result_dtype = [&] {
    return sync::accumulate_dtype(at::result_type(preds, target));
  };
  const auto ranks = options.communicator() ? options.communicator()
                                            : sync::default_communicator();
  if (ranks->size() == 1) {
    const at::Tensor sum = sum_of_losses(preds, target, options.overlap());
    return sum.div(std::max<std::int64_t>(preds.size(0), 1)).to(result_dtype());
  }
  const Call call = internal::call_of(BoxOverlapLossImpl::kName, options);
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    const at::Tensor sum = sum_of_losses(preds, target, options.overlap());
    own = at::stack(
        {sum, at::full_like(sum.detach(), static_cast<double>(preds.size(0)))});
    return own.detach();
  });
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  return sums[0].div(all[1].clamp_min(1)).to(result_dtype());
}

}  // namespace functional

BoxOverlapLossImpl::BoxOverlapLossImpl(BoxOverlapLossOptions options)
    : LossModule(std::move(options)) {}

at::Tensor BoxOverlapLossImpl::forward(const at::Tensor& preds,
                                       const at::Tensor& target) {
  return functional::box_overlap_loss(preds, target, options());
}

template class internal::LossModule<BoxOverlapLossImpl, BoxOverlapLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::BoxOverlapLossImpl>;
