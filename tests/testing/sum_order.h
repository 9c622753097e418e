#pragma once

#include <cstdint>

namespace tally::testkit {

/// While one of these exists, LibTorch's CPU kernels add up in other orders
/// than their own, as on processors of another make. The order follows from the
/// seed and
///
/// * of products of matrices and vectors: from the place in the result, the
///   sizes, the number of threads and the thread;
/// * of sums, norms and variances: from the sizes and, where LibTorch uses
///   several threads (from 32768 numbers on, outside of at::parallel_for), from
///   their number.
///
/// Decompositions of matrices and Fourier transforms, whose sums are not at
/// hand, get inputs that differ in the last bit, by the same rules as products.
///
/// The same calls give the same bits. What is promised to be bit-identical for
/// any number of threads, or any split, must stay so; everything else may
/// change by rounding only.
///
/// All of LibTorch's calls go through its dispatcher, where this takes the
/// place of the CPU kernels; products that code of our own adds up do not
/// change. Programs that are linked with this read a seed from TALLY_SUM_ORDER
/// when they start, if it is set. Create it where no other thread computes.
class SumOrder {
 public:
  /// REQUIRES: seed > 0.
  explicit SumOrder(std::uint64_t seed);
  ~SumOrder();
  SumOrder(const SumOrder&) = delete;
  SumOrder& operator=(const SumOrder&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace tally::testkit
