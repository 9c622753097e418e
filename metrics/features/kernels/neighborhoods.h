#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

/// Which samples are within the distance of a sample's k-th nearest neighbor.
/// Distances that decide are sums in a fixed order, so that no choice depends
/// on the processor or the number of threads; those that cannot decide are
/// skipped by products of matrices in float32, whose error is bounded.
namespace tally::internal::features {

/// Rows [N, D], float64 on the CPU, all finite.
class Points {
 public:
  /// Products are taken of rows less `origin`, [D].
  Points(const at::Tensor& rows, const at::Tensor& origin);

  std::int64_t size() const { return rows_.size(0); }
  /// The squared distance of two rows, in a fixed order.
  static double distance(const Points& a, std::int64_t i, const Points& b,
                         std::int64_t j);
  /// The squared distance of each row to its k-th nearest other row. REQUIRES:
  /// 0 < k < size().
  std::vector<double> radii(std::int64_t k) const;

 private:
  friend class Distances;

  at::Tensor rows_;
  at::Tensor narrow_;          // float32, less the origin
  std::vector<double> norms_;  // squared, of these
};

/// For each generated sample how many real samples have it within their radius,
/// for each real sample whether it has any, and whether it is within the radius
/// of any generated one. Empty where these radii are not given.
struct Neighborhoods {
  std::vector<std::int64_t> real_around;
  std::vector<bool> has_generated;
  std::vector<bool> is_near_generated;
};
Neighborhoods neighborhoods(const Points& real,
                            const std::vector<double>& real_radii,
                            const Points& generated,
                            const std::vector<double>& generated_radii);

}  // namespace tally::internal::features
