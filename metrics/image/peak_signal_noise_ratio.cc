#include "tally/metrics/image/peak_signal_noise_ratio.h"

#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <cmath>
#include <limits>

#include "tally/metrics/checks.h"
#include "tally/metrics/image/kernels/squared_errors.h"

namespace tally {

namespace image = internal::image;

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
      .masked_fill(zero, std::numeric_limits<double>::infinity());
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

}  // namespace tally
