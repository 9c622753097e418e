#include "tally/metrics/image/kernels/squared_errors.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tally/metrics/common/pair_kernels.h"

namespace tally::internal::image {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Values that are added up at a time, fixed so that sums are the same for any
// number of threads.
constexpr std::int64_t kBlock = 1 << 16;

// Of contiguous images.
template <class T>
at::Tensor plain_sums(const at::Tensor& x, const at::Tensor& y) {
  const std::int64_t images = x.size(0), size = x.numel() / images;
  const std::int64_t blocks = (size + kBlock - 1) / kBlock;
  const T* const a = x.const_data_ptr<T>();
  const T* const b = y.const_data_ptr<T>();
  std::vector<double> of_blocks(static_cast<std::size_t>(images * blocks));
  at::parallel_for(0, images * blocks, 1 + kBlock / std::min(size, kBlock),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t first = i % blocks * kBlock;
                       const std::int64_t at = i / blocks * size + first;
                       of_blocks[static_cast<std::size_t>(i)] =
                           regression::squared_error_sum(
                               a + at, b + at, std::min(kBlock, size - first));
                     }
                   });
  at::Tensor sums = at::empty({images}, at::kDouble);
  double* const to = sums.mutable_data_ptr<double>();
  for (std::int64_t n = 0; n < images; ++n) {
    to[n] = 0;
    for (std::int64_t i = 0; i < blocks; ++i) {
      to[n] += of_blocks[static_cast<std::size_t>(n * blocks + i)];
    }
  }
  return sums;
}

at::Tensor sums_of(const at::Tensor& x, const at::Tensor& y) {
  if (!x.is_cpu()) {
    return x.to(at::kDouble).sub(y.to(at::kDouble)).square().flatten(1).sum(1);
  }
  if (x.numel() == 0) return at::empty({0}, at::kDouble);
  const bool is_float =
      x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat;
  const at::ScalarType dtype = is_float ? at::kFloat : at::kDouble;
  const at::Tensor a = x.to(dtype).contiguous(), b = y.to(dtype).contiguous();
  return is_float ? plain_sums<float>(a, b) : plain_sums<double>(a, b);
}

struct SquaredErrors : Function<SquaredErrors> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& y) {
    context->save_for_backward({x, y});
    return sums_of(x.detach(), y.detach());
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &y = saved[1];
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
    sizes[0] = x.size(0);
    // Halves do not hold the difference times the gradient.
    const at::ScalarType together = at::result_type(x, y);
    const at::ScalarType dtype =
        together == at::kFloat || at::isReducedFloatingType(together)
            ? at::kFloat
            : at::kDouble;
    const at::Tensor weights = gradients[0].mul(2).to(dtype).reshape(sizes);
    at::Tensor dx = x.to(dtype).sub(y.to(dtype));
    // With create_graph the difference is part of the graph.
    dx = at::GradMode::is_enabled() ? dx.mul(weights) : dx.mul_(weights);
    variable_list result(2);
    if (context->needs_input_grad(0)) result[0] = dx.to(x.dtype());
    if (context->needs_input_grad(1)) result[1] = dx.neg().to(y.dtype());
    return result;
  }
};

}  // namespace

at::Tensor squared_errors(const at::Tensor& x, const at::Tensor& y) {
  return SquaredErrors::apply(x, y);
}

}  // namespace tally::internal::image
