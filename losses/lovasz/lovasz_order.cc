#include "tally/losses/lovasz/lovasz_order.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tally/metrics/classification/kernels/key_sort.h"

namespace tally::losses::internal {
namespace {

/// A row's error and whether it is positive, to be sorted by descending error.
struct Item {
  std::uint64_t key;
  std::uint32_t row;
  bool positive;
};

// Of errors at least 0; the largest comes first, NaN before all.
std::uint32_t descending(float error) {
  std::uint32_t bits;
  std::memcpy(&bits, &error, sizeof(bits));
  return ~(bits & 0x7fffffffu);
}
std::uint64_t descending(double error) {
  std::uint64_t bits;
  std::memcpy(&bits, &error, sizeof(bits));
  return ~(bits & 0x7fffffffffffffffu);
}

/// The rows of a class in descending order of errors. Rows are numbered in 31
/// bits, which leaves one for the label.
class Order {
 public:
  Order(const float* errors, std::int64_t stride, std::int64_t count)
      : keys_(static_cast<std::size_t>(count)) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float error = errors[i * stride];
      keys_[i] = std::uint64_t{descending(error)} << 32 |
                 static_cast<std::uint64_t>(i) << 1 |
                 (std::signbit(error) ? 1 : 0);
    }
    tally::internal::classification::sort_keys(keys_.data(), count);
  }
  Order(const double* errors, std::int64_t stride, std::int64_t count)
      : items_(static_cast<std::size_t>(count)) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double error = errors[i * stride];
      items_[i] = {descending(error), static_cast<std::uint32_t>(i),
                   std::signbit(error)};
    }
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return a.key != b.key ? a.key < b.key : a.row < b.row;
    });
  }

  Item operator[](std::int64_t i) const {
    if (!items_.empty()) return items_[i];
    const std::uint64_t key = keys_[i];
    return {key >> 32, static_cast<std::uint32_t>(key) >> 1, (key & 1) != 0};
  }

 private:
  std::vector<std::uint64_t> keys_;
  std::vector<Item> items_;
};

template <class T>
double one_class(const T* errors, std::int64_t stride, std::int64_t count,
                 std::int64_t positives, std::int64_t first, std::int64_t rows,
                 T* slopes) {
  const Order order(errors, stride, count);
  const auto all = static_cast<double>(positives);
  double value = 0;
  std::int64_t before = 0, negatives_before = 0;
  for (std::int64_t begin = 0; begin < count;) {
    const std::uint64_t key = order[begin].key;
    std::int64_t end = begin, found = 0;
    for (; end < count && order[end].key == key; ++end) {
      found += order[end].positive ? 1 : 0;
    }
    const std::int64_t others = end - begin - found;
    const double outside = all + static_cast<double>(negatives_before);
    const double of_positive = 1 / outside;
    before += found;
    negatives_before += others;
    // Without any positive, all of the loss is in the first error.
    const double of_negative =
        positives == 0
            ? (begin == 0 ? 1 / static_cast<double>(others) : 0)
            : static_cast<double>(positives - before) /
                  (outside * (outside + static_cast<double>(others)));
    for (std::int64_t i = begin; i < end; ++i) {
      const Item item = order[i];
      const double slope = item.positive ? of_positive : of_negative;
      value += slope * std::abs(static_cast<double>(errors[item.row * stride]));
      const std::int64_t row = static_cast<std::int64_t>(item.row) - first;
      if (row >= 0 && row < rows) slopes[row * stride] = static_cast<T>(slope);
    }
    begin = end;
  }
  return value;
}

template <class T>
LovaszTerms terms(const at::Tensor& errors,
                  const std::vector<std::int64_t>& positives,
                  std::int64_t first, std::int64_t rows) {
  const std::int64_t count = errors.size(0), classes = errors.size(1);
  LovaszTerms result{
      at::empty({classes}, at::TensorOptions().dtype(at::kDouble)),
      at::empty({rows, classes}, errors.options())};
  const T* const from = errors.data_ptr<T>();
  T* const slopes = result.slopes.data_ptr<T>();
  double* const values = result.values.data_ptr<double>();
  at::parallel_for(0, classes, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      values[c] = one_class(from + c, classes, count, positives[c], first, rows,
                            slopes + c);
    }
  });
  return result;
}

}  // namespace

at::Tensor marked(const at::Tensor& errors, const at::Tensor& positive) {
  return at::where(positive, errors.abs().neg(), errors.abs());
}

LovaszTerms lovasz_terms(const at::Tensor& errors,
                         const std::vector<std::int64_t>& positives,
                         std::int64_t first, std::int64_t rows) {
  const at::Tensor plain = errors.cpu().contiguous();
  LovaszTerms result = plain.scalar_type() == at::kFloat
                           ? terms<float>(plain, positives, first, rows)
                           : terms<double>(plain, positives, first, rows);
  result.values = result.values.to(errors.device());
  result.slopes = result.slopes.to(errors.device());
  return result;
}

}  // namespace tally::losses::internal
