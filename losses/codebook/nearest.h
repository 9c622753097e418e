#pragma once

#include <ATen/core/Tensor.h>

namespace tally::losses::internal {

/// The number of the code nearest to each token: [n] int64, from [n, d] and
/// [codes, d], both float32 or both float64, without a graph. `cosine`: of the
/// largest product, else of the least distance; the lowest number of equals.
/// Products with all codes are taken of as many tokens at a time as fit in
/// 16 MB.
///
/// The answer depends on the token and the codes alone, not on the batch that
/// the token is part of, on threads, the processor or the device. What is
/// compared are float64 sums of fixed order without fused multiply-add
/// (`distance` and `product` in nearest.cc). Only codes that might win are: a
/// product of matrices, whose rounding depends on all of the above, rules the
/// others out.
///
/// Proof. With unit roundoff u, g(k) = k u / (1 - k u), a sum of d products
/// differs in any order, with or without fused multiply-add, from the exact one
/// by at most g(d) sum |t_k c_k| <= g(d) |t| |c| (Higham, Accuracy and
/// Stability of Numerical Algorithms, 3.1; Cauchy-Schwarz). With s = <t, c> -
/// |c|^2 / 2, |t - c|^2 = |t|^2 - 2 s. Rounding |c|^2 / 2 and the difference
/// adds two roundings: the computed s is off by at most e = g(d + 2) (|t| |c| +
/// |c|^2 / 2), plus what underflows. The compared distances D are off by at
/// most g'(d + 3) D, g' being g of float64, so that the winner w and any other
/// code b have D_w <= D_b (1 + 3 g'), that is s_w >= s_b - 1.5 g' D_b. Hence
/// computed s_w >= computed s_b - e_w - e_b - 1.5 g' D_b, where b is the code
/// with the largest computed s; all codes that fulfil this are compared.
///
/// A token with a NaN or an infinity gets code 0. A code with a NaN is nearest
/// to all, as for at::argmin, one with an infinity to none.
at::Tensor nearest(const at::Tensor& tokens, const at::Tensor& codes,
                   bool cosine);

/// The same, of tokens on any device: what is not certain by ATen's operations
/// there is decided by nearest() on the CPU.
at::Tensor nearest_by_device(const at::Tensor& tokens, const at::Tensor& codes,
                             bool cosine);

}  // namespace tally::losses::internal
