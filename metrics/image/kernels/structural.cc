#include "tally/metrics/image/kernels/structural.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>

#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/image/kernels/ssim_kernels.h"

namespace tally::internal::image {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Rows of a band, fixed so that sums are the same for any number of threads.
constexpr std::int64_t kBand = 128;
// So many pixels are worth another thread.
constexpr std::int64_t kPixelGrain = 8192;

at::Tensor plain_planes(const at::Tensor& planes, at::ScalarType dtype) {
  return planes.detach().to(dtype).contiguous();
}

// Contiguous planes on the CPU, float or double.
template <class T>
class Planes {
 public:
  Planes(const at::Tensor& x, const at::Tensor& y)
      : count_(x.size(0)),
        height_(x.size(1)),
        width_(x.size(2)),
        x_(x.const_data_ptr<T>()),
        y_(y.const_data_ptr<T>()),
        shifts_(static_cast<std::size_t>(2 * count_)) {
    at::parallel_for(0, 2 * count_, 1 + 4 * kPixelGrain / size(),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         shifts_[i] = mean(i % 2 ? y_ : x_, i / 2);
                       }
                     });
  }

  std::int64_t height() const { return height_; }
  std::int64_t size() const { return height_ * width_; }
  SsimPlanes<T> operator[](std::int64_t i) const {
    return {x_ + i * size(), y_ + i * size(), height_,
            width_,          shifts_[2 * i],  shifts_[2 * i + 1]};
  }

  // Calls visit(plane, band, begin, end, scratch) for bands of `rows` rows of
  // each plane, on several threads.
  template <class Visit>
  void for_each_band(std::int64_t rows, const Visit& visit) const {
    const std::int64_t bands = bands_of(rows);
    const std::int64_t pixels = std::min(rows, kBand) * width_;
    at::parallel_for(0, count_ * bands, 1 + kPixelGrain / pixels,
                     [&](std::int64_t begin, std::int64_t end) {
                       SsimScratch<T> scratch;
                       for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t row = i % bands * kBand;
                         visit(i / bands, i % bands, row,
                               std::min(rows, row + kBand), scratch);
                       }
                     });
  }
  static std::int64_t bands_of(std::int64_t rows) {
    return (rows + kBand - 1) / kBand;
  }

 private:
  T mean(const T* planes, std::int64_t i) const {
    const T* const values = planes + i * size();
    const double sum = sum_terms(
        size(), [&](std::int64_t k) { return static_cast<double>(values[k]); });
    return static_cast<T>(sum / static_cast<double>(size()));
  }

  std::int64_t count_, height_, width_;
  const T* x_;
  const T* y_;
  std::vector<T> shifts_;
};

SsimWindow window_of(const Taps& taps, const SsimConstants& constants) {
  return {taps.data(), static_cast<std::int64_t>(taps.size()), constants.c1,
          constants.c2, constants.has_flat};
}

at::Tensor composed(const at::Tensor& preds, const at::Tensor& target,
                    const Taps& taps, const SsimConstants& constants);

template <class T>
at::Tensor plain_means(const at::Tensor& x, const at::Tensor& y,
                       const SsimWindow& window) {
  const Planes<T> planes(x, y);
  const std::int64_t rows = x.size(1) - window.size + 1;
  const std::int64_t bands = planes.bands_of(rows);
  std::vector<SsimSums> sums(static_cast<std::size_t>(x.size(0) * bands));
  planes.for_each_band(
      rows, [&](std::int64_t plane, std::int64_t band, std::int64_t begin,
                std::int64_t end, SsimScratch<T>& scratch) {
        sums[plane * bands + band] =
            ssim_rows(planes[plane], window, begin, end, scratch);
      });
  const at::Tensor means = at::empty({x.size(0), 2}, at::kDouble);
  double* const to = means.mutable_data_ptr<double>();
  const auto count = static_cast<double>(rows * (x.size(2) - window.size + 1));
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    SsimSums all;
    for (std::int64_t band = 0; band < bands; ++band) {
      all.similarity += sums[i * bands + band].similarity;
      all.contrast += sums[i * bands + band].contrast;
    }
    to[2 * i] = all.similarity / count;
    to[2 * i + 1] = all.contrast / count;
  }
  return means;
}

