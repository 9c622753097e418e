#include "tally/metrics/shape/lip_vertex_error.h"

#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/plain_values.h"

namespace tally {

namespace {

void check_meshes(const char* input, const at::Tensor& meshes) {
  internal::check_real(input, meshes);
  TORCH_CHECK_VALUE(meshes.dim() == 3 && meshes.size(2) == 3, "expected ",
                    input, " of shape [T, V, 3], got ", meshes.sizes());
}

}  // namespace

void LipVertexErrorOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!mouth_map_.empty(), metric,
                    ": expected at least one vertex in mouth_map, got none");
  const std::int64_t least =
      *std::min_element(mouth_map_.begin(), mouth_map_.end());
  TORCH_CHECK_VALUE(least >= 0, metric,
                    ": expected indexes of 0 or more in mouth_map, got ",
                    least);
}

LipErrors::State LipErrors::observe(const at::Tensor& vertices_pred,
                                    const at::Tensor& vertices_gt) const {
  check_meshes("vertices_pred", vertices_pred);
  check_meshes("vertices_gt", vertices_gt);
  internal::check_same_shape("vertices_pred", vertices_pred, "vertices_gt",
                             vertices_gt);
  const std::int64_t most =
      *std::max_element(mouth_map_.begin(), mouth_map_.end());
  TORCH_CHECK_VALUE(most < vertices_pred.size(1), "expected more than ", most,
                    " vertices, as mouth_map names them, got ",
                    vertices_pred.size(1));
  if (vertices_pred.size(0) == 0) return {};
  const at::Tensor places =
      at::tensor(mouth_map_, at::kLong).to(vertices_pred.device());
  const auto lips = [&](const at::Tensor& vertices) {
    return vertices.index_select(1, places).to(at::kDouble);
  };
  at::Tensor errors =
      lips(vertices_pred).sub(lips(vertices_gt)).square().sum(2).amax(1);
  if (nan_policy_ != NanPolicy::kPropagate) {
    const at::Tensor found = errors.detach().isnan();
    if (found.any().item<bool>()) {
      TORCH_CHECK_VALUE(nan_policy_ != NanPolicy::kError,
                        "expected vertices without NaN, got some in frame ",
                        found.nonzero()[0].item<std::int64_t>());
      errors = errors.index_select(0, found.logical_not().nonzero().squeeze(1));
    }
  }
  const std::int64_t total = errors.size(0);
  if (!internal::is_plain(errors)) return {Number(errors.sum()), total};
  const double* const values = errors.const_data_ptr<double>();
  return {internal::sum_terms(total, [&](std::int64_t i) { return values[i]; }),
          total};
}

at::Tensor LipVertexError::evaluate(const State& state) const {
  return state.sum / Number(state.total);
}

template class MetricOf<LipVertexError, LipErrors, at::Tensor>;

}  // namespace tally
