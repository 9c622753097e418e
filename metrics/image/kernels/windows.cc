#include "tally/metrics/image/kernels/windows.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/image/kernels/window_kernels.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::image {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// So many products are worth another thread.
constexpr std::int64_t kProductGrain = 1 << 16;

// Along dimension `dim`; with `backward` the adjoint.
at::Tensor correlate(const at::Tensor& values, const Taps& taps,
                     std::int64_t dim, bool backward) {
  const at::Tensor plain = values.contiguous();
  const auto size = static_cast<std::int64_t>(taps.size());
  std::vector<std::int64_t> sizes = plain.sizes().vec();
  const std::int64_t length = sizes[dim];
  const std::int64_t other = backward ? length + size - 1 : length - size + 1;
  sizes[dim] = other;
  const at::Tensor result = backward ? at::zeros(sizes, plain.options())
                                     : at::empty(sizes, plain.options());
  const std::int64_t outer =
      c10::multiply_integers(plain.sizes().slice(0, dim));
  const std::int64_t step =
      c10::multiply_integers(plain.sizes().slice(dim + 1));
  const double* const from = plain.const_data_ptr<double>();
  double* const to = result.mutable_data_ptr<double>();
  const std::int64_t count = (backward ? length : other) * step;
  at::parallel_for(0, outer, 1 + kProductGrain / (count * size + 1),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       (backward ? spread_taps : add_taps)(
                           from + i * length * step, taps.data(), size, step,
                           count, to + i * other * step);
                     }
                   });
  return result;
}

struct Correlated : Function<Correlated> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values,
                            const Taps& taps, std::int64_t dim, bool backward) {
    context->saved_data["taps"] = taps;
    context->saved_data["dim"] = dim;
    context->saved_data["backward"] = backward;
    return correlate(values.detach(), taps, dim, backward);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    return {apply(gradients[0], context->saved_data["taps"].toDoubleVector(),
                  context->saved_data["dim"].toInt(),
                  !context->saved_data["backward"].toBool()),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor along(const at::Tensor& values, const Taps& taps, std::int64_t dim) {
  if (values.is_cpu()) {
    return values.requires_grad() && at::GradMode::is_enabled()
               ? Correlated::apply(values, taps, dim, false)
               : correlate(values, taps, dim, false);
  }
  const auto size = static_cast<std::int64_t>(taps.size());
  const std::int64_t length = values.size(dim) - size + 1;
  at::Tensor sum = values.narrow(dim, 0, length).mul(taps[0]);
  for (std::int64_t k = 1; k < size; ++k) {
    sum = sum.add(values.narrow(dim, k, length), taps[k]);
  }
  return sum;
}

// Places -before to length + after - 1, each within.
at::Tensor places(const at::Tensor& values, std::int64_t dim,
                  std::int64_t before, std::int64_t after, bool repeats_edge) {
  const std::int64_t length = values.size(dim);
  const at::Tensor all = fresh_tensor({before + length + after}, at::kLong);
  auto* const to = all.mutable_data_ptr<std::int64_t>();
  const std::int64_t edge = repeats_edge ? 1 : 0;
  for (std::int64_t i = -before; i < length + after; ++i) {
    to[i + before] = i < 0        ? -i - edge
                     : i < length ? i
                                  : 2 * (length - 1) - i + edge;
  }
  return all.to(values.device());
}

// Halves round to even, as in Python.
std::int64_t border_of(std::int64_t size) {
  return size / 2 + (size % 4 == 3 ? 1 : 0);
}

}  // namespace

Taps uniform_taps(std::int64_t size) {
  return Taps(static_cast<std::size_t>(size), 1.0 / static_cast<double>(size));
}

Taps gaussian_taps(std::int64_t size, double sigma) {
  Taps taps(static_cast<std::size_t>(size));
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double distance =
        (static_cast<double>(i) - static_cast<double>(size - 1) / 2) / sigma;
    sum += taps[i] = std::exp(-distance * distance / 2);
  }
  for (double& tap : taps) tap /= sum;
  return taps;
}