// For x, and for y if `both`.
template <class T>
std::pair<at::Tensor, at::Tensor> plain_gradients(const at::Tensor& x,
                                                  const at::Tensor& y,
                                                  const SsimWindow& window,
                                                  const at::Tensor& gradient,
                                                  bool both) {
  const Planes<T> planes(x, y);
  const at::Tensor dx = at::empty_like(x);
  const at::Tensor dy = both ? at::empty_like(y) : at::Tensor();
  T* const to_x = dx.mutable_data_ptr<T>();
  T* const to_y = both ? dy.mutable_data_ptr<T>() : nullptr;
  const at::Tensor plain = gradient.to(at::kDouble).contiguous();
  const double* const weights = plain.const_data_ptr<double>();
  const auto count = static_cast<double>((x.size(1) - window.size + 1) *
                                         (x.size(2) - window.size + 1));
  planes.for_each_band(
      planes.height(), [&](std::int64_t plane, std::int64_t, std::int64_t begin,
                           std::int64_t end, SsimScratch<T>& scratch) {
        const std::int64_t at = plane * planes.size();
        ssim_gradient_rows(
            planes[plane], window,
            {weights[2 * plane] / count, weights[2 * plane + 1] / count}, begin,
            end, scratch, to_x + at, both ? to_y + at : nullptr);
      });
  return {dx, dy};
}

struct Structural : Function<Structural> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& preds,
                            const at::Tensor& target, const Taps& taps,
                            const SsimConstants& constants) {
    context->save_for_backward({preds, target});
    context->saved_data["taps"] = taps;
    context->saved_data["c1"] = constants.c1;
    context->saved_data["c2"] = constants.c2;
    context->saved_data["has_flat"] = constants.has_flat;
    return means_of(preds, target, window_of(taps, constants));
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Taps taps = context->saved_data["taps"].toDoubleVector();
    const SsimConstants constants{context->saved_data["c1"].toDouble(),
                                  context->saved_data["c2"].toDouble(),
                                  context->saved_data["has_flat"].toBool()};
    variable_list result(4);
    const bool of_preds = context->needs_input_grad(0);
    const bool of_target = context->needs_input_grad(1);
    if (at::GradMode::is_enabled()) {  // create_graph
      const at::Tensor means = composed(saved[0], saved[1], taps, constants);
      for (const std::size_t i : {0, 1}) {
        if (!(i == 0 ? of_preds : of_target)) continue;
        result[i] = torch::autograd::grad({means}, {saved[i]}, {gradients[0]},
                                          /*retain_graph=*/true,
                                          /*create_graph=*/true)[0];
      }
      return result;
    }
    const SsimWindow window = window_of(taps, constants);
    // It is the same in both.
    const std::size_t first = of_preds ? 0 : 1;
    const auto [dx, dy] = gradients_of(saved[first], saved[1 - first], window,
                                       gradients[0], of_preds && of_target);
    if (of_preds || of_target) result[first] = dx.to(saved[first].dtype());
    if (of_preds && of_target) result[1] = dy.to(saved[1].dtype());
    return result;
  }

  static at::ScalarType dtype_of(const at::Tensor& x, const at::Tensor& y) {
    const auto is_wide = [](const at::Tensor& planes) {
      return planes.scalar_type() == at::kDouble ||
             planes.scalar_type() == at::kLong ||
             planes.scalar_type() == at::kInt;
    };
    return is_wide(x) || is_wide(y) ? at::kDouble : at::kFloat;
  }

  static at::Tensor means_of(const at::Tensor& x, const at::Tensor& y,
                             const SsimWindow& window) {
    const at::ScalarType dtype = dtype_of(x, y);
    const at::Tensor a = plain_planes(x, dtype), b = plain_planes(y, dtype);
    return dtype == at::kFloat ? plain_means<float>(a, b, window)
                               : plain_means<double>(a, b, window);
  }

  static std::pair<at::Tensor, at::Tensor> gradients_of(
      const at::Tensor& x, const at::Tensor& y, const SsimWindow& window,
      const at::Tensor& gradient, bool both) {
    const at::ScalarType dtype = dtype_of(x, y);
    const at::Tensor a = plain_planes(x, dtype), b = plain_planes(y, dtype);
    return dtype == at::kFloat
               ? plain_gradients<float>(a, b, window, gradient, both)
               : plain_gradients<double>(a, b, window, gradient, both);
  }
};

