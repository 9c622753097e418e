#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/image/error_relative_global_dimensionless_synthesis.h"
#include "tally/metrics/image/kernels/squared_errors.h"
#include "tally/metrics/image/kernels/windows.h"
#include "tally/metrics/image/peak_signal_noise_ratio.h"
#include "tally/metrics/image/peak_signal_noise_ratio_with_blocked_effect.h"
#include "tally/metrics/image/relative_average_spectral_error.h"
#include "tally/metrics/image/root_mean_squared_error_using_sliding_window.h"
#include "tally/metrics/image/states/pixel_scores.h"
#include "tally/metrics/image/video_peak_signal_noise_ratio.h"

namespace tally {

namespace image = internal::image;

namespace {

// Of squared differences of neighbors along a dimension, [N] each, and how many
// there are, counted as Yim and Bovik do.
struct Edges {
  at::Tensor across, within;
  double count_across, count_within;
};

Edges edges_along(const at::Tensor& images, std::int64_t dim,
                  std::int64_t size) {
  const std::int64_t steps = images.size(dim) - 1;
  const at::Tensor squares =
      images.narrow(dim, 1, steps).sub(images.narrow(dim, 0, steps)).square();
  const at::Tensor across =
      squares.slice(dim, size - 1, c10::nullopt, size).sum({1, 2, 3});
  const auto length = static_cast<double>(images.size(dim));
  const auto lines = static_cast<double>(images.size(5 - dim));
  const double count = lines * (length / static_cast<double>(size)) - 1;
  return {across, squares.sum({1, 2, 3}).sub(across), count,
          lines * (length - 1) - count};
}

at::Tensor blocked_signal(const image::BlockedKernel& kernel,
                          image::Tensors images) {
  const at::Tensor& preds = images[0];
  const Edges x = edges_along(preds, 3, kernel.block_size);
  const Edges y = edges_along(preds, 2, kernel.block_size);
  const at::Tensor difference =
      x.across.add(y.across)
          .div(x.count_across + y.count_across)
          .sub(x.within.add(y.within).div(x.count_within + y.count_within));
  const double weight =
      std::log2(static_cast<double>(kernel.block_size)) /
      std::log2(static_cast<double>(std::min(preds.size(2), preds.size(3))));
  const at::Tensor error = preds.sub(images[1]).square().mean({1, 2, 3});
  return image::decibels(error.add(difference.clamp_min(0).mul(weight)),
                         kernel.data_range, /*base=*/10);
}

at::Tensor relative_global_error(const image::RelativeErrorKernel& kernel,
                                 image::Tensors images) {
  const at::Tensor squares = images[0].sub(images[1]).square().mean({2, 3});
  const at::Tensor means = images[1].mean({2, 3});
  return image::root(squares.div(means.square()).mean(1))
      .mul(100 / kernel.ratio);
}

}  // namespace

void PeakSignalNoiseRatioOptions::validate(const char* metric) const {
  image::check_positive(metric, "data_range", data_range_);
  TORCH_CHECK_VALUE(std::isfinite(base_) && base_ > 1, metric,
                    ": expected base above 1, got ", base_);
}

at::Tensor image::decibels(const at::Tensor& error, double data_range,
                           double base) {
  const at::Tensor zero = error.detach().eq(0);
  const double factor = 10 / std::log(base);
  return error.masked_fill(zero, 1)
      .log()
      .neg()
      .add(2 * std::log(data_range))
      .mul(factor)
      .masked_fill(zero, internal::kInfinity);
}

void image::PeakSignal::check(Tensors images) const {
  check_real("preds", images[0]);
  check_real("target", images[1]);
  check_same_shape("preds", images[0], "target", images[1]);
  const at::IntArrayRef sizes = images[0].sizes();
  TORCH_CHECK_VALUE(
      !sizes.empty() && c10::multiply_integers(sizes.slice(1)) > 0,
      "expected preds and target of shape [N, ...], all but N at least 1, got ",
      sizes);
  // Channels of an image without a batch would be taken for images.
  TORCH_CHECK_VALUE(!options_.per_image() || sizes.size() >= 4,
                    "expected preds and target of shape [N, C, H, W] or "
                    "[N, C, D, H, W] with per_image, got ",
                    sizes, "; one image is [1, C, H, W]: preds.unsqueeze(0)");
}

at::Tensor image::PeakSignal::scores(Tensors images) const {
  const at::Tensor errors = squared_errors(images[0], images[1]);
  if (!options_.per_image()) return errors;
  const std::int64_t size = c10::multiply_integers(images[0].sizes().slice(1));
  return decibels(errors.div(size), options_.data_range(), options_.base());
}

ImageScoresState PeakSignalErrors::observe(const at::Tensor& preds,
                                           const at::Tensor& target) const {
  State state = image::observe_images(measure_, {preds, target}, rules_);
  if (!per_image_) {
    state.total *= c10::multiply_integers(preds.sizes().slice(1));
  }
  return state;
}

at::Tensor PeakSignalNoiseRatio::evaluate(const State& state) const {
  if (options().per_image()) {
    return image::reduced(state, options().reduction());
  }
  const Number error = state.sum / Number(state.total);
  return image::decibels(error.tensor(), options().data_range(),
                         options().base());
}

void VideoPeakSignalNoiseRatioOptions::validate(const char* metric) const {
  image::check_positive(metric, "data_range", data_range_);
}

at::Tensor VideoPeakSignalNoiseRatio::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

void PeakSignalNoiseRatioWithBlockedEffectOptions::validate(
    const char* metric) const {
  image::check_positive(metric, "data_range", data_range_);
  TORCH_CHECK_VALUE(block_size_ >= 2, metric,
                    ": expected block_size of at least 2, got ", block_size_);
}

void BlockedSignal::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_extents(images[0], options_.block_size() + 1,
                       options_.block_size());
  TORCH_CHECK_VALUE(images[0].size(1) == 1,
                    "expected images of a single channel, got ",
                    images[0].size(1));
}

