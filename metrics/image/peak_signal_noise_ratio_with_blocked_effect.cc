#include "tally/metrics/image/peak_signal_noise_ratio_with_blocked_effect.h"

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/image/peak_signal_noise_ratio.h"

namespace tally {

namespace image = internal::image;

namespace {

// Of squared differences of neighbors along a dimension, [N] each, and how many
// there are, counted as Yim and Bovik do.
struct Edges {
  at::Tensor across, within;
  double count_across, count_within;
};

Edges edges(const at::Tensor& images, std::int64_t dim, std::int64_t size) {
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

}  // namespace

void PeakSignalNoiseRatioWithBlockedEffectOptions::validate(
    const char* metric) const {
  image::check_positive(metric, "data_range", data_range_);
  TORCH_CHECK_VALUE(block_size_ >= 2, metric,
                    ": expected block_size of at least 2, got ", block_size_);
}

void BlockedSignal::check(image::Tensors images) const {
  image::check_pairs(images);
  image::check_window(options_.block_size() + 1, images[0]);
  TORCH_CHECK_VALUE(images[0].size(1) == 1,
                    "expected images of a single channel, got ",
                    images[0].size(1));
}

at::Tensor BlockedSignal::scores(image::Tensors images) const {
  const at::Tensor& preds = images[0];
  const Edges x = edges(preds, 3, options_.block_size());
  const Edges y = edges(preds, 2, options_.block_size());
  const at::Tensor difference =
      x.across.add(y.across)
          .div(x.count_across + y.count_across)
          .sub(x.within.add(y.within).div(x.count_within + y.count_within));
  const double weight =
      std::log2(static_cast<double>(options_.block_size())) /
      std::log2(static_cast<double>(std::min(preds.size(2), preds.size(3))));
  const at::Tensor error = preds.sub(images[1]).square().mean({1, 2, 3});
  return image::decibels(error.add(difference.clamp_min(0).mul(weight)),
                         options_.data_range(), /*base=*/10);
}

at::Tensor PeakSignalNoiseRatioWithBlockedEffect::evaluate(
    const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
