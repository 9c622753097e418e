#include "tally/metrics/image/video_peak_signal_noise_ratio.h"

namespace tally {

namespace image = internal::image;

void VideoPeakSignalNoiseRatioOptions::validate(const char* metric) const {
  image::check_positive(metric, "data_range", data_range_);
}

at::Tensor VideoPeakSignalNoiseRatio::evaluate(const State& state) const {
  return image::reduced(state, options().reduction());
}

}  // namespace tally
