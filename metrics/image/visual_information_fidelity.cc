#include "tally/metrics/image/visual_information_fidelity.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include "tally/metrics/image/kernels/windows.h"

namespace tally {

namespace image = internal::image;

namespace {

constexpr std::int64_t kLeast = 41;
constexpr double kEpsilon = 1e-10;

at::Tensor luma_of(const at::Tensor& images) {
  const at::Tensor weights =
      at::tensor({0.299, 0.587, 0.114}, images.options());
  return images.mul(weights.reshape({1, 3, 1, 1})).sum({1}, /*keepdim=*/true);
}

// Every other pixel.
at::Tensor halved(const at::Tensor& images) {
  return images.slice(2, c10::nullopt, c10::nullopt, 2)
      .slice(3, c10::nullopt, c10::nullopt, 2);
}

struct Information {
  at::Tensor preds, target;  // [N, C]
  at::Tensor varies;         // whether preds do, bool
};

Information information(const at::Tensor& preds, const at::Tensor& target,
                        const image::Taps& taps, double noise) {
  const auto covariance = [&](const at::Tensor& a, const at::Tensor& b) {
    return image::windowed(a.mul(b), taps)
        .sub(image::windowed(a, taps).mul(image::windowed(b, taps)));
  };
  const at::Tensor tt = covariance(target, target).clamp_min(0);
  const at::Tensor pp = covariance(preds, preds).clamp_min(0);
  const at::Tensor tp = covariance(target, preds);
  const at::Tensor no_target = tt.detach().lt(kEpsilon);
  const at::Tensor no_preds = pp.detach().lt(kEpsilon);
  const at::Tensor gain = tp.div(tt.add(kEpsilon));
  const at::Tensor opposed = gain.detach().lt(0);
  const at::Tensor unlike = no_target.logical_or(opposed);
  const at::Tensor rest = pp.where(unlike, pp.sub(gain.mul(tp)))
                              .masked_fill(no_preds, 0)
                              .clamp_min(kEpsilon);
  const at::Tensor kept = gain.masked_fill(unlike.logical_or(no_preds), 0);
  const at::Tensor source = tt.masked_fill(no_target, 0);
  return {kept.square().mul(source).div(rest.add(noise)).log1p().sum({2, 3}),
          source.div(noise).log1p().sum({2, 3}),
          no_preds.logical_not().flatten(2).any(2)};
}

}  // namespace

void VisualInformationFidelityOptions::validate(const char* metric) const {
  image::check_positive(metric, "data_range", data_range_);
  image::check_positive(metric, "sigma_n_sq", sigma_n_sq_);
}

void VisualInformation::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_window(kLeast, images[0]);
  TORCH_CHECK_VALUE(!options_.luma() || images[0].size(1) == 3,
                    "expected images of 3 channels for luma, got ",
                    images[0].size(1));
}

at::Tensor VisualInformation::scores(image::Tensors images) const {
  const auto prepared = [&](const at::Tensor& images_of) {
    const at::Tensor channels =
        options_.luma() ? luma_of(images_of) : images_of;
    const at::Tensor scaled = channels.mul(255 / options_.data_range());
    // Variances do not change, and keep their digits.
    return scaled.sub(scaled.detach().mean({2, 3}, /*keepdim=*/true));
  };
  at::Tensor preds = prepared(images[0]), target = prepared(images[1]);
  Information sums{at::zeros({}, preds.options()),
                   at::zeros({}, preds.options()),
                   at::zeros({}, preds.options().dtype(at::kBool))};
  for (const std::int64_t size : {17, 9, 5, 3}) {
    const image::Taps taps =
        image::gaussian_taps(size, static_cast<double>(size) / 5);
    if (size < 17) {
      preds = halved(image::windowed(preds, taps));
      target = halved(image::windowed(target, taps));
    }
    const Information more =
        information(preds, target, taps, options_.sigma_n_sq());
    sums.preds = sums.preds.add(more.preds);
    sums.target = sums.target.add(more.target);
    sums.varies = sums.varies.logical_or(more.varies);
  }
  const at::Tensor none = sums.target.detach().eq(0);
  return sums.preds.div(sums.target.masked_fill(none, 1))
      .masked_fill(none, 1)
      .masked_fill(none.logical_and(sums.varies), 0)
      .mean(1);
}

at::Tensor VisualInformationFidelity::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
