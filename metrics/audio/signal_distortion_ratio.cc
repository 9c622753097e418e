#include "tally/metrics/audio/signal_distortion_ratio.h"

#include <c10/util/Exception.h>

#include <cmath>

namespace tally {
namespace {

constexpr std::int64_t kLongestFilter = std::int64_t{1} << 20;

}  // namespace

void SignalDistortionRatioOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(filter_length_ >= 1 && filter_length_ <= kLongestFilter,
                    metric, ": expected filter_length from 1 to ",
                    kLongestFilter, ", got ", filter_length_);
  TORCH_CHECK_VALUE(
      !load_diag_ || (*load_diag_ >= 0 && std::isfinite(*load_diag_)), metric,
      ": expected a finite load_diag of at least 0, got ", *load_diag_);
  TORCH_CHECK_VALUE(!clamp_db_ || (*clamp_db_ > 0 && std::isfinite(*clamp_db_)),
                    metric, ": expected a finite clamp_db above 0, got ",
                    *clamp_db_);
}

FilteredDistortionRatio::FilteredDistortionRatio(const Options& options)
    : Distortion({options.filter_length(),
                  {options.zero_mean(), options.load_diag().value_or(0)},
                  options.clamp_db()}) {}

SignalScore SignalDistortionRatio::evaluate(const State& state) const {
  return internal::audio::mean_score(state, options().count_silent());
}

}  // namespace tally
