#include "tally/metrics/classification/counts/class_counts.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <limits>

#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double value_of(const ClassCounts& counts, ClassValue value) {
  return counts.nans > 0 || counts.total == 0 ? kNaN : value(counts);
}

}  // namespace

void check_zero_division(const char* metric, double zero_division) {
  TORCH_CHECK_VALUE(
      zero_division == 0 || zero_division == 1 || std::isnan(zero_division),
      metric, ": expected zero_division 0, 1 or nan, got ", zero_division);
}

void check_global(const char* metric, MultidimAverage multidim_average) {
  TORCH_CHECK_VALUE(multidim_average == MultidimAverage::kGlobal, metric,
                    ": expected multidim_average global with average samples, "
                    "got samplewise");
}

ClassCounts& ClassCounts::operator+=(const ClassCounts& other) {
  tp += other.tp;
  predicted += other.predicted;
  target += other.target;
  total += other.total;
  nans += other.nans;
  return *this;
}

ClassCounts CountsRow::sum() const {
  ClassCounts sum;
  for (const ClassCounts& counts : classes) sum += counts;
  return sum;
}

double CountsRow::micro(ClassValue value,
                        std::optional<std::int64_t> left_out) const {
  ClassCounts sum;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (static_cast<std::int64_t>(c) != left_out) sum += classes[c];
  }
  return value_of(sum, value);
}

double CountsRow::macro(bool weighted, bool occurring_only,
                        std::optional<std::int64_t> left_out,
                        ClassValue value) const {
  double sum = 0;
  double plain_sum = 0;
  double weights = 0;
  double count = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const ClassCounts& counts = classes[c];
    if (counts.nans > 0) return kNaN;
    if (static_cast<std::int64_t>(c) == left_out) continue;
    if (occurring_only && counts.target == 0 && counts.predicted == 0) continue;
    const double own = value_of(counts, value);
    if (std::isnan(own)) continue;
    const double weight = weighted ? counts.target : 1;
    sum += weight * own;
    weights += weight;
    plain_sum += own;
    ++count;
  }
  if (weights != 0) return sum / weights;
  return count > 0 ? plain_sum / count : kNaN;
}

CountRows::CountRows(Layout layout, std::int64_t classes, bool samplewise,
                     const at::Tensor& counts, const at::Tensor& sums)
    : layout_(layout), classes_(classes), samplewise_(samplewise) {
  const at::Tensor& any = counts.defined() ? counts : sums;
  if (samplewise) rows_ = any.defined() ? any.size(0) : 0;
  if (counts.defined()) {
    check_width(counts);
    counts_on_cpu_ = counts.is_cpu() ? counts : counts.cpu();
    counts_ = counts_on_cpu_.const_data_ptr<std::int64_t>();
    device_ = counts.device();
  }
  own_sums(sums);
}

CountRows::CountRows(Layout layout, std::int64_t classes,
                     const std::int64_t* counts, const at::Tensor& sums)
    : layout_(layout), classes_(classes), counts_(counts) {
  own_sums(sums);
}

void CountRows::own_sums(const at::Tensor& sums) {
  if (!sums.defined()) return;
  check_width(sums);
  sums_on_cpu_ = sums.is_cpu() ? sums : sums.cpu();
  sums_ = sums_on_cpu_.const_data_ptr<double>();
  device_ = sums.device();
}

void CountRows::check_width(const at::Tensor& tensor) const {
  const std::int64_t expected = width(layout_, classes_) * rows_;
  TORCH_CHECK_VALUE(tensor.numel() == expected, "expected ", expected,
                    " counts in the state, got ", tensor.numel());
}

CountsRow CountRows::read_row(std::int64_t row,
                              std::vector<ClassCounts>& into) const {
  const std::int64_t first = row * width(layout_, classes_);
  const auto get = [&](std::int64_t kind, std::int64_t k) {
    return read(first + kind * classes_ + k);
  };
  CountsRow result{into, 0};
  if (layout_ == Layout::kElements) {
    for (std::int64_t k = 0; k < classes_; ++k) {
      into[k] = {get(0, k), get(1, k), get(2, k), get(3, k), get(4, k)};
    }
    return result;
  }
  double total = 0;
  for (std::int64_t k = 0; k < classes_; ++k) total += get(2, k);
  const double nans = get(3, 0);
  result.distance = get(3, 1);
  for (std::int64_t k = 0; k < classes_; ++k) {
    into[k] = {get(0, k), get(1, k), get(2, k), total, nans};
  }
  return result;
}

bool CountRows::has_nans() const {
  std::vector<ClassCounts> row(classes_);
  for (std::int64_t i = 0; i < rows_; ++i) {
    if (read_row(i, row).sum().nans > 0) return true;
  }
  return false;
}

at::Tensor CountRows::values(
    at::IntArrayRef sizes,
    c10::function_ref<void(const CountsRow&, double*)> fill) const {
  c10::SmallVector<std::int64_t, 4> all;
  if (samplewise_) all.push_back(rows_);
  for (const std::int64_t size : sizes) all.push_back(size);
  at::Tensor result = fresh_tensor(all, at::kDouble);
  auto* out = result.mutable_data_ptr<double>();
  std::int64_t step = 1;
  for (const std::int64_t size : sizes) step *= size;
  std::vector<ClassCounts> row(classes_);
  for (std::int64_t i = 0; i < rows_; ++i, out += step) {
    fill(read_row(i, row), out);
  }
  return device_.is_cpu() ? result : result.to(device_);
}

at::Tensor CountRows::values(
    c10::function_ref<double(const CountsRow&)> value) const {
  return values({},
                [&](const CountsRow& row, double* out) { *out = value(row); });
}

at::Tensor CountRows::averages(Average average, ClassValue value,
                               std::optional<std::int64_t> left_out) const {
  switch (average) {
    case Average::kMicro:
      return values([&](const CountsRow& row) { return row.micro(value); });
    case Average::kNone:
      return values(classes_, [&](const CountsRow& row, double* out) {
        for (const ClassCounts& counts : row.classes) {
          *out++ = value_of(counts, value);
        }
      });
    default:
      const bool weighted = average == Average::kWeighted;
      const bool occurring_only = layout_ == Layout::kClasses;
      return values([&](const CountsRow& row) {
        return row.macro(weighted, occurring_only, left_out, value);
      });
  }
}

at::Tensor CountRows::mean_over_rows(ClassValue value,
                                     const at::Tensor& weights) const {
  const at::Tensor on_cpu =
      weights.defined() ? weights.cpu().contiguous() : weights;
  const auto* const weight =
      on_cpu.defined() ? on_cpu.const_data_ptr<double>() : nullptr;
  double sum = 0;
  double total = 0;
  bool has_nan = false;
  std::vector<ClassCounts> row(classes_);
  for (std::int64_t i = 0; i < rows_; ++i) {
    const ClassCounts counts = read_row(i, row).sum();
    has_nan |= counts.nans > 0;
    const double own = value_of(counts, value);
    if (std::isnan(own)) continue;
    sum += (weight ? weight[i] : 1) * own;
    total += weight ? weight[i] : 1;
  }
  at::Tensor result = fresh_tensor({}, at::kDouble);
  *result.mutable_data_ptr<double>() =
      has_nan || total == 0 ? kNaN : sum / total;
  return device_.is_cpu() ? result : result.to(device_);
}

}  // namespace tally::internal::classification
