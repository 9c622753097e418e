#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

/// Building blocks of rank correlations.
namespace tally::internal::regression {

/// The correlation of the ranks of x and y, [N] each, of float32 or float64;
/// equal values get their mean rank. NaN if there is a NaN, for fewer than two
/// samples, and if all values are equal.
double rank_correlation(const at::Tensor& x, const at::Tensor& y);

/// Sums over groups of equal values, t of them in each.
struct Ties {
  double pairs = 0;    // t (t - 1) / 2
  double triples = 0;  // t (t - 1) (t - 2)
  double spread = 0;   // t (t - 1) (2 t + 5)
  std::int64_t distinct = 0;
};

/// Numbers of pairs of samples, by the order of their x and of their y.
struct PairCounts {
  std::int64_t samples = 0;
  double concordant_less_discordant = 0;
  Ties x, y;
};

/// For x and y as above; nothing if there is a NaN. Sorts and counts inversions
/// (Knight 1966), or counts pairs of values if there are few distinct ones.
/// Throws c10::ValueError for 2^32 samples or more.
std::optional<PairCounts> count_pairs(const at::Tensor& x, const at::Tensor& y);

}  // namespace tally::internal::regression
