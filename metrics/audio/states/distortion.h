#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "tally/metrics/audio/kernels/coherence.h"
#include "tally/metrics/audio/states/signal_measure.h"

namespace tally::internal::audio {

/// How a coherence becomes decibels.
struct DistortionRule {
  std::int64_t filter_length = 512;
  CoherenceRule coherence;
  std::optional<double> clamp_db;
};

/// The ratio of what a filter explains of an estimate to the rest, in decibels.
class Distortion : public SignalMeasure {
 public:
  explicit Distortion(const DistortionRule& rule)
      : rule_(rule),
        correlator_(std::make_shared<Correlator>(rule.filter_length)) {}

  void score(const Signals& plain, double* scores) const override;
  at::Tensor differentiable(const Signals& signals) const override;
  at::Tensor record(const Signals& signals, double* scores) const override;
  std::int64_t count_silent(const Signals& plain) const override;

 private:
  DistortionRule rule_;
  std::shared_ptr<const Correlator> correlator_;
};

/// The same of float64 signals [N, T] in tensor operations, the equations
/// solved densely: as a definition, and for gradients of gradients.
at::Tensor distortion_by_solving(const at::Tensor& preds,
                                 const at::Tensor& target,
                                 const DistortionRule& rule);

}  // namespace tally::internal::audio
