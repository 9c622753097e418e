#include "tally/metrics/image/spectral_distortion_index.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <vector>

#include "tally/metrics/checks.h"
#include "tally/metrics/image/kernels/universal_index.h"

namespace tally {

namespace image = internal::image;

namespace {

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

}  // namespace

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
  check_window(window, preds);
  check_window(window, other);
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

}  // namespace tally
