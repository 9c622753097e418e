#include "tally/losses/lovasz/lovasz_order.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/key_sort.h"
#include "tally/metrics/common/ordered_bits.h"

namespace tally::losses::internal {
namespace {

// Of errors at least 0; the largest comes first, NaN before all.
template <class T>
auto descending(T error) {
  return ~tally::internal::ordered_bits(std::abs(error));
}
template <class Bits>
auto error_of(Bits key) {
  return tally::internal::from_ordered_bits(~key);
}

/// A row's error and label, to be sorted by descending error.
template <class T>
struct Item;

// Rows are numbered in 31 bits, which leaves one for the label.
template <>
struct Item<float> {
  Item(float error, std::int64_t row)
      : bits(std::uint64_t{descending(error)} << 32 |
             static_cast<std::uint64_t>(row) << 1 |
             (std::signbit(error) ? 1 : 0)) {}

  std::uint32_t key() const { return static_cast<std::uint32_t>(bits >> 32); }
  std::int64_t row() const { return static_cast<std::uint32_t>(bits) >> 1; }
  bool positive() const { return (bits & 1) != 0; }

  std::uint64_t bits;
};

template <>
struct Item<double> {
  Item(double error, std::int64_t row)
      : of_error(descending(error)),
        of_row(static_cast<std::uint64_t>(row) << 1 |
               (std::signbit(error) ? 1 : 0)) {}

  std::uint64_t key() const { return of_error; }
  std::int64_t row() const { return static_cast<std::int64_t>(of_row >> 1); }
  bool positive() const { return (of_row & 1) != 0; }

  std::uint64_t of_error, of_row;
};

void sort_items(std::vector<Item<float>>& items) {
  static_assert(sizeof(Item<float>) == sizeof(std::uint64_t));
  tally::internal::classification::sort_keys(
      &items.data()->bits, static_cast<std::int64_t>(items.size()));
}
void sort_items(std::vector<Item<double>>& items) {
  std::sort(items.begin(), items.end(),
            [](const Item<double>& a, const Item<double>& b) {
              return a.of_error != b.of_error ? a.of_error < b.of_error
                                              : a.of_row < b.of_row;
            });
}

template <class T>
double one_class(const T* errors, std::int64_t count, std::int64_t positives,
                 std::int64_t first, std::int64_t rows, bool by_probability,
                 T* slopes) {
  if (count == 0) return 0;
  std::vector<Item<T>> items;
  items.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) items.emplace_back(errors[i], i);
  sort_items(items);

  const double sign = by_probability ? -1 : 1;
  double value = 0;
  std::int64_t positives_left = positives;
  auto outside = static_cast<double>(positives);
  // Without any positive, all of the loss is in the first error.
  double of_positive = positives == 0 ? 0 : 1 / outside;
  for (std::int64_t begin = 0; begin < count;) {
    const auto key = items[begin].key();
    std::int64_t end = begin, found = 0;
    for (; end < count && items[end].key() == key; ++end) {
      found += items[end].positive() ? 1 : 0;
    }
    const auto others = static_cast<double>(end - begin - found);
    positives_left -= found;
    double of_negative = 0, next = of_positive;
    if (positives == 0) {
      of_negative = begin == 0 ? 1 / others : 0;
    } else if (others > 0) {
      outside += others;
      next = 1 / outside;
      of_negative = static_cast<double>(positives_left) * of_positive * next;
    }
    value += (static_cast<double>(found) * of_positive + others * of_negative) *
             static_cast<double>(error_of(key));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = items[i].row() - first;
      if (row < 0 || row >= rows) continue;
      slopes[row] = static_cast<T>(items[i].positive() ? sign * of_positive
                                                       : of_negative);
    }
    of_positive = next;
    begin = end;
  }
  return value;
}

template <class T>
LovaszTerms terms(const at::Tensor& errors,
                  const std::vector<std::int64_t>& positives,
                  std::int64_t first, std::int64_t rows, bool by_probability) {
  const std::int64_t classes = errors.size(0), count = errors.size(1);
  LovaszTerms result{
      at::empty({classes}, at::TensorOptions().dtype(at::kDouble)),
      at::empty({classes, rows}, errors.options())};
  const T* const from = errors.const_data_ptr<T>();
  T* const slopes = result.slopes.mutable_data_ptr<T>();
  auto* const values = result.values.mutable_data_ptr<double>();
  at::parallel_for(0, classes, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      values[c] = one_class(from + c * count, count, positives[c], first, rows,
                            by_probability, slopes + c * rows);
    }
  });
  return result;
}

template <class T>
void mark_classes(const at::Tensor& p, const at::Tensor& target,
                  const std::vector<std::int64_t>& classes,
                  ClassErrors& result) {
  const std::int64_t count = p.size(1);
  const T* const from = p.const_data_ptr<T>();
  const auto* const y = target.const_data_ptr<std::int64_t>();
  T* const to = result.errors.mutable_data_ptr<T>();
  const auto number = static_cast<std::int64_t>(classes.size());
  at::parallel_for(0, number, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const T* const of_class = from + c * count;
      T* const errors = to + c * count;
      std::int64_t found = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const bool positive = y[i] == classes[c];
        const T error = std::abs(positive ? T{1} - of_class[i] : of_class[i]);
        errors[i] = positive ? -error : error;
        found += positive ? 1 : 0;
      }
      result.positives[c] = found;
    }
  });
}

}  // namespace

at::Tensor marked(const at::Tensor& errors, const at::Tensor& positive) {
  return at::where(positive, errors.abs().neg(), errors.abs());
}

ClassErrors class_errors(const at::Tensor& p, const at::Tensor& target,
                         const std::vector<std::int64_t>& classes) {
  const at::Tensor plain = p.detach().cpu().contiguous();
  const at::Tensor labels = target.to(at::kLong).cpu().contiguous();
  ClassErrors result{at::empty_like(plain),
                     std::vector<std::int64_t>(classes.size())};
  if (plain.scalar_type() == at::kFloat) {
    mark_classes<float>(plain, labels, classes, result);
  } else {
    mark_classes<double>(plain, labels, classes, result);
  }
  result.errors = result.errors.to(p.device());
  return result;
}

LovaszTerms lovasz_terms(const at::Tensor& errors,
                         const std::vector<std::int64_t>& positives,
                         std::int64_t first, std::int64_t rows,
                         bool by_probability) {
  const at::Tensor plain = errors.cpu().contiguous();
  LovaszTerms result =
      plain.scalar_type() == at::kFloat
          ? terms<float>(plain, positives, first, rows, by_probability)
          : terms<double>(plain, positives, first, rows, by_probability);
  result.values = result.values.to(errors.device());
  result.slopes = result.slopes.to(errors.device());
  return result;
}

}  // namespace tally::losses::internal
