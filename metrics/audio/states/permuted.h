#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/audio/states/signal_measure.h"

namespace tally::internal::audio {

/// preds and target [N, ...] to scores [N].
using ScoreFunction = std::function<at::Tensor(const at::Tensor& preds,
                                               const at::Tensor& target)>;

/// A function as a measure; `layout` is kTime if it takes signals one by one,
/// else kChannels.
class FunctionMeasure : public SignalMeasure {
 public:
  FunctionMeasure(ScoreFunction function, Layout layout)
      : function_(std::move(function)), layout_(layout) {}

  Layout layout() const override { return layout_; }
  void check(const Signals&) const override {}
  void score(const Signals& plain, double* scores) const override;
  at::Tensor differentiable(const Signals& signals) const override;

 private:
  at::Tensor scores_of(const Signals& signals) const;

  ScoreFunction function_;
  Layout layout_;
};

/// The best score over all permutations of the speakers of a sample: the mean
/// of a measure over the speakers, or one score of all of them.
class Permuted : public SignalMeasure {
 public:
  Permuted(std::shared_ptr<const SignalMeasure> measure, bool maximize)
      : measure_(std::move(measure)), maximize_(maximize) {}

  Layout layout() const override { return Layout::kSpeakers; }
  void check(const Signals& signals) const override;
  void score(const Signals& plain, double* scores) const override;
  at::Tensor differentiable(const Signals& signals) const override;
  at::Tensor record(const Signals& signals, double* scores) const override;
  std::int64_t count_silent(const Signals& plain) const override;

  /// For each sample, which speaker of preds belongs to each of target, int64
  /// [N, C]; and the scores. REQUIRES: signals.plain().
  at::Tensor permutations(const Signals& plain, double* scores) const;

 private:
  bool is_joint() const { return measure_->layout() == Layout::kChannels; }
  at::Tensor score_pairs(const Signals& plain, double* scores) const;
  at::Tensor score_orders(const Signals& plain, double* scores) const;
  at::Tensor along(const Signals& signals, const at::Tensor& orders) const;

  std::shared_ptr<const SignalMeasure> measure_;
  bool maximize_;
};

/// preds [N, C, ...] with the speakers in the order of int64 [N, C].
at::Tensor permuted(const at::Tensor& preds, const at::Tensor& orders);

}  // namespace tally::internal::audio
