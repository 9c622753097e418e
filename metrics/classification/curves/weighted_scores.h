#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/kernels/scratch.h"

namespace tally::internal::classification {

/// The samples of a binary problem with their weights, as the forms of
/// ScoreCounts have them: positives and negatives are sums of weights. The sums
/// that for_each says, added in its order, are positives() and negatives() to
/// the bit.
class WeightedScores {
 public:
  /// Codes are as in RankedScores; samples of weight 0 do not count either.
  /// Sample i has weights[i / columns]. Empty if a score is NaN, or a weight is
  /// below 0, infinite or NaN.
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
  /// The same of tensors [N] of any dtype and device, sorted there; a weight
  /// for each.
  static std::optional<WeightedScores> of(const at::Tensor& scores,
                                          const at::Tensor& codes,
                                          const at::Tensor& weights);
  /// Of a float64 histogram as BucketedScores have it.
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
  // What samples of the same score have together.
  struct Step {
    double score;
    double positives;
    double negatives;
  };

  // With room for steps.
  explicit WeightedScores(std::int64_t steps) : steps_(steps) {}
  template <class Score>
  static std::optional<WeightedScores> of_samples(const Score* scores,
                                                  const std::uint8_t* codes,
                                                  const double* weights,
                                                  std::int64_t count,
                                                  std::int64_t columns);
  // Scores come highest first.
  void add(double score, double positives, double negatives);
  // With their totals, if they are numbers.
  std::optional<WeightedScores> finished() &&;

  Scratch<Step> steps_;
  std::int64_t size_ = 0;
  double positives_ = 0;
  double negatives_ = 0;
};

}  // namespace tally::internal::classification
