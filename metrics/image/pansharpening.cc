#include <ATen/ops/atan2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/image/kernels/structural.h"
#include "tally/metrics/image/kernels/windows.h"
#include "tally/metrics/image/quality_with_no_reference.h"
#include "tally/metrics/image/spatial_correlation_coefficient.h"
#include "tally/metrics/image/spatial_distortion_index.h"
#include "tally/metrics/image/spectral_angle_mapper.h"
#include "tally/metrics/image/spectral_distortion_index.h"
#include "tally/metrics/image/states/pixel_scores.h"

namespace tally {

namespace image = internal::image;

namespace {

constexpr double kRight = 1.57079632679489661923;

at::Tensor length(const at::Tensor& spectra) {
  return at::linalg_vector_norm(spectra, 2, {1}, /*keepdim=*/true);
}

at::Tensor spectral_angle(const image::AngleKernel&, image::Tensors images) {
  const at::Tensor& u = images[0];
  const at::Tensor& v = images[1];
  const at::Tensor a = u.mul(length(v)), b = v.mul(length(u));
  const at::Tensor apart = length(a.sub(b)), along = length(a.add(b));
  // Of pixels without a spectrum, whose gradient would be 0 / 0.
  const at::Tensor none =
      apart.detach().eq(0).logical_and(along.detach().eq(0));
  const at::Tensor equal = u.detach().eq(v.detach()).all(1, /*keepdim=*/true);
  const at::Tensor angles = at::atan2(apart, along.masked_fill(none, 1)).mul(2);
  return angles.masked_fill(none, kRight)
      .masked_fill(none.logical_and(equal), 0)
      .mean({1, 2, 3});
}

// Variances below this, relative to the square of the largest value, are
// rounding.
constexpr double kRounding = 1e-22;

// The index of all pairs of channels, [N, C (C - 1) / 2].
at::Tensor likeness(const at::Tensor& images, const image::Taps& taps) {
  std::vector<at::Tensor> rows;
  const std::int64_t channels = images.size(1);
  for (std::int64_t c = 0; c + 1 < channels; ++c) {
    const at::Tensor others = images.narrow(1, c + 1, channels - c - 1);
    rows.push_back(image::universal_index(
        images.narrow(1, c, 1).expand_as(others), others, taps));
  }
  return rows.empty() ? at::zeros({images.size(0), 0}, images.options())
                      : at::cat(rows, 1);
}

// That these are as large as `others`, with as many channels or a single one.
void check_pan(const char* input, const at::Tensor& pan,
               const char* other_input, const at::Tensor& others) {
  image::check_images(input, pan);
  internal::check_same_device(input, pan, other_input, others);
  TORCH_CHECK_VALUE(
      pan.size(0) == others.size(0) && pan.size(2) == others.size(2) &&
          pan.size(3) == others.size(3) &&
          (pan.size(1) == 1 || pan.size(1) == others.size(1)),
      "expected ", input, " of the shape of ", other_input,
      ", or with a single channel, got ", pan.sizes(), " and ", others.sizes());
}

}  // namespace

void SpectralAngle::check(image::Tensors images) const {
  image::check_pairs(images);
  TORCH_CHECK_VALUE(images[0].size(1) >= 2,
                    "expected images of at least 2 channels, got ",
                    images[0].size(1));
}

at::Tensor SpectralAngle::scores(image::Tensors images) const {
  return image::pixel_scores(image::AngleKernel(), &spectral_angle, images);
}

at::Tensor SpectralAngleMapper::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

void SpatialCorrelation::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_extents(images[0], window_size_, window_size_);
}

at::Tensor SpatialCorrelation::scores(image::Tensors images) const {
  const image::Taps taps = image::uniform_taps(window_size_);
  const std::int64_t after = (window_size_ - 1) / 2;
  const std::int64_t before = window_size_ - 1 - after;
  const auto padded = [&](const at::Tensor& values) {
    return at::constant_pad_nd(image::neighbor_differences(values),
                               {before, after, before, after});
  };
  const at::Tensor x = padded(images[0]), y = padded(images[1]);
  const at::Tensor mx = image::windowed(x, taps), my = image::windowed(y, taps);
  const auto covariance = [&](const at::Tensor& a, const at::Tensor& b,
                              const at::Tensor& ma, const at::Tensor& mb) {
    return image::windowed(a.mul(b), taps).sub(ma.mul(mb));
  };
  const at::Tensor xx = covariance(x, x, mx, mx), yy = covariance(y, y, my, my);
  const auto is_constant = [&](const at::Tensor& variance,
                               const at::Tensor& of) {
    const at::Tensor most = of.detach().abs().amax({1, 2, 3}, /*keepdim=*/true);
    return variance.detach().le(most.square().mul(kRounding));
  };
  const at::Tensor none =
      is_constant(xx, images[0]).logical_or(is_constant(yy, images[1]));
  const at::Tensor norm =
      xx.masked_fill(none, 1).sqrt().mul(yy.masked_fill(none, 1).sqrt());
  return image::mean_of_each(
      covariance(x, y, mx, my).div(norm).masked_fill(none, 0), {1, 2, 3});
}

