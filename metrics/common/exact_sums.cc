#include "tally/metrics/common/exact_sums.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/constants.h"

namespace tally::internal {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kFractions = 3;
constexpr std::size_t kPlusInfinities = 4;
constexpr std::size_t kMinusInfinities = 5;
constexpr std::size_t kNaNs = 6;
constexpr int kBits = 32;
constexpr double kBase = 4294967296.0;

// The value of the finite terms.
double fixed_point_value(const std::int64_t* sum) {
  // As digits of 32 bits below a whole number.
  std::int64_t digits[1 + kFractions];
  std::copy_n(sum, 1 + kFractions, digits);
  const auto carry = [&] {
    for (std::size_t i = kFractions; i > 0; --i) {
      digits[i - 1] += digits[i] >> kBits;
      digits[i] &= 0xFFFFFFFF;
    }
  };
  carry();
  const bool is_negative = digits[0] < 0;
  if (is_negative) {
    for (std::int64_t& digit : digits) digit = -digit;
    carry();
  }
  // 128 bits from the first that may be set; those below only break ties.
  const auto wide = [&](std::size_t i) { return static_cast<Wide>(digits[i]); };
  const bool is_small = digits[0] == 0;
  const std::size_t first = is_small ? 1 : 0;
  Wide bits =
      wide(first) << 2 * kBits | wide(first + 1) << kBits | wide(first + 2);
  if (!is_small && digits[kFractions] != 0) bits |= 1;
  const double magnitude =
      std::ldexp(static_cast<double>(bits), is_small ? -3 * kBits : -2 * kBits);
  return is_negative ? -magnitude : magnitude;
}

}  // namespace

void ExactSums::add(std::size_t sum, double term) {
  std::int64_t* const parts = parts_.data() + kParts * sum;
  if (!std::isfinite(term)) {
    ++parts[std::isnan(term) ? kNaNs
            : term > 0       ? kPlusInfinities
                             : kMinusInfinities];
    return;
  }
  const std::int64_t sign = term < 0 ? -1 : 1;
  double rest = std::abs(term);
  for (std::size_t i = 0; i <= kFractions; ++i) {
    const double digits = i < kFractions ? std::floor(rest) : std::rint(rest);
    parts[i] += sign * static_cast<std::int64_t>(digits);
    rest = (rest - digits) * kBase;
  }
}

at::Tensor ExactSums::tensor() const {
  const auto sums = static_cast<std::int64_t>(parts_.size() / kParts);
  at::Tensor tensor = at::empty({sums, std::int64_t{kParts}}, at::kLong);
  std::copy(parts_.begin(), parts_.end(), tensor.data_ptr<std::int64_t>());
  return tensor;
}

double ExactSums::value(const at::Tensor& sums, std::size_t sum) {
  if (!sums.defined()) return 0;
  // What was loaded may be anything.
  TORCH_CHECK_VALUE(sums.scalar_type() == at::kLong && sums.dim() == 2 &&
                        sums.size(0) > static_cast<std::int64_t>(sum) &&
                        sums.size(1) == std::int64_t{kParts},
                    "expected exact sums, int64 [", sum + 1, " or more, ",
                    std::int64_t{kParts}, "], got ", sums.scalar_type(), " ",
                    sums.sizes());
  const at::Tensor plain = sums.cpu().contiguous();
  const std::int64_t* const parts =
      plain.const_data_ptr<std::int64_t>() + kParts * sum;
  const bool is_nan = parts[kNaNs] > 0 || (parts[kPlusInfinities] > 0 &&
                                           parts[kMinusInfinities] > 0);
  if (is_nan) return kNaN;
  if (parts[kPlusInfinities] > 0) {
    return kInfinity;
  }
  if (parts[kMinusInfinities] > 0) {
    return -kInfinity;
  }
  return fixed_point_value(parts);
}

}  // namespace tally::internal
