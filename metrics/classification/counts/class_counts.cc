#include "tally/metrics/classification/counts/class_counts.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/classification/counts/binary_counts.h"
#include "tally/metrics/classification/counts/element_counts.h"
#include "tally/metrics/classification/counts/multilabel_counts.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace internal::classification {
namespace {

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

}  // namespace internal::classification

namespace classification = internal::classification;

namespace {

// Rows of counts [positions, kElementCounts, 1] with their weights behind the
// counts; that of a NaN is 0.
at::Tensor with_weights(const at::Tensor& counts, const at::Tensor& weight,
                        NanPolicy nan_policy) {
  at::Tensor weights = weight.reshape({-1, 1, 1});
  const at::Tensor total = counts.narrow(1, classification::kTotal, 1);
  const at::Tensor nans = counts.narrow(1, classification::kNans, 1);
  const at::Tensor bad = weights.isnan().logical_and(total.add(nans).gt(0));
  if (nan_policy == NanPolicy::kError) {
    if (const auto index = classification::first_true(bad)) {
      classification::refuse_nan("weight", *index);
    }
  }
  if (nan_policy == NanPolicy::kPropagate) nans.add_(bad);
  weights = weights.masked_fill(weights.isnan(), 0);
  return at::cat({counts.to(at::kDouble), weights}, 1);
}

}  // namespace

MultilabelCounts::State MultilabelCounts::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const classification::MultilabelBatch batch(rules_, num_labels_, preds,
                                              target, weight);
  State state;
  if (weight.defined() && samplewise_) {
    classification::refuse_weight("multidim_average samplewise");
  }
  if (weight.defined() && !averages_samples_) {
    if (batch.is_plain()) {
      state.sums = internal::fresh_zeros(
          {classification::kElementCounts, num_labels_}, at::kDouble);
      classification::sum_element_weights(
          batch, state.sums.mutable_data_ptr<double>());
    } else {
      state.sums = classification::count_elements_by_tensors(batch, false);
    }
    return state;
  }
  at::Tensor rows;
  if (averages_samples_) {
    if (batch.is_plain()) {
      rows = internal::fresh_zeros({batch.samples() * batch.positions(),
                                    classification::kElementCounts, 1},
                                   at::kLong);
      classification::count_elements_of_positions(
          batch, rows.mutable_data_ptr<std::int64_t>());
    } else {
      rows = classification::count_positions_by_tensors(batch);
    }
  } else if (batch.is_plain()) {
    c10::SmallVector<std::int64_t, 3> sizes{classification::kElementCounts,
                                            num_labels_};
    if (samplewise_) sizes.insert(sizes.begin(), batch.samples());
    rows = internal::fresh_zeros(sizes, at::kLong);
    classification::count_elements(batch, samplewise_,
                                   rows.mutable_data_ptr<std::int64_t>());
  } else {
    rows = classification::count_elements_by_tensors(batch, samplewise_);
  }
  if (weight.defined()) {
    state.weighted_samples =
        Rows(with_weights(rows, batch.weight(), rules_.nan_policy));
  } else if (samplewise_ || averages_samples_) {
    state.samples = Rows(rows);
  } else {
    state.counts = std::move(rows);
  }
  return state;
}

classification::LabelledSamples classification::samples_of(
    const MultilabelCounts::State& state) {
  const auto layout = CountRows::Layout::kElements;
  const at::Tensor plain = state.samples.tensor();
  const at::Tensor weighted = state.weighted_samples.tensor();
  if (!weighted.defined()) return {{layout, 1, true, plain, {}}, {}};
  at::Tensor counts = weighted.narrow(1, 0, kElementCounts);
  at::Tensor weights = weighted.select(1, kElementCounts).reshape(-1);
  if (plain.defined()) {
    counts = at::cat({counts, plain.to(at::kDouble)});
    weights = at::cat({weights, at::ones({plain.size(0)}, weights.options())});
  }
  return {{layout, 1, true, {}, counts.contiguous()}, weights};
}

}  // namespace tally
