#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/audio/inputs/signals.h"
#include "tally/metrics/audio/kernels/energy_ratio.h"

namespace tally::internal::audio {

/// A score of an estimated signal, or of several that belong together.
class SignalMeasure {
 public:
  virtual ~SignalMeasure() = default;

  /// How its inputs are read.
  virtual Layout layout() const { return Layout::kTime; }
  /// c10::ValueError for channels of other dimensions than the layout's.
  virtual void check(const Signals& signals) const;
  /// The scores of all samples. They do not depend on the number of threads,
  /// nor on the other samples. REQUIRES: signals.plain().
  virtual void score(const Signals& plain, double* scores) const = 0;
  /// The scores [N] as a float64 tensor with a graph.
  virtual at::Tensor differentiable(const Signals& signals) const = 0;
  /// Both.
  virtual at::Tensor record(const Signals& signals, double* scores) const;
  /// How many references are silent. REQUIRES: signals.plain().
  virtual std::int64_t count_silent(const Signals& plain) const;
};

/// The ratio of the energies of reference and error, in decibels.
class EnergyRatio : public SignalMeasure {
 public:
  explicit EnergyRatio(const RatioRule& rule, Layout layout = Layout::kTime)
      : rule_(rule), layout_(layout) {}

  Layout layout() const override { return layout_; }
  void score(const Signals& plain, double* scores) const override;
  at::Tensor differentiable(const Signals& signals) const override;
  at::Tensor record(const Signals& signals, double* scores) const override;
  std::int64_t count_silent(const Signals& plain) const override;

 private:
  class Fused;
  at::Tensor formula(const Signals& signals) const;

  RatioRule rule_;
  Layout layout_;
};

/// How many references are 0 throughout or, with zero_mean, constant.
std::int64_t count_silent(const Signals& plain, bool zero_mean);

/// Less the mean over the last dimension; exactly 0 where all values are equal.
at::Tensor centered(const at::Tensor& signals);

}  // namespace tally::internal::audio
