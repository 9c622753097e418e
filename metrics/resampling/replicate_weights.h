#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/options.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/metrics/resampling/sample_ids.h"

namespace tally {

/// The distribution of replicate weights, both of mean 1 and variance 1.
enum class WeightKind {
  kPoisson,          ///< Poisson(1), from 16 random bits
  kDoubleOrNothing,  ///< 0 or 2, from one random bit (Owen and Eckles 2012)
};

template <>
struct EnumNames<WeightKind> {
  static constexpr const char* kNames[] = {"poisson", "double_or_nothing"};
};

/// Weights of samples in bootstrap replicates: a function of seed, sample id
/// and number of the replicate alone, and therefore the same for any order of
/// rows, split over ranks, batch size and process.
///
/// Random words are those of Philox4x32-10 with the halves of the seed as key
/// and (block, stream, low half of the id, high half) as counter. Poisson
/// weights are in stream 0: weight r takes the 16 bits r % 8 (the lowest first)
/// of the 128 in block r / 8, and is the number of thresholds that they reach:
/// 24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535, the cumulative
/// probabilities in 1/65536. The others are in stream 1: weight r is 2 if bit
/// r % 128 of block r / 128 is set.
///
/// Errors: c10::ValueError unless there is at least one replicate.
///
/// Example:
///     ReplicateWeights weights(/*seed=*/0, WeightKind::kPoisson, 1000);
///     at::Tensor of_rows = weights(SampleIds(at::arange(5)));  // [5, 1000]
class ReplicateWeights {
 public:
  ReplicateWeights(std::int64_t seed, WeightKind kind, std::int64_t replicates);

  std::int64_t replicates() const { return replicates_; }
  WeightKind kind() const { return kind_; }

  /// uint8 [rows, replicates].
  at::Tensor operator()(const SampleIds& ids) const;

  /// The length of a row below: at least replicates().
  std::int64_t stride() const;
  /// Writes a row of weights for each of `count` ids: [count, stride()].
  void fill(const std::int64_t* ids, std::int64_t count,
            std::uint8_t* weights) const;
  /// Adds the sums of the weights of `count` ids to sums [stride()].
  void add(const std::int64_t* ids, std::int64_t count,
           std::uint32_t* sums) const;

 private:
  internal::intervals::PhiloxNumbers numbers_;
  WeightKind kind_;
  std::int64_t replicates_;
};

}  // namespace tally
