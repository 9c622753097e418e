#include "tally/metrics/image/kernels/windows.h"

#include <ATen/Dispatch.h>
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

// How a dimension is continued by its own values.
struct Continuation {
  std::int64_t dim, before, after;
  // Whether the outermost values come again at once.
  bool repeats_edge;

  std::int64_t added() const { return before + after; }
  // Which value stands at place i from -before on.
  std::int64_t place(std::int64_t i, std::int64_t length) const {
    const std::int64_t edge = repeats_edge ? 1 : 0;
    return i < 0 ? -i - edge : i < length ? i : 2 * (length - 1) - i + edge;
  }
};

// With `backward` the adjoint: values that came several times are added up.
at::Tensor continue_plain(const at::Tensor& values, const Continuation& rule,
                          bool backward) {
  const at::Tensor plain = values.contiguous();
  std::vector<std::int64_t> sizes = plain.sizes().vec();
  const std::int64_t outer =
      c10::multiply_integers(plain.sizes().slice(0, rule.dim));
  const std::int64_t step =
      c10::multiply_integers(plain.sizes().slice(rule.dim + 1));
  const std::int64_t length = sizes[rule.dim] - (backward ? rule.added() : 0);
  const std::int64_t row = length * step, long_row = row + rule.added() * step;
  sizes[rule.dim] = length + (backward ? 0 : rule.added());
  const at::Tensor result = at::empty(sizes, plain.options());
  AT_DISPATCH_FLOATING_TYPES(plain.scalar_type(), "continued", [&] {
    const auto* const from = plain.const_data_ptr<scalar_t>();
    auto* const to = result.mutable_data_ptr<scalar_t>();
    // Calls visit(offset in the row, offset in the long one) for what is added.
    const auto for_each_added = [&](const auto& visit) {
      const auto at_place = [&](std::int64_t i) {
        visit(rule.place(i, length) * step, (rule.before + i) * step);
      };
      for (std::int64_t i = -rule.before; i < 0; ++i) at_place(i);
      for (std::int64_t i = 0; i < rule.after; ++i) at_place(length + i);
    };
    const auto continue_row = [&](const scalar_t* own, scalar_t* out) {
      std::copy_n(own, row, out + rule.before * step);
      for_each_added([&](std::int64_t source, std::int64_t target) {
        std::copy_n(own + source, step, out + target);
      });
    };
    const auto add_row = [&](const scalar_t* gradient, scalar_t* out) {
      std::copy_n(gradient + rule.before * step, row, out);
      for_each_added([&](std::int64_t target, std::int64_t source) {
        for (std::int64_t k = 0; k < step; ++k) {
          out[target + k] += gradient[source + k];
        }
      });
    };
    at::parallel_for(0, outer, 1 + kProductGrain / long_row,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         backward
                             ? add_row(from + i * long_row, to + i * row)
                             : continue_row(from + i * row, to + i * long_row);
                       }
                     });
  });
  return result;
}

struct Continued : Function<Continued> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values,
                            std::int64_t dim, std::int64_t before,
                            std::int64_t after, bool repeats_edge,
                            bool backward) {
    context->saved_data["dim"] = dim;
    context->saved_data["before"] = before;
    context->saved_data["after"] = after;
    context->saved_data["repeats_edge"] = repeats_edge;
    context->saved_data["backward"] = backward;
    return continue_plain(values.detach(), {dim, before, after, repeats_edge},
                          backward);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    auto& saved = context->saved_data;
    return {apply(gradients[0], saved["dim"].toInt(), saved["before"].toInt(),
                  saved["after"].toInt(), saved["repeats_edge"].toBool(),
                  !saved["backward"].toBool()),
            at::Tensor(),
            at::Tensor(),
            at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }
};

at::Tensor continued(const at::Tensor& values, const Continuation& rule) {
  if (rule.added() == 0) return values;
  const std::int64_t length = values.size(rule.dim);
  TORCH_INTERNAL_ASSERT(
      std::max(rule.before, rule.after) < length + (rule.repeats_edge ? 1 : 0),
      "the mirror image of ", length, " values is too short");
  const at::ScalarType type = values.scalar_type();
  if (values.is_cpu() && (type == at::kFloat || type == at::kDouble)) {
    return values.requires_grad() && at::GradMode::is_enabled()
               ? Continued::apply(values, rule.dim, rule.before, rule.after,
                                  rule.repeats_edge, false)
               : continue_plain(values, rule, false);
  }
  const at::Tensor places = fresh_tensor({length + rule.added()}, at::kLong);
  auto* const to = places.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    to[i] = rule.place(i - rule.before, length);
  }
  return values.index_select(rule.dim, places.to(values.device()));
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
    result = continued(result, {dim, before, after, /*repeats_edge=*/true});
  }
  return result;
}

at::Tensor reflected(const at::Tensor& values, std::int64_t size,
                     std::int64_t dims) {
  at::Tensor result = values;
  for (std::int64_t dim = values.dim() - dims; dim < values.dim(); ++dim) {
    result = continued(result, {dim, size, size, /*repeats_edge=*/false});
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
