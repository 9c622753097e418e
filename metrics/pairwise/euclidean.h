#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Euclidean distances by products of matrices, which for rows of many columns
/// takes a fraction of the time that differences take.
namespace tally::internal::pairwise {

/// From how many columns on it does.
constexpr std::int64_t kManyColumns = 64;

/// Distances of all rows of x and y, float64. Rows are taken from the first of
/// x, and pairs that are much nearer to each other than to that by their
/// differences, so that nothing cancels.
at::Tensor euclidean_by_products(const at::Tensor& x, const at::Tensor& y);

/// What `gradient` of these distances is for x; 0 at distance 0.
at::Tensor euclidean_backward(const at::Tensor& gradient, const at::Tensor& x,
                              const at::Tensor& y, const at::Tensor& distances);

}  // namespace tally::internal::pairwise
