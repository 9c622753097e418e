#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/audio/states/signal_measure.h"

namespace tally::internal::audio {

/// Short-time objective intelligibility.
class ShortTimeIntelligibility : public SignalMeasure {
 public:
  ShortTimeIntelligibility(std::int64_t rate, bool extended)
      : rate_(rate), extended_(extended) {}

  void score(const Signals& plain, double* scores) const override;
  at::Tensor differentiable(const Signals& signals) const override;

 private:
  std::int64_t rate_;
  bool extended_;
};

}  // namespace tally::internal::audio
