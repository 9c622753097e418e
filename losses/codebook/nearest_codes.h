#pragma once

#include <ATen/core/Tensor.h>

namespace tally::losses::internal {

/// The index of the code nearest to each token: [n] int64, from [n, d] and
/// [codes, d], both float32 or both float64, without a graph. With `cosine`,
/// the code with the largest product, otherwise with the smallest distance;
/// ties go to the lowest index. Products with all codes are computed for as
/// many tokens at a time as fit in 16 MB.
///
/// The result depends only on the token and the codes, not on the rest of the
/// batch, threads, processor or device. Comparisons use float64 sums in a fixed
/// order without fused multiply-add (`distance` and `product` in nearest.cc).
/// They are made only for candidates: a matrix product, whose rounding depends
/// on all of the above, rules out the other codes.
///
/// Proof. With unit roundoff u, g(k) = k u / (1 - k u), a sum of d products
/// differs in any order, with or without fused multiply-add, from the exact one
/// by at most g(d) sum |t_k c_k| <= g(d) |t| |c| (Higham, Accuracy and
/// Stability of Numerical Algorithms, 3.1; Cauchy-Schwarz). With s = <t, c> -
/// |c|^2 / 2, |t - c|^2 = |t|^2 - 2 s. Rounding |c|^2 / 2 and the difference
/// adds two roundings: the computed s is off by at most e = g(d + 2) (|t| |c| +
/// |c|^2 / 2), plus underflow. The compared distances D are off by at most g'(d
/// + 3) D, g' being g of float64, so that the winner w and any other code b
/// have D_w <= D_b (1 + 3 g'), that is s_w >= s_b - 1.5 g' D_b. Hence computed
/// s_w >= computed s_b - e_w - e_b - 1.5 g' D_b, where b is the code with the
/// largest computed s; all codes that satisfy this are compared.
///
/// A token with NaN or infinity gets code 0. A code with NaN is nearest to all
/// tokens, as in at::argmin, one with infinity to none.
at::Tensor nearest(const at::Tensor& tokens, const at::Tensor& codes,
                   bool cosine);

/// The same for tokens on any device: choices that ATen's operations there
/// leave uncertain are made by nearest() on the CPU.
at::Tensor nearest_by_device(const at::Tensor& tokens, const at::Tensor& codes,
                             bool cosine);

}  // namespace tally::losses::internal
