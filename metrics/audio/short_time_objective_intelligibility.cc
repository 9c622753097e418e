#include "tally/metrics/audio/short_time_objective_intelligibility.h"

#include <c10/util/Exception.h>

namespace tally {
namespace {

constexpr std::int64_t kHighestRate = 384000;

}  // namespace

void ShortTimeObjectiveIntelligibilityOptions::validate(
    const char* metric) const {
  TORCH_CHECK_VALUE(fs_ >= 1 && fs_ <= kHighestRate, metric,
                    ": expected a sampling rate fs from 1 to ", kHighestRate,
                    ", got ", fs_);
}

SignalScore ShortTimeObjectiveIntelligibility::evaluate(
    const State& state) const {
  return internal::audio::mean_score(state, options().count_silent());
}

}  // namespace tally
