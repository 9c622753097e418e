#include "tally/metrics/regression/kernels/value_counts.h"

#include <ATen/Parallel.h>
#include <c10/util/bit_cast.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tally/metrics/common/hash.h"

namespace tally::internal::regression {
namespace {

using ValueNumber = std::uint16_t;

constexpr double kMostValues = 1024;
constexpr int kSlotBits = 12;
constexpr ValueNumber kNone = 0xffff;

std::size_t slot_of(float value) {
  constexpr std::uint32_t kFactor{kGoldenRatio >> 32};
  return (c10::bit_cast<std::uint32_t>(value) * kFactor) >> (32 - kSlotBits);
}
std::size_t slot_of(double value) {
  return (c10::bit_cast<std::uint64_t>(value) * kGoldenRatio) >>
         (64 - kSlotBits);
}

template <class T>
struct Slot {
  T value = 0;
  ValueNumber number = kNone;
};

// Numbers distinct values as they come.
template <class T>
struct Numbered {
  std::vector<T> distinct;
  std::vector<ValueNumber> numbers;  // of all samples

  bool number_all(const T* values, std::int64_t samples, std::size_t most) {
    std::vector<Slot<T>> slots(std::size_t{1} << kSlotBits);
    numbers.resize(static_cast<std::size_t>(samples));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const T value = values[i] + T{0};  // one zero
      if (value != value) return false;
      std::size_t at = slot_of(value);
      while (slots[at].number != kNone && slots[at].value != value) {
        at = (at + 1) % slots.size();
      }
      if (slots[at].number == kNone) {
        if (distinct.size() == most) return false;
        slots[at] = {value, static_cast<ValueNumber>(distinct.size())};
        distinct.push_back(value);
      }
      numbers[i] = slots[at].number;
    }
    return true;
  }

  // The numbers in the order of their values.
  std::vector<ValueNumber> order() const {
    std::vector<ValueNumber> sorted(distinct.size());
    std::iota(sorted.begin(), sorted.end(), ValueNumber{0});
    std::sort(sorted.begin(), sorted.end(), [&](ValueNumber a, ValueNumber b) {
      return distinct[a] < distinct[b];
    });
    return sorted;
  }
};

using Rank = std::uint32_t;

// Ranks are sorted by so many of their bits at a time, the highest first.
constexpr int kBits = 4;
constexpr int kWays = 1 << kBits;
// So few are compared with each other.
constexpr std::int64_t kFew = 16;
// So many are worth a second thread.
constexpr std::int64_t kMany = 20'000;

// Sixteen counters in registers: loops over an array would wait for memory.
using Four = Rank __attribute__((vector_size(16), may_alias));

// [digit][d]: 1 for the digits d below.
struct Steps {
  alignas(64) Rank below[kWays][kWays];
};
constexpr Steps make_steps() {
  Steps steps{};
  for (int digit = 0; digit < kWays; ++digit) {
    for (int d = 0; d < digit; ++d) steps.below[digit][d] = 1;
  }
  return steps;
}
constexpr Steps kSteps = make_steps();

std::int64_t inversions_of_few(const Rank* ranks, std::int64_t count) {
  std::int64_t inversions = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    Rank above = 0;
    for (std::int64_t k = 0; k < i; ++k) above += ranks[k] > ranks[i];
    inversions += above;
  }
  return inversions;
}

int digit_of(Rank rank, int shift) {
  return static_cast<int>((rank >> shift) & (kWays - 1));
}

// Ranks that agree in all higher bits: counts the inversions of those that
// differ in this digit, and sorts them by it. Child d begins at begins[d].
struct Split {
  std::int64_t inversions = 0;
  std::array<std::int64_t, kWays + 1> begins;
};

Split split(const Rank* from, Rank* to, std::int64_t count, int shift) {
  Split result;
  // How many so far have a digit above d.
  alignas(64) Rank above[kWays] = {};
  Four a{}, b{}, c{}, d{};
  for (std::int64_t i = 0; i < count; ++i) {
    const int digit = digit_of(from[i], shift);
    result.inversions += above[digit];
    const auto* const step = reinterpret_cast<const Four*>(kSteps.below[digit]);
    auto* const counters = reinterpret_cast<Four*>(above);
    counters[0] = a += step[0];
    counters[1] = b += step[1];
    counters[2] = c += step[2];
    counters[3] = d += step[3];
  }
  result.begins[0] = 0;
  for (int digit = 0; digit < kWays; ++digit) {
    result.begins[digit + 1] = count - above[digit];
  }
  if (shift == 0) return result;
  std::array<Rank*, kWays> places;
  for (int digit = 0; digit < kWays; ++digit) {
    places[digit] = to + result.begins[digit];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    *places[digit_of(from[i], shift)]++ = from[i];
  }
  return result;
}

std::int64_t inversions_below(Rank* from, Rank* spare, std::int64_t count,
                              int shift) {
  if (count <= kFew) return inversions_of_few(from, count);
  const Split parts = split(from, spare, count, shift);
  if (shift == 0) return parts.inversions;
  std::array<std::int64_t, kWays> inversions{};
  const auto count_parts = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      inversions[i] = inversions_below(
          spare + parts.begins[i], from + parts.begins[i],
          parts.begins[i + 1] - parts.begins[i], std::max(shift - kBits, 0));
    }
  };
  if (count >= kMany) {
    at::parallel_for(0, kWays, 1, count_parts);
  } else {
    count_parts(0, kWays);
  }
  std::int64_t sum = parts.inversions;
  for (const std::int64_t some : inversions) sum += some;
  return sum;
}

}  // namespace

template <class T>
bool ValueTable::count_values(const T* x, const T* y, std::int64_t samples) {
  const auto most = static_cast<std::size_t>(
      std::min(std::sqrt(static_cast<double>(samples)), kMostValues));
  Numbered<T> a, b;
  if (!a.number_all(x, samples, most) || !b.number_all(y, samples, most)) {
    return false;
  }
  distinct_x_ = a.distinct.size();
  distinct_y_ = b.distinct.size();
  std::vector<std::int64_t> counts(distinct_x_ * distinct_y_);
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    ++counts[a.numbers[i] * distinct_y_ + b.numbers[i]];
  }
  const std::vector<ValueNumber> order_y = b.order();
  cells_.clear();
  cells_.reserve(counts.size());
  for (const ValueNumber i : a.order()) {
    for (const ValueNumber j : order_y) {
      cells_.push_back(counts[i * distinct_y_ + j]);
    }
  }
  return true;
}

bool ValueTable::count(const float* x, const float* y, std::int64_t samples) {
  return count_values(x, y, samples);
}
bool ValueTable::count(const double* x, const double* y, std::int64_t samples) {
  return count_values(x, y, samples);
}

std::int64_t count_inversions(Rank* ranks, Rank* spare, std::int64_t count,
                              std::int64_t distinct) {
  int bits = 0;
  while ((distinct - 1) >> bits > 0) ++bits;
  return inversions_below(ranks, spare, count, std::max(bits - kBits, 0));
}

}  // namespace tally::internal::regression
