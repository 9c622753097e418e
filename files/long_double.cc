#include "tally/files/long_double.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace tally::files {
namespace {

constexpr std::int64_t kItemSize = 16;
constexpr int kExponentBias = 0x3FFF;  // of both kinds
constexpr int kSpecial = 0x7FFF;       // the exponent of infinities and NaN
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
constexpr std::size_t kDeciding = 3;
// Those of numbers that float64 could hold, and of those near 1.
constexpr int kUsual = 1100;
constexpr int kNear = 64;

template <class Word>
Word word_at(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

struct Item {
  explicit Item(const char* bytes)
      : low(word_at<std::uint64_t>(bytes)),
        high(word_at<std::uint64_t>(bytes + 8)) {}

  std::uint64_t low;
  std::uint64_t high;
};

int exponent_of(std::uint64_t sign_and_exponent) {
  return static_cast<int>(sign_and_exponent & kSpecial);
}

bool is_within(int exponent, int range) {
  return std::abs(exponent - kExponentBias) <= range;
}

/// Whether two doubles are a number as POWER writes it: the second is 0, or
/// what the first has not room for.
bool is_pair(const Item& item) {
  const auto exponent = [](std::uint64_t bits) {
    return static_cast<int>(bits >> 52 & 0x7FF);
  };
  if (item.high << 1 == 0) return true;
  const int distance = exponent(item.low) - exponent(item.high);
  return exponent(item.high) != 0 && distance >= 53 && distance <= 120;
}

/// The number significand * 2^(exponent - 63), whose significand begins with a
/// 1, as the nearest double.
double nearest(bool negative, int exponent, std::uint64_t significand) {
  constexpr int kLeast = -1022;
  const double sign = negative ? -1 : 1;
  if (exponent > 1023) return sign * std::numeric_limits<double>::infinity();
  const int dropped = 11 + std::max(0, kLeast - exponent);
  if (dropped > 64) return sign * 0.0;
  std::uint64_t kept = dropped == 64 ? 0 : significand >> dropped;
  const std::uint64_t rest = significand << (64 - dropped);
  if (rest > kTop || (rest == kTop && kept % 2 == 1)) ++kept;
  // Exact: at most 53 bits, or 2^53.
  return sign * std::ldexp(static_cast<double>(kept), exponent - 63 + dropped);
}

double special(bool negative, bool is_nan) {
  const double value = is_nan ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity();
  return std::copysign(value, negative ? -1 : 1);
}

double from_x86(const Item& item) {
  const bool negative = (item.high >> 15 & 1) != 0;
  const int exponent = exponent_of(item.high);
  if (exponent == kSpecial) return special(negative, item.low != kTop);
  // Far below the least double.
  if (item.low < kTop) return negative ? -0.0 : 0.0;
  return nearest(negative, exponent - kExponentBias, item.low);
}

double from_quad(const Item& item) {
  const bool negative = item.high >> 63 != 0;
  const int exponent = exponent_of(item.high >> 48);
  const std::uint64_t first = item.high << 16;  // 48 bits, and 64 in low
  if (exponent == kSpecial) {
    return special(negative, first != 0 || item.low != 0);
  }
  if (exponent == 0) return negative ? -0.0 : 0.0;
  // The last bit stands for all that follow: rounding asks for no more.
  std::uint64_t significand = kTop | first >> 1 | item.low >> 49;
  if (item.low << 15 != 0) significand |= 1;
  return nearest(negative, exponent - kExponentBias, significand);
}

}  // namespace

void LongDoubleEvidence::add(const char* items, std::int64_t count) {
  for (const char* at = items; at != items + count * kItemSize;
       at += kItemSize) {
    const Item item(at);
    const int x86 = exponent_of(item.high);
    x86_ = x86_ && (x86 != 0) == (item.low >= kTop);
    any_x86_ = any_x86_ || item.low != 0;
    if (x86_ && is_within(x86, kNear) && x86_numbers_.size() < kDeciding) {
      Number number;
      std::memcpy(number.data(), at, number.size());
      if (std::find(x86_numbers_.begin(), x86_numbers_.end(), number) ==
          x86_numbers_.end()) {
        x86_numbers_.push_back(number);
      }
    }
    const int quad = exponent_of(item.high >> 48);
    const bool is_zero = item.low == 0 && item.high << 1 == 0;
    const bool is_quad = quad == kSpecial || is_within(quad, kUsual);
    quad_ = quad_ && (is_zero || is_quad);
    any_quad_ = any_quad_ || is_quad;
    pairs_ = pairs_ && is_pair(item);
    any_pair_ = any_pair_ || item.low << 1 != 0;
  }
}

std::optional<LongDouble> LongDoubleEvidence::kind() const {
  if (pairs_ && any_pair_) return std::nullopt;
  if (!x86_) return quad_ ? std::optional(LongDouble::kQuad) : std::nullopt;
  if (!any_quad_ || x86_numbers_.size() == kDeciding || (any_x86_ && !quad_)) {
    return LongDouble::kX86;
  }
  return std::nullopt;
}

void to_doubles(LongDouble kind, const char* items, std::int64_t count,
                double* into) {
  const auto decode = kind == LongDouble::kX86 ? from_x86 : from_quad;
  for (std::int64_t i = 0; i < count; ++i) {
    into[i] = decode(Item(items + i * kItemSize));
  }
}

}  // namespace tally::files