at::Tensor SpatialCorrelationCoefficient::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

void SpectralDistortionIndexOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(p_ >= 1, metric, ": expected p of at least 1, got ", p_);
  UniversalOptions::validate(metric);
}

at::Tensor image::spectral_distortion(const at::Tensor& preds,
                                      const at::Tensor& target,
                                      const Taps& taps, std::int64_t p) {
  return power_mean(likeness(preds, taps).sub(likeness(target, taps)), p);
}

void image::check_bands(const at::Tensor& preds, const char* other_input,
                        const at::Tensor& other, std::int64_t window) {
  check_images("preds", preds);
  check_images(other_input, other);
  check_same_device("preds", preds, other_input, other);
  TORCH_CHECK_VALUE(
      preds.size(0) == other.size(0) && preds.size(1) == other.size(1),
      "expected preds and ", other_input,
      " with as many images and channels, got ", preds.sizes(), " and ",
      other.sizes());
  check_extents(preds, window, window);
  check_extents(other, window, window);
}

void SpectralDistortion::check(image::Tensors images) const {
  image::check_bands(images[0], "target", images[1],
                     static_cast<std::int64_t>(taps_.size()));
}

at::Tensor SpectralDistortion::scores(image::Tensors images) const {
  return image::spectral_distortion(images[0], images[1], taps_, p_);
}

at::Tensor SpectralDistortionIndex::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

void image::SpatialRule::check(Tensors images) const {
  check_bands(images[0], "ms", images[1],
              static_cast<std::int64_t>(taps.size()));
  const at::IntArrayRef large = images[0].sizes(), small = images[1].sizes();
  TORCH_CHECK_VALUE(large[2] % small[2] == 0 && large[3] % small[3] == 0,
                    "expected height and width of preds to be multiples of "
                    "those of ms, got ",
                    large, " and ", small);
  check_pan("pan", images[2], "preds", images[0]);
  if (images.size() > 3) {
    check_pan("pan_lr", images[3], "ms", images[1]);
  } else {
    check_extents(images[1], window_size, window_size);
  }
}

at::Tensor image::SpatialRule::distortion(Tensors images) const {
  const at::Tensor& preds = images[0];
  const at::Tensor& ms = images[1];
  const at::Tensor& pan = images[2];
  at::Tensor low;
  if (images.size() > 3) {
    low = images[3];
  } else {
    const std::int64_t before = window_size / 2;
    low = at::upsample_bilinear2d(
        windowed(mirrored(pan, before, window_size - 1 - before),
                 uniform_taps(window_size)),
        ms.sizes().slice(2), /*align_corners=*/false);
  }
  const at::Tensor in_low = universal_index(ms, low.expand_as(ms), taps);
  const at::Tensor in_high = universal_index(preds, pan.expand_as(preds), taps);
  return power_mean(in_low.sub(in_high), norm_order);
}

at::Tensor SpatialDistortionIndex::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

void QualityWithNoReferenceOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(std::isfinite(alpha_) && alpha_ >= 0, metric,
                    ": expected alpha of at least 0, got ", alpha_);
  TORCH_CHECK_VALUE(std::isfinite(beta_) && beta_ >= 0, metric,
                    ": expected beta of at least 0, got ", beta_);
  SpatialOptions::validate(metric);
}

at::Tensor SharpenedQuality::scores(image::Tensors images) const {
  const at::Tensor spectral = image::spectral_distortion(
      images[0], images[1], rule_.taps, rule_.norm_order);
  const auto part = [](const at::Tensor& distortion, double exponent) {
    // Below 0, two distortions, or an even power, would make a good one.
    const at::Tensor quality = distortion.neg().add(1).clamp_min(0);
    return exponent == 1 ? quality : quality.pow(exponent);
  };
  return part(spectral, alpha_).mul(part(rule_.distortion(images), beta_));
}

at::Tensor QualityWithNoReference::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

template class MetricOf<QualityWithNoReference, FusionScores<SharpenedQuality>,
                        at::Tensor>;
template class MetricOf<SpatialCorrelationCoefficient,
                        ImageScores<SpatialCorrelation>, at::Tensor>;
template class MetricOf<SpatialDistortionIndex, FusionScores<SpatialDistortion>,
                        at::Tensor>;
template class MetricOf<SpectralAngleMapper, ImageScores<SpectralAngle>,
                        at::Tensor>;
template class MetricOf<SpectralDistortionIndex,
                        ImageScores<SpectralDistortion>, at::Tensor>;

}  // namespace tally