at::Tensor BlockedSignal::scores(image::Tensors images) const {
  return image::pixel_scores(
      image::BlockedKernel{options_.block_size(), options_.data_range()},
      &blocked_signal, images);
}

at::Tensor PeakSignalNoiseRatioWithBlockedEffect::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

void SlidingError::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_pixel_windows(window_size_, images[0]);
}

at::Tensor SlidingError::scores(image::Tensors images) const {
  return image::mean_of_each(
      image::root(
          image::inner_means(images[0].sub(images[1]).square(), window_size_)),
      {1, 2, 3});
}

at::Tensor RootMeanSquaredErrorUsingSlidingWindow::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

void ErrorRelativeGlobalDimensionlessSynthesisOptions::validate(
    const char* metric) const {
  image::check_positive(metric, "ratio", ratio_);
}

void RelativeGlobalError::check(image::Tensors images) const {
  image::check_pairs(images);
}

at::Tensor RelativeGlobalError::scores(image::Tensors images) const {
  return image::pixel_scores(image::RelativeErrorKernel{ratio_},
                             &relative_global_error, images);
}

at::Tensor ErrorRelativeGlobalDimensionlessSynthesis::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

void AverageSpectralError::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_pixel_windows(window_size_, images[0]);
}

at::Tensor AverageSpectralError::scores(image::Tensors images) const {
  const auto means = [&](const at::Tensor& values) {
    return image::mean_of_each(image::inner_means(values, window_size_), 1);
  };
  return image::mean_of_each(
      image::root(means(images[0].sub(images[1]).square()))
          .div(means(images[1]).abs())
          .mul(100),
      {1, 2});
}

at::Tensor RelativeAverageSpectralError::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

template class MetricOf<ErrorRelativeGlobalDimensionlessSynthesis,
                        ImageScores<RelativeGlobalError>, at::Tensor>;
template class MetricOf<PeakSignalNoiseRatio, PeakSignalErrors, at::Tensor>;
template class MetricOf<PeakSignalNoiseRatioWithBlockedEffect,
                        ImageScores<BlockedSignal>, at::Tensor>;
template class MetricOf<RelativeAverageSpectralError,
                        ImageScores<AverageSpectralError>, at::Tensor>;
template class MetricOf<RootMeanSquaredErrorUsingSlidingWindow,
                        ImageScores<SlidingError>, at::Tensor>;
template class MetricOf<VideoPeakSignalNoiseRatio, FrameScores<FramePeakSignal>,
                        at::Tensor>;

}  // namespace tally
