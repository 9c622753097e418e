#include "tally/metrics/classification/stat_scores.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tally {
namespace internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One row of counts, read.
class CountsRow {
 public:
  CountsRow(const std::int64_t* row, std::int64_t classes)
      : row_(row), classes_(classes) {}

  std::int64_t classes() const { return classes_; }
  bool has_nan() const { return row_[3 * classes_] > 0; }
  ClassCounts operator[](std::int64_t c) const {
    return {row_[c], row_[classes_ + c], row_[2 * classes_ + c]};
  }
  ClassCounts sum() const {
    ClassCounts sum;
    for (std::int64_t c = 0; c < classes_; ++c) {
      const ClassCounts counts = (*this)[c];
      sum.tp += counts.tp;
      sum.predicted += counts.predicted;
      sum.target += counts.target;
    }
    return sum;
  }

 private:
  const std::int64_t* row_;
  std::int64_t classes_;
};

double value_of(const Ratio& ratio, double zero_division) {
  return ratio.denominator == 0 ? zero_division
                                : static_cast<double>(ratio.numerator) /
                                      static_cast<double>(ratio.denominator);
}

double average(const CountsRow& row, const MulticlassStatScoresOptions& options,
               ClassRatio ratio) {
  if (row.has_nan()) return kNaN;
  if (options.average() == Average::kMicro) {
    return value_of(ratio(row.sum()), kNaN);
  }
  double sum = 0;
  double weights = 0;
  for (std::int64_t c = 0; c < row.classes(); ++c) {
    const ClassCounts counts = row[c];
    if (counts.target == 0 && counts.predicted == 0) continue;
    const double value = value_of(ratio(counts), options.zero_division());
    if (std::isnan(value)) continue;
    const double weight = options.average() == Average::kWeighted
                              ? static_cast<double>(counts.target)
                              : 1.0;
    sum += weight * value;
    weights += weight;
  }
  return weights > 0 ? sum / weights : kNaN;
}

void values_of_classes(const CountsRow& row,
                       const MulticlassStatScoresOptions& options,
                       ClassRatio ratio, double* values) {
  const bool undefined = row.has_nan() || row.sum().target == 0;
  for (std::int64_t c = 0; c < row.classes(); ++c) {
    values[c] =
        undefined ? kNaN : value_of(ratio(row[c]), options.zero_division());
  }
}

}  // namespace

at::Tensor average_classes(const MulticlassStatScores::State& state,
                           const MulticlassStatScoresOptions& options,
                           ClassRatio ratio) {
  const std::int64_t classes = options.num_classes();
  const bool samplewise =
      options.multidim_average() == MultidimAverage::kSamplewise;
  const bool per_class = options.average() == Average::kNone;
  const at::Tensor rows = samplewise ? state.samples.tensor() : state.counts;

  c10::SmallVector<std::int64_t, 2> sizes;
  if (samplewise) sizes.push_back(rows.defined() ? rows.size(0) : 0);
  if (per_class) sizes.push_back(classes);
  at::Tensor result(at::detail::empty_cpu(sizes, at::kDouble));
  double* const values = result.mutable_data_ptr<double>();
  if (!rows.defined()) {
    std::fill_n(values, result.numel(), kNaN);
    return result;
  }

  const std::int64_t width = 3 * classes + 1;
  TORCH_CHECK_VALUE(rows.size(-1) == width, "expected ", width,
                    " counts in a row of the state, got ", rows.size(-1));
  const at::Tensor on_cpu = rows.is_cpu() ? rows : rows.cpu();
  const auto* const counts = on_cpu.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < rows.numel() / width; ++i) {
    const CountsRow row(counts + i * width, classes);
    if (per_class) {
      values_of_classes(row, options, ratio, values + i * classes);
    } else {
      values[i] = average(row, options, ratio);
    }
  }
  return rows.is_cpu() ? result : result.to(rows.device());
}

at::Tensor count_classes(const MulticlassBatch& batch, bool samplewise) {
  const std::int64_t classes = batch.rules().num_classes;
  const std::int64_t width = 3 * classes + 1;
  c10::SmallVector<std::int64_t, 2> sizes{width};
  if (samplewise) sizes.insert(sizes.begin(), batch.samples());
  at::Tensor counts(at::detail::empty_cpu(sizes, at::kLong));
  auto* const data = counts.mutable_data_ptr<std::int64_t>();
  std::fill_n(data, counts.numel(), 0);
  const std::int64_t step = samplewise ? width : 0;
  for_each_prediction(batch, [=](std::int64_t sample, std::int64_t predicted,
                                 std::int64_t target) {
    std::int64_t* const row = data + sample * step;
    if (predicted == kNanClass) {
      ++row[3 * classes];
      return;
    }
    row[target] += predicted == target;
    ++row[classes + predicted];
    ++row[2 * classes + target];
  });
  return counts;
}

at::Tensor count_classes_by_tensors(const MulticlassBatch& batch,
                                    bool samplewise) {
  const PredictionTensors pairs = prediction_tensors(batch);
  const std::int64_t classes = batch.rules().num_classes;
  const auto in_rows = [&](const at::Tensor& labels) {
    return samplewise ? labels : labels.reshape({1, -1});
  };
  const at::Tensor predicted = in_rows(pairs.predicted);
  const at::Tensor target = in_rows(pairs.target);
  const std::int64_t rows = target.size(0);
  const at::Tensor is_nan = predicted.eq(kNanClass);
  // Each kind of count has a place more than there are classes, for positions
  // that do not count.
  const at::Tensor right =
      target.masked_fill(predicted.ne(target), classes).unsqueeze(1);
  const at::Tensor places =
      at::cat({right, predicted.masked_fill(is_nan, classes).unsqueeze(1),
               target.masked_fill(is_nan, classes).unsqueeze(1)},
              1);
  at::Tensor counts = at::zeros({rows, 3, classes + 1}, target.options());
  counts.scatter_add_(2, places, at::ones_like(places));
  counts = counts.narrow(2, 0, classes).reshape({rows, 3 * classes});
  counts = at::cat({counts, is_nan.sum(1, /*keepdim=*/true)}, 1);
  return samplewise ? counts : counts.squeeze(0);
}

}  // namespace internal

void MulticlassStatScoresOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(num_classes_ >= 2, metric,
                    ": expected num_classes of at least 2, got ", num_classes_);
  TORCH_CHECK_VALUE(top_k_ >= 1 && top_k_ <= num_classes_, metric,
                    ": expected top_k from 1 to num_classes ", num_classes_,
                    ", got ", top_k_);
  TORCH_CHECK_VALUE(
      zero_division_ == 0 || zero_division_ == 1 || std::isnan(zero_division_),
      metric, ": expected zero_division 0, 1 or nan, got ", zero_division_);
}

MulticlassStatScores::MulticlassStatScores(const Options& options,
                                           const MetricOptions& metric_options)
    : rules_{options.num_classes(), options.top_k(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()},
      samplewise_(options.multidim_average() == MultidimAverage::kSamplewise) {}

MulticlassStatScores::State MulticlassStatScores::observe(
    const at::Tensor& preds, const at::Tensor& target) const {
  const internal::MulticlassBatch batch(rules_, preds, target);
  State state;
  at::Tensor rows =
      batch.target().is_cpu()
          ? internal::count_classes(batch, samplewise_)
          : internal::count_classes_by_tensors(batch, samplewise_);
  if (samplewise_) {
    state.samples = Rows(rows);
  } else {
    state.counts = std::move(rows);
  }
  return state;
}

}  // namespace tally
