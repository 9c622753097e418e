#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tally/losses/codebook/nearest.h"
#include "tally/losses/codebook/nearest_bound.h"

namespace tally::losses::internal {

at::Tensor nearest_by_device(const at::Tensor& tokens, const at::Tensor& codes,
                             bool cosine) {
  const at::NoTF32Guard no_tf32;
  const NearestBound bound(codes.scalar_type(), codes.is_cpu(), codes.size(1),
                           cosine);
  const auto lengths = [](const at::Tensor& vectors) {
    return vectors.to(at::kDouble).square().sum(-1).sqrt();
  };
  const at::Tensor of_codes = lengths(codes);
  const at::Tensor half_squares =
      of_codes.square().div(2).to(codes.scalar_type());
  const double longest = of_codes.max().item<double>();
  const std::int64_t at_once = std::max<std::int64_t>(
      1, kProductBytesAtOnce / (codes.size(0) * codes.element_size()));
  std::vector<at::Tensor> found, doubtful;
  for (const at::Tensor& piece : tokens.split(at_once)) {
    at::Tensor values = piece.matmul(codes.t());
    if (!cosine) values.sub_(half_squares);
    const auto [best, code] = values.max(1, /*keepdim=*/true);
    values.scatter_(1, code, -std::numeric_limits<double>::infinity());
    const at::Tensor size = lengths(piece);
    const at::Tensor lead =
        best.squeeze(1).to(at::kDouble).sub(values.amax(1).to(at::kDouble));
    const at::Tensor sure =
        lead.gt(bound.error(size, longest) * 2 + bound.blur(size, longest))
            .logical_and(bound.holds(size, longest));
    found.push_back(code.squeeze(1));
    doubtful.push_back(sure.logical_not());
  }
  if (found.empty()) {
    return at::empty({0}, tokens.options().dtype(at::kLong));
  }
  at::Tensor indices = at::cat(found);
  const at::Tensor rows = at::cat(doubtful).nonzero().squeeze(1);
  if (rows.numel() > 0) {
    indices.index_copy_(
        0, rows,
        nearest(tokens.index_select(0, rows).cpu(), codes.cpu(), cosine)
            .to(indices.device()));
  }
  return indices;
}

}  // namespace tally::losses::internal
