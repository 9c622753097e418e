#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/common/scratch.h"

namespace tally::internal::classification {

/// The samples of a binary problem with weights, in a form of ScoreCounts:
/// positives and negatives are sums of weights. The sums of for_each, added in
/// its order, are bit-identical to positives() and negatives().
class WeightedScores {
 public:
  /// Codes are as in RankedScores; samples of weight 0 are also ignored. Sample
  /// i has weights[i / columns]. Empty if a score is NaN, or a weight is below
  /// 0, infinite or NaN.
  static std::optional<WeightedScores> of(const float* scores,
                                          const std::uint8_t* codes,
                                          const double* weights,
                                          std::int64_t count,
                                          std::int64_t columns);
  static std::optional<WeightedScores> of(const double* scores,
                                          const std::uint8_t* codes,
                                          const double* weights,
                                          std::int64_t count,
                                          std::int64_t columns);
  /// The same for tensors [N] of any dtype and device, sorted there, with one
  /// weight each.
  static std::optional<WeightedScores> of(const at::Tensor& scores,
                                          const at::Tensor& codes,
                                          const at::Tensor& weights);
  /// From a float64 histogram as in BucketedScores.
  static std::optional<WeightedScores> of(const at::Tensor& histogram,
                                          std::int64_t curve);

  double negatives() const { return negatives_; }
  double positives() const { return positives_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t i = 0; i < size_; ++i) {
      visit(steps_[i].score, steps_[i].positives, steps_[i].negatives);
    }
  }

 private:
  // The totals of samples with the same score.
  struct Step {
    double score;
    double positives;
    double negatives;
  };

  // With capacity for steps.
  explicit WeightedScores(std::int64_t steps) : steps_(steps) {}
  void set_totals(double positives, double negatives) {
    positives_ = positives;
    negatives_ = negatives;
  }
  template <class Score>
  static std::optional<WeightedScores> of_samples(const Score* scores,
                                                  const std::uint8_t* codes,
                                                  const double* weights,
                                                  std::int64_t count,
                                                  std::int64_t columns);
  // Scores must be added highest first.
  void add(double score, double positives, double negatives);
  // If the totals are finite.
  std::optional<WeightedScores> finished() &&;

  Scratch<Step> steps_;
  std::int64_t size_ = 0;
  double positives_ = 0;
  double negatives_ = 0;
};

}  // namespace tally::internal::classification
