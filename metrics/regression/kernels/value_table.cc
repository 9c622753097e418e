#include "tally/metrics/regression/kernels/value_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tally::internal::regression {
namespace {

using Number = std::uint16_t;

constexpr double kMostValues = 1024;
constexpr int kSlotBits = 12;
constexpr Number kNone = 0xffff;

std::size_t slot_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits * std::uint32_t{0x9e3779b9}) >> (32 - kSlotBits);
}
std::size_t slot_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits * std::uint64_t{0x9e3779b97f4a7c15}) >> (64 - kSlotBits);
}

template <class T>
struct Slot {
  T value = 0;
  Number number = kNone;
};

// Numbers distinct values as they come.
template <class T>
struct Numbered {
  std::vector<T> distinct;
  std::vector<Number> numbers;  // of all samples

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
        slots[at] = {value, static_cast<Number>(distinct.size())};
        distinct.push_back(value);
      }
      numbers[i] = slots[at].number;
    }
    return true;
  }

  // The numbers in the order of their values.
  std::vector<Number> order() const {
    std::vector<Number> sorted(distinct.size());
    std::iota(sorted.begin(), sorted.end(), Number{0});
    std::sort(sorted.begin(), sorted.end(),
              [&](Number a, Number b) { return distinct[a] < distinct[b]; });
    return sorted;
  }
};

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
  const std::vector<Number> order_y = b.order();
  cells_.clear();
  cells_.reserve(counts.size());
  for (const Number i : a.order()) {
    for (const Number j : order_y) {
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

}  // namespace tally::internal::regression