// With LibTorch's operations.
at::Tensor composed(const at::Tensor& preds, const at::Tensor& target,
                    const Taps& taps, const SsimConstants& constants) {
  const std::int64_t dims = preds.dim() - 1;
  const at::Tensor x = preds.to(at::kDouble), y = target.to(at::kDouble);
  const JointVariances variances = joint_variances(x, y, taps, dims);
  // 1 where `whole`, of which it is 1 less, is nothing.
  const auto one_less = [](const at::Tensor& part, const at::Tensor& whole,
                           double constant, const at::Tensor& nothing) {
    at::Tensor all = part.add(whole).add(2 * constant);
    if (nothing.defined()) all = all.masked_fill(nothing, 1);
    const at::Tensor value = part.mul(-2).div(all).add(1);
    return nothing.defined() ? value.masked_fill(nothing, 1) : value;
  };
  at::Tensor flat, black;
  if (constants.has_flat) {
    const auto size = static_cast<std::int64_t>(taps.size());
    flat = is_flat(x, size).logical_and(is_flat(y, size));
    black = flat;
    for (const at::Tensor& images : {x, y}) {
      black = black.logical_and(images.detach()
                                    .narrow(-2, 0, flat.size(-2))
                                    .narrow(-1, 0, flat.size(-1))
                                    .eq(0));
    }
  }
  const at::Tensor contrast =
      one_less(variances.minus, variances.plus, constants.c2, flat);
  const at::Tensor luminance =
      one_less(windowed(x.sub(y), taps, dims).square(),
               windowed(x.add(y), taps, dims).square(), constants.c1, black);
  return at::stack(
      {luminance.mul(contrast).flatten(1).mean(1), contrast.flatten(1).mean(1)},
      1);
}

}  // namespace

JointVariances joint_variances(const at::Tensor& x, const at::Tensor& y,
                               const Taps& taps, std::int64_t dims) {
  // Any constant would do; this one keeps the digits.
  const auto centered = [&](const at::Tensor& values) {
    const at::Tensor mean =
        values.detach().flatten(values.dim() - dims).mean(-1);
    std::vector<std::int64_t> sizes = mean.sizes().vec();
    sizes.resize(static_cast<std::size_t>(values.dim()), 1);
    return values.sub(mean.reshape(sizes));
  };
  const at::Tensor a = centered(x), b = centered(y);
  const auto variance = [&](const at::Tensor& values) {
    return windowed(values.square(), taps, dims)
        .sub(windowed(values, taps, dims).square());
  };
  return {variance(a.add(b)), variance(a.sub(b))};
}

at::Tensor structural_similarity(const at::Tensor& preds,
                                 const at::Tensor& target, const Taps& taps,
                                 const SsimConstants& constants) {
  if (preds.dim() != 3 || !preds.is_cpu()) {
    return composed(preds, target, taps, constants);
  }
  return Structural::apply(preds, target, taps, constants);
}

at::Tensor universal_index(const at::Tensor& x, const at::Tensor& y,
                           const Taps& taps) {
  return structural_similarity(x.flatten(0, 1), y.flatten(0, 1), taps,
                               {/*c1=*/0, /*c2=*/0, /*has_flat=*/true})
      .select(1, 0)
      .view({x.size(0), x.size(1)});
}

at::Tensor power_mean(const at::Tensor& x, std::int64_t p) {
  if (x.size(-1) == 0)
    return at::zeros(x.sizes().slice(0, x.dim() - 1), x.options());
  if (p == 1) return x.abs().mean(-1);
  const at::Tensor mean = x.abs().pow(p).mean(-1);
  const at::Tensor zero = mean.detach().eq(0);
  return mean.masked_fill(zero, 1)
      .pow(1 / static_cast<double>(p))
      .masked_fill(zero, 0);
}

}  // namespace tally::internal::image