at::Tensor windowed(const at::Tensor& values, const Taps& taps,
                    std::int64_t dims) {
  at::Tensor result = values;
  for (std::int64_t i = 1; i <= dims; ++i) {
    result = along(result, taps, values.dim() - i);
  }
  return result;
}

at::Tensor mirrored(const at::Tensor& values, std::int64_t before,
                    std::int64_t after) {
  at::Tensor result = values;
  for (const std::int64_t dim : {values.dim() - 2, values.dim() - 1}) {
    result = result.index_select(dim, places(values, dim, before, after, true));
  }
  return result;
}

at::Tensor reflected(const at::Tensor& values, std::int64_t size,
                     std::int64_t dims) {
  at::Tensor result = values;
  for (std::int64_t dim = values.dim() - dims; dim < values.dim(); ++dim) {
    result = result.index_select(dim, places(values, dim, size, size, false));
  }
  return result;
}

at::Tensor zero_padded(const at::Tensor& values, std::int64_t size,
                       std::int64_t dims) {
  return at::constant_pad_nd(
      values,
      std::vector<std::int64_t>(static_cast<std::size_t>(2 * dims), size), 0);
}

at::Tensor is_flat(const at::Tensor& values, std::int64_t size) {
  const at::Tensor plain = values.detach();
  const auto most = [&](const at::Tensor& of) {
    return at::max_pool2d(of, {size, size}, {1, 1});
  };
  return most(plain).eq(most(plain.neg()).neg());
}

at::Tensor root(const at::Tensor& values) {
  if (!values.requires_grad()) return values.sqrt();
  const at::Tensor zero = values.detach().eq(0);
  return values.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
}

at::Tensor neighbor_differences(const at::Tensor& images) {
  if (is_plain(images)) {
    const at::Tensor result = at::empty_like(images);
    const std::int64_t height = images.size(2), width = images.size(3);
    for (std::int64_t i = 0; i < images.size(0) * images.size(1); ++i) {
      write_edges(images.const_data_ptr<double>() + i * height * width, height,
                  width,
                  result.mutable_data_ptr<double>() + i * height * width);
    }
    return result;
  }
  const at::Tensor padded = mirrored(images, 1, 1);
  at::Tensor sum;
  for (const std::int64_t y : {0, 1, 2}) {
    for (const std::int64_t x : {0, 1, 2}) {
      if (y == 1 && x == 1) continue;
      const at::Tensor difference = images.sub(
          padded.narrow(2, y, images.size(2)).narrow(3, x, images.size(3)));
      sum = sum.defined() ? sum.add(difference) : difference;
    }
  }
  return sum.mul(2);
}

at::Tensor inner_means(const at::Tensor& values, std::int64_t size) {
  // Nothing beyond the image is within the windows that are left.
  const std::int64_t border = border_of(size);
  const auto needed = [&](const at::Tensor& of, std::int64_t dim) {
    return of.narrow(dim, border - size / 2,
                     of.size(dim) - 2 * border + size - 1);
  };
  return windowed(needed(needed(values, 2), 3), uniform_taps(size));
}

void check_extents(const at::Tensor& images, std::int64_t least,
                   std::int64_t size, std::int64_t halvings) {
  const at::IntArrayRef extents = images.sizes().slice(2);
  TORCH_CHECK_VALUE(
      *std::min_element(extents.begin(), extents.end()) >= least << halvings,
      "expected images of at least ", least << halvings,
      " pixels in each dimension, for windows of ", size,
      halvings > 0 ? " in the smallest scale" : "", ", got ", images.sizes(),
      ", whose dimension 1 is the channels");
}

void check_pixel_windows(std::int64_t size, const at::Tensor& images) {
  check_extents(images, 2 * border_of(size) + 1, size);
}

}  // namespace tally::internal::image
