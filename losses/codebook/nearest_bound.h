#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tally/port/float32_products.h"

namespace tally::losses::internal {

/// Memory for products at a time.
inline constexpr std::int64_t kProductBytesAtOnce = 16 << 20;

/// Error bound of a computed <t, c> - |c|^2 / 2.
class NearestBound {
 public:
  NearestBound(at::ScalarType dtype, bool on_cpu, std::int64_t dims,
               bool cosine)
      : cosine_(cosine) {
    const bool wide = dtype == at::kDouble;
    relative_ = of_sum(dims, wide ? 0x1p-53 : 0x1p-24);
    compared_ = of_sum(dims, 0x1p-53);
    largest_ = wide ? std::numeric_limits<double>::max()
                    : std::numeric_limits<float>::max();
    // Subnormal numbers may be flushed to 0.
    least_ = static_cast<double>(dims + 2) *
             (wide ? std::numeric_limits<double>::min()
                   : std::numeric_limits<float>::min());
    if (!wide && on_cpu) {
      const double lost = port::float32_truncation();
      relative_ += (1 + relative_) * (2 + lost) * lost;
    }
    if (relative_ == kUnknown) largest_ = -1;
  }

  /// For a token and a code with these lengths.
  template <class Lengths>
  Lengths error(const Lengths& token, double code) const {
    return reach(token, code) * relative_ + (token + code + 1) * least_;
  }
  /// By how much the winner of the comparison can be worse, in these numbers,
  /// than another code of this length.
  template <class Lengths>
  Lengths blur(const Lengths& token, double code) const {
    return (cosine_ ? token * code : (token + code) * (token + code)) *
           (2 * compared_);
  }
  /// Whether the bound is valid: nothing can overflow.
  template <class Lengths>
  auto holds(const Lengths& token, double longest) const {
    return reach(token, longest) <= largest_ / 4;
  }

 private:
  /// g(dims + 4), where at most dims + 3 is needed, to cover the rounding of
  /// the bounds themselves.
  static double of_sum(std::int64_t dims, double roundoff) {
    const double part = static_cast<double>(dims + 4) * roundoff;
    return part < 0.5 ? part / (1 - part) * (1 + 0x1p-10) : kUnknown;
  }
  template <class Lengths>
  Lengths reach(const Lengths& token, double code) const {
    return token * code + (cosine_ ? 0 : code * code / 2);
  }

  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  bool cosine_;
  double relative_, compared_, largest_, least_;
};

}  // namespace tally::losses::internal
