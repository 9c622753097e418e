#include "tally/metrics/detection/box_overlaps.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/detection/kernels/best_pairs.h"
#include "tally/metrics/detection/kernels/overlap_formulas.h"
#include "tally/sync/reduction.h"

namespace tally {
namespace {

namespace detection = internal::detection;

std::string shape_of(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.toString(), ' ', tensor.sizes())
                          : "an undefined tensor";
}

void check_rows(const char* name, const at::Tensor& boxes) {
  detection::check_boxes(name, boxes);
  TORCH_CHECK_VALUE(boxes.dim() == 2, name, ": expected boxes [N, 4], got ",
                    boxes.sizes());
}

}  // namespace

void internal::detection::check_boxes(const char* name,
                                      const at::Tensor& boxes) {
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

at::Tensor box_overlaps(const at::Tensor& boxes, const at::Tensor& others,
                        BoxOverlap overlap) {
  detection::check_boxes("box_overlaps", boxes);
  detection::check_boxes("box_overlaps", others);
  const at::ScalarType dtype =
      sync::accumulate_dtype(at::result_type(boxes, others));
  return detection::overlaps_of(boxes.to(dtype), others.to(dtype), overlap);
}

at::Tensor box_overlap_matrix(const at::Tensor& boxes, const at::Tensor& others,
                              BoxOverlap overlap) {
  check_rows("box_overlap_matrix", boxes);
  check_rows("box_overlap_matrix", others);
  return box_overlaps(boxes.unsqueeze(1), others, overlap);
}

at::Tensor match_boxes(const at::Tensor& boxes, const at::Tensor& others,
                       BoxOverlap overlap) {
  check_rows("match_boxes", boxes);
  check_rows("match_boxes", others);
  const at::Tensor overlaps =
      box_overlaps(boxes.detach().unsqueeze(1), others.detach(), overlap)
          .to(at::kCPU, at::kDouble)
          .contiguous();
  const double* data = overlaps.const_data_ptr<double>();
  const std::vector<detection::BoxPair> best =
      detection::best_pairs(std::vector<double>(data, data + overlaps.numel()),
                            static_cast<std::size_t>(boxes.size(0)),
                            static_cast<std::size_t>(others.size(0)));
  at::Tensor pairs =
      at::empty({static_cast<std::int64_t>(best.size()), 2}, at::kLong);
  auto* to = pairs.mutable_data_ptr<std::int64_t>();
  for (const detection::BoxPair& pair : best) {
    *to++ = static_cast<std::int64_t>(pair.box);
    *to++ = static_cast<std::int64_t>(pair.other);
  }
  return pairs.to(boxes.device());
}

at::Tensor paired_box_overlap(const at::Tensor& boxes, const at::Tensor& others,
                              BoxOverlap overlap) {
  check_rows("paired_box_overlap", boxes);
  check_rows("paired_box_overlap", others);
  TORCH_CHECK_VALUE(boxes.size(0) == others.size(0),
                    "paired_box_overlap: expected as many boxes as others, "
                    "got ",
                    boxes.size(0), " and ", others.size(0));
  return box_overlaps(boxes, others, overlap).mean();
}

at::Tensor matched_box_overlap(const at::Tensor& boxes,
                               const at::Tensor& others, BoxOverlap overlap) {
  const at::Tensor pairs = match_boxes(boxes, others, overlap);
  return box_overlaps(boxes.index_select(0, pairs.select(1, 0)),
                      others.index_select(0, pairs.select(1, 1)), overlap)
      .mean();
}

}  // namespace tally
