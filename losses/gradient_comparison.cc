#include "tally/losses/gradient_comparison.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/real.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/losses/gradient_reference.h"
#include "tally/metrics/common/constants.h"

namespace tally::losses::internal {
namespace {

struct Fit {
  double factor;
  double residual;
};

/// `actual` as a multiple of `expected`, which is not 0.
Fit fit(const at::Tensor& actual, const at::Tensor& expected) {
  const double size = norm_of(expected);
  const at::Tensor direction = expected.div(size), multiple = actual.div(size);
  const double factor =
      at::real(multiple.mul(direction.conj()).sum()).item<double>();
  return {factor, norm_of(multiple.sub(direction.mul(factor)))};
}

/// "NaN", "infinite", or nothing.
std::string not_finite(double norm) {
  return std::isnan(norm) ? "NaN" : std::isinf(norm) ? "infinite" : "";
}

bool is_wrong(const GradientCheck& check) {
  return check.verdict == GradientVerdict::kFactor ||
         check.verdict == GradientVerdict::kResidual;
}

}  // namespace

double norm_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  const at::Tensor sizes = tensor.abs();
  const double largest = sizes.max().item<double>();
  if (largest == 0 || !std::isfinite(largest)) return largest;
  return largest * sizes.div(largest).square().sum().sqrt().item<double>();
}

double rounding_of(at::ScalarType dtype, double tolerance) {
  const double epsilon = dtype == at::kDouble  ? 0x1p-52
                         : dtype == at::kFloat ? 0x1p-23
                         : dtype == at::kHalf  ? 0x1p-10
                                               : 0x1p-7;
  return std::min(64 * epsilon, tolerance / 10);
}

bool same_rows(const std::vector<at::Tensor>& batch,
               const std::vector<std::int64_t>& rows) {
  std::int64_t first = 0, ranks = 0, count = 0;
  for (const std::int64_t here : rows) {
    if (here == 0) continue;
    if (ranks++ == 0) count = here;
    if (here != count) return false;
    for (const at::Tensor& tensor : batch) {
      if (!tensor.narrow(0, first, count).equal(tensor.narrow(0, 0, count))) {
        return false;
      }
    }
    first += count;
  }
  return ranks > 1;
}

GradientComparison::GradientComparison(const std::vector<at::Tensor>& expected,
                                       double tolerance, double rounding)
    : tolerance_(tolerance) {
  double largest = 0;
  for (const at::Tensor& gradient : expected) {
    const double size = gradient.defined() ? norm_of(gradient) : 0;
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  negligible_ = largest * rounding;
}

GradientCheck GradientComparison::compare(std::string name,
                                          const at::Tensor& actual,
                                          const at::Tensor& expected) const {
  GradientCheck check;
  check.name = std::move(name);
  const double size = norm_of(expected), found = norm_of(actual);
  if (!std::isfinite(size) || !std::isfinite(found)) {
    check.verdict = GradientVerdict::kNotFinite;
    check.in_one_process = not_finite(size);
    check.over_ranks = not_finite(found);
    return check;
  }
  if (size == 0 && found == 0) {
    check.verdict = GradientVerdict::kNone;
    return check;
  }
  if (size > 0) {
    const Fit best = fit(actual, expected);
    check.factor = best.factor;
    check.residual = best.residual;
    if (best.residual > tolerance_) {
      check.verdict = GradientVerdict::kResidual;
    } else if (std::abs(best.factor - 1) > tolerance_) {
      check.verdict = GradientVerdict::kFactor;
    } else {
      return check;
    }
  }
  if (norm_of(actual.sub(expected)) <= negligible_) {
    check.verdict = GradientVerdict::kTooSmall;
  } else if (size <= negligible_) {
    check.verdict = GradientVerdict::kResidual;
    check.factor = tally::internal::kNaN;
    check.residual = tally::internal::kInfinity;
  }
  return check;
}

GradientCheck GradientComparison::compare_rows(
    std::string name, const at::Tensor& actual, const at::Tensor& expected,
    const std::vector<std::int64_t>& rows) const {
  GradientCheck check = compare(std::move(name), actual, expected);
  if (check.verdict != GradientVerdict::kExact &&
      check.verdict != GradientVerdict::kResidual) {
    return check;
  }
  std::vector<double> factors;
  std::vector<int> lost;
  bool factor_each = true, any_wrong = false;
  GradientCheck worst = check;
  std::int64_t first = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const GradientCheck here =
        compare(check.name, actual.narrow(0, first, rows[r]),
                expected.narrow(0, first, rows[r]));
    first += rows[r];
    factors.push_back(here.residual <= tolerance_ ? here.factor
                                                  : tally::internal::kNaN);
    if (here.verdict == GradientVerdict::kTooSmall) {
      lost.push_back(static_cast<int>(r));
    }
    if (!is_wrong(here)) continue;
    any_wrong = true;
    factor_each &= here.verdict == GradientVerdict::kFactor;
    if (worst.verdict == GradientVerdict::kExact ||
        here.residual > worst.residual) {
      worst = here;
    }
  }
  if (any_wrong && factor_each) {
    check.verdict = GradientVerdict::kFactorPerRank;
    check.rank_factors = std::move(factors);
  } else if (any_wrong && check.verdict == GradientVerdict::kExact) {
    check = worst;
  }
  check.lost_on_ranks = std::move(lost);
  return check;
}

namespace {

/// Of one element.
double typical(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  return norm_of(tensor) / std::sqrt(static_cast<double>(tensor.numel()));
}

double size_of(const at::Tensor& gradient) {
  return gradient.defined() ? norm_of(gradient) : 0;
}

}  // namespace

ReferenceCheck check_reference(const std::vector<ReferenceGradient>& gradients,
                               double loss) {
  constexpr double kStep = 1e-5;
  // What the loss changes by when something changes as a whole.
  double scale = std::max(0.1, std::abs(loss));
  for (const ReferenceGradient& one : gradients) {
    const double change =
        size_of(one.gradient) * norm_of(one.at.detach().cpu());
    if (std::isfinite(change)) scale = std::max(scale, change);
  }
  ReferenceCheck result;
  std::uint64_t seed = 0;
  for (const ReferenceGradient& one : gradients) {
    if (one.at.scalar_type() != at::kDouble) {
      result.unchecked.push_back(one.name);
      continue;
    }
    const double size = size_of(one.gradient);
    if (!std::isfinite(size)) continue;
    const at::Tensor point = one.at.detach();
    const double spread = typical(point.cpu());
    const at::Tensor direction =
        at::randn(point.sizes(), at::detail::createCPUGenerator(seed++),
                  at::kDouble)
            .mul(spread > 0 ? spread : 1);
    const auto loss_at = [&](double step) {
      return one.loss(point.add(direction.to(point.device()), step));
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    const double expected =
        size == 0 ? 0 : one.gradient.mul(direction).sum().item<double>();
    const double noise = 1e-5 * size * typical(direction) + 1e-9 * scale;
    if (!(std::abs(slope - expected) <= noise)) result.cut.push_back(one.name);
  }
  return result;
}

}  // namespace tally::losses::internal
