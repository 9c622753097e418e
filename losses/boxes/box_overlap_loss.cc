#include "tally/losses/boxes/box_overlap_loss.h"

#include <ATen/ops/atan2.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <string>
#include <utility>

#include "tally/losses/autocast.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

using sync::Call;

constexpr double kPi = 3.14159265358979323846;

std::string shape_of(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.toString(), ' ', tensor.sizes())
                          : "an undefined tensor";
}

void check_boxes(const char* name, const at::Tensor& boxes) {
  TORCH_CHECK_VALUE(boxes.defined() && boxes.layout() == at::kStrided &&
                        boxes.is_floating_point() && boxes.dim() >= 1 &&
                        boxes.size(-1) == 4,
                    name,
                    ": expected boxes of size [..., 4] and a floating dtype, "
                    "got ",
                    shape_of(boxes));
  const at::Tensor flat = boxes.detach().reshape({-1, 4});
  const at::Tensor wrong =
      flat.narrow(1, 2, 2).lt(flat.narrow(1, 0, 2)).any(1).nonzero().squeeze(1);
  TORCH_CHECK_VALUE(
      wrong.numel() == 0, name,
      ": expected boxes [left, top, right, bottom] of width and height at "
      "least 0, but box ",
      wrong.numel() == 0 ? 0 : wrong[0].item<std::int64_t>(), " is not");
}

/// Left, top, right and bottom, or lengths of sides, [...] each.
struct Sides {
  at::Tensor x, y;
};

/// a / b; 0, with zero gradients, where b is 0.
at::Tensor ratio(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor none = b.detach().eq(0);
  return at::where(none, at::zeros_like(b.detach()),
                   a.div(at::where(none, at::ones_like(b.detach()), b)));
}

Sides first_corner(const at::Tensor& boxes) {
  return {boxes.select(-1, 0), boxes.select(-1, 1)};
}
Sides last_corner(const at::Tensor& boxes) {
  return {boxes.select(-1, 2), boxes.select(-1, 3)};
}
Sides lengths(const Sides& first, const Sides& last) {
  return {last.x.sub(first.x), last.y.sub(first.y)};
}

/// The angle of the diagonal; 0, with zero gradients, for a point.
at::Tensor aspect(const Sides& sides) {
  const at::Tensor none =
      sides.x.detach().eq(0).logical_and(sides.y.detach().eq(0));
  const at::Tensor one = at::ones_like(sides.y.detach());
  return at::where(none, at::zeros_like(one),
                   at::atan2(sides.x, at::where(none, one, sides.y)));
}

at::Tensor overlaps(const at::Tensor& a, const at::Tensor& b,
                    BoxOverlap overlap) {
  const Sides first_a = first_corner(a), last_a = last_corner(a);
  const Sides first_b = first_corner(b), last_b = last_corner(b);
  const Sides of_a = lengths(first_a, last_a), of_b = lengths(first_b, last_b);
  const Sides common = lengths(
      {at::maximum(first_a.x, first_b.x), at::maximum(first_a.y, first_b.y)},
      {at::minimum(last_a.x, last_b.x), at::minimum(last_a.y, last_b.y)});
  const at::Tensor intersection =
      common.x.clamp_min(0).mul(common.y.clamp_min(0));
  const at::Tensor all =
      of_a.x.mul(of_a.y).add(of_b.x.mul(of_b.y)).sub(intersection);
  const at::Tensor iou = ratio(intersection, all);
  if (overlap == BoxOverlap::kIoU) return iou;

  const Sides around = lengths(
      {at::minimum(first_a.x, first_b.x), at::minimum(first_a.y, first_b.y)},
      {at::maximum(last_a.x, last_b.x), at::maximum(last_a.y, last_b.y)});
  if (overlap == BoxOverlap::kGIoU) {
    const at::Tensor area = around.x.mul(around.y);
    return iou.sub(ratio(area.sub(all), area));
  }
  const auto twice_apart = [](const at::Tensor& low_a, const at::Tensor& high_a,
                              const at::Tensor& low_b,
                              const at::Tensor& high_b) {
    return low_a.add(high_a).sub(low_b).sub(high_b);
  };
  const at::Tensor distance =
      twice_apart(first_a.x, last_a.x, first_b.x, last_b.x)
          .square()
          .add(twice_apart(first_a.y, last_a.y, first_b.y, last_b.y).square())
          .div(4);
  const at::Tensor diou =
      iou.sub(ratio(distance, around.x.square().add(around.y.square())));
  if (overlap == BoxOverlap::kDIoU) return diou;

  const at::Tensor difference =
      aspect(of_b).sub(aspect(of_a)).square().mul(4 / (kPi * kPi));
  const at::Tensor weight =
      ratio(difference, iou.neg().add(1).add(difference)).detach();
  return diou.sub(weight.mul(difference));
}

}  // namespace

namespace functional {

at::Tensor box_overlaps(const at::Tensor& boxes, const at::Tensor& others,
                        BoxOverlap overlap) {
  const internal::AutocastOff as_written;
  check_boxes("box_overlaps", boxes);
  check_boxes("box_overlaps", others);
  const at::ScalarType dtype =
      sync::accumulate_dtype(at::result_type(boxes, others));
  return overlaps(boxes.to(dtype), others.to(dtype), overlap);
}

at::Tensor box_overlap_loss(const at::Tensor& preds, const at::Tensor& target,
                            const BoxOverlapLossOptions& options) {
  const internal::AutocastOff as_written;
  const char* const name = BoxOverlapLossImpl::kName;
  const Call call = internal::call_of(name, options);
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check_boxes(name, preds);
    check_boxes(name, target);
    TORCH_CHECK_VALUE(preds.dim() == 2 && target.sizes() == preds.sizes() &&
                          target.device() == preds.device(),
                      name, ": expected preds and target of one size [N, 4], ",
                      "got ", preds.sizes(), " and ", target.sizes());
    const at::ScalarType dtype =
        sync::accumulate_dtype(at::result_type(preds, target));
    const at::Tensor sum =
        overlaps(preds.to(dtype), target.to(dtype), options.overlap())
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

}  // namespace tally::losses
