#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

/// p-values of several tests, adjusted for their number.
namespace tally {

/// Holm's p-values: reject those of at most alpha, and the probability of any
/// false rejection (the family-wise error rate) is at most alpha, whatever the
/// dependence between the tests.
///
///     adjusted of p_(i) = max over j <= i of min(1, (m - j + 1) p_(j))
/// with m p-values in ascending order. Real numbers of any shape; returns
/// float64 of the same shape on the same device. NaN stay NaN and do not count
/// in m; nothing gives nothing. Throws c10::ValueError for an undefined tensor
/// and p-values outside [0, 1], c10::TypeError for complex numbers.
/// Source: Holm 1979; multipletests of statsmodels, method "holm".
///
/// Example:
///     at::Tensor p = holm(at::tensor({0.01, 0.04, 0.03}));  // .03, .06, .06
at::Tensor holm(const at::Tensor& p_values);
std::vector<double> holm(const std::vector<double>& p_values);

/// The same by Hochberg, never larger than Holm's. Controls the family-wise
/// error rate for independent tests, and for those that are positively
/// dependent in the sense of Simes's inequality, such as two-sided tests of
/// positively correlated normal means; not for any dependence.
///
///     adjusted of p_(i) = min over j >= i of (m - j + 1) p_(j)
/// Source: Hochberg 1988; multipletests of statsmodels, "simes-hochberg".
///
/// Example:
///     at::Tensor p = hochberg(at::tensor({0.01, 0.04, 0.03}));
///     // .03, .04, .04
at::Tensor hochberg(const at::Tensor& p_values);
std::vector<double> hochberg(const std::vector<double>& p_values);

/// The same by Benjamini and Hochberg: reject those of at most alpha, and of
/// what is rejected a fraction of at most alpha is expected to be false (the
/// false discovery rate). For independent and positively dependent tests; the
/// family-wise error rate is not controlled.
///
///     adjusted of p_(i) = min over j >= i of min(1, m p_(j) / j)
/// Source: Benjamini and Hochberg 1995; multipletests of statsmodels, "fdr_bh".
///
/// Example:
///     at::Tensor q = benjamini_hochberg(at::tensor({0.01, 0.04, 0.03}));
///     // .03, .04, .04
at::Tensor benjamini_hochberg(const at::Tensor& p_values);
std::vector<double> benjamini_hochberg(const std::vector<double>& p_values);

}  // namespace tally
