#include "tally/losses/boxes/box_overlap_loss.h"

#include <ATen/ops/full_like.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/stack.h>

#include <utility>

#include "tally/losses/common/autocast.h"
#include "tally/metrics/detection/kernels/overlap_formulas.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

namespace detection = ::tally::internal::detection;
using sync::Call;

}  // namespace

namespace functional {

at::Tensor box_overlap_loss(const at::Tensor& preds, const at::Tensor& target,
                            const BoxOverlapLossOptions& options) {
  const internal::AutocastOff as_written;
  const char* const name = BoxOverlapLossImpl::kName;
  const Call call = internal::call_of(name, options);
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    detection::check_boxes(name, preds);
    detection::check_boxes(name, target);
    TORCH_CHECK_VALUE(preds.dim() == 2 && target.sizes() == preds.sizes() &&
                          target.device() == preds.device(),
                      name, ": expected preds and target of one size [N, 4], ",
                      "got ", preds.sizes(), " and ", target.sizes());
    const at::ScalarType dtype =
        sync::accumulate_dtype(at::result_type(preds, target));
    const at::Tensor sum =
        detection::overlaps_of(preds.to(dtype), target.to(dtype),
                               options.overlap())
            .neg()
            .add(1)
            .sum()
            .to(at::kDouble);
    own = at::stack(
        {sum, at::full_like(sum.detach(), static_cast<double>(preds.size(0)))});
    return own.detach();
  });
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  return sums[0]
      .div(all[1].clamp_min(1))
      .to(sync::accumulate_dtype(at::result_type(preds, target)));
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
