#include "tally/losses/gradient_comparison.h"

#include <ATen/ops/real.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tally::losses::internal {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Fit {
  double factor;
  double residual;
};

// `actual` as a multiple of `expected`.
Fit fit(const at::Tensor& actual, const at::Tensor& expected) {
  const double size = norm(expected);
  const at::Tensor product = actual.mul(expected.conj()).sum();
  const double factor = at::real(product).item<double>() / (size * size);
  return {factor, norm(actual.sub(expected.mul(factor))) / size};
}

}  // namespace

double norm(const at::Tensor& tensor) {
  return tensor.abs().square().sum().sqrt().item<double>();
}

GradientComparison::GradientComparison(const std::vector<at::Tensor>& expected,
                                       double tolerance)
    : tolerance_(tolerance) {
  double largest = 0;
  for (const at::Tensor& gradient : expected) {
    if (gradient.defined()) largest = std::max(largest, norm(gradient));
  }
  negligible_ = largest * tolerance / 100;
}

GradientCheck GradientComparison::compare(std::string name,
                                          const at::Tensor& actual,
                                          const at::Tensor& expected) const {
  GradientCheck check{std::move(name), GradientVerdict::kExact, 1, 0, {}};
  const double size = norm(expected);
  if (size <= negligible_) {
    const double found = norm(actual);
    if (found <= negligible_) return check;
    check.verdict = GradientVerdict::kResidual;
    check.factor = kNan;
    check.residual = std::numeric_limits<double>::infinity();
    return check;
  }
  const Fit found = fit(actual, expected);
  check.factor = found.factor;
  check.residual = found.residual;
  if (!(found.residual <= tolerance_)) {
    check.verdict = GradientVerdict::kResidual;
  } else if (std::abs(found.factor - 1) > tolerance_) {
    check.verdict = GradientVerdict::kFactor;
  }
  return check;
}

GradientCheck GradientComparison::compare_rows(
    std::string name, const at::Tensor& actual, const at::Tensor& expected,
    const std::vector<std::int64_t>& rows) const {
  GradientCheck check = compare(std::move(name), actual, expected);
  if (check.verdict != GradientVerdict::kResidual) return check;
  std::vector<double> factors;
  std::int64_t first = 0;
  for (std::int64_t count : rows) {
    const at::Tensor here = expected.narrow(0, first, count);
    factors.push_back(kNan);
    if (count > 0 && norm(here) > negligible_) {
      const Fit found = fit(actual.narrow(0, first, count), here);
      if (!(found.residual <= tolerance_)) return check;
      factors.back() = found.factor;
    }
    first += count;
  }
  check.verdict = GradientVerdict::kFactorPerRank;
  check.rank_factors = std::move(factors);
  return check;
}

}  // namespace tally::losses::internal
