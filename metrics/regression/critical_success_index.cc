#include "tally/metrics/regression/critical_success_index.h"

#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <utility>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace {

constexpr std::int64_t kCounts = 4;

// [rows, kCounts], or [kCounts] of one that is not kept as such.
at::Tensor zero_counts(std::int64_t rows, bool keep_rows) {
  return keep_rows ? internal::fresh_zeros({rows, kCounts}, at::kLong)
                   : internal::fresh_zeros({kCounts}, at::kLong);
}

// Adds to the counts of `rows` rows, each of which has `inner` elements in
// turn. The threshold is rounded to the dtype, as ATen does.
template <class T>
void count_events(const T* preds, const T* target, std::int64_t count,
                  std::int64_t rows, std::int64_t inner, T threshold,
                  std::int64_t* counts) {
  for (std::int64_t i = 0, row = 0; i < count; row = (row + 1) % rows) {
    std::int64_t hits = 0, misses = 0, alarms = 0, nans = 0;
    for (const std::int64_t end = i + inner; i < end; ++i) {
      const bool nan = preds[i] != preds[i] || target[i] != target[i];
      const bool forecast = preds[i] >= threshold;
      const bool event = target[i] >= threshold;
      nans += nan;
      hits += forecast && event;
      misses += !forecast && event && !nan;
      alarms += forecast && !event && !nan;
    }
    std::int64_t* const to = counts + row * kCounts;
    to[0] += hits;
    to[1] += misses;
    to[2] += alarms;
    to[3] += nans;
  }
}

at::Tensor plain_counts(const at::Tensor& preds, const at::Tensor& target,
                        std::int64_t rows, std::int64_t inner, bool keep_rows,
                        double threshold) {
  at::Tensor counts = zero_counts(rows, keep_rows);
  auto* const to = counts.mutable_data_ptr<std::int64_t>();
  if (preds.scalar_type() == at::kFloat) {
    count_events(preds.const_data_ptr<float>(), target.const_data_ptr<float>(),
                 preds.numel(), rows, inner, static_cast<float>(threshold), to);
  } else {
    count_events(preds.const_data_ptr<double>(),
                 target.const_data_ptr<double>(), preds.numel(), rows, inner,
                 threshold, to);
  }
  return counts;
}

at::Tensor tensor_counts(const at::Tensor& preds, const at::Tensor& target,
                         std::int64_t rows, std::int64_t inner, bool keep_rows,
                         double threshold) {
  const at::Tensor p = preds.detach().reshape({-1, rows, inner});
  const at::Tensor t = target.detach().reshape({-1, rows, inner});
  const at::Tensor nan = p.isnan().logical_or(t.isnan());
  const at::Tensor known = nan.logical_not();
  const at::Tensor forecast = p.ge(threshold);
  const at::Tensor event = t.ge(threshold);
  const auto count = [](const at::Tensor& which) {
    return which.sum(at::IntArrayRef{0, 2}, /*keepdim=*/false, at::kLong);
  };
  const at::Tensor counts = at::stack(
      {count(forecast.logical_and(event)),
       count(event.logical_and(forecast.logical_not()).logical_and(known)),
       count(forecast.logical_and(event.logical_not()).logical_and(known)),
       count(nan)},
      1);
  return keep_rows ? counts : counts.squeeze(0);
}

bool same_plain_dtype(const at::Tensor& preds, const at::Tensor& target) {
  const at::ScalarType dtype = preds.scalar_type();
  return internal::is_plain(preds) && internal::is_plain(target) &&
         dtype == target.scalar_type() &&
         (dtype == at::kFloat || dtype == at::kDouble);
}

}  // namespace

void CriticalSuccessIndexOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!std::isnan(threshold_), metric,
                    ": expected a threshold, got NaN");
  TORCH_CHECK_VALUE(!keep_sequence_dim_ || *keep_sequence_dim_ >= 0, metric,
                    ": expected keep_sequence_dim of at least 0, got ",
                    *keep_sequence_dim_);
}

EventCounts::State EventCounts::observe(const at::Tensor& preds,
                                        const at::Tensor& target) const {
  internal::regression::check_outputs(preds, target, /*num_outputs=*/1);
  std::int64_t rows = 1;
  std::int64_t inner = preds.numel();
  if (keep_sequence_dim_) {
    TORCH_CHECK_VALUE(*keep_sequence_dim_ < preds.dim(),
                      "expected preds and target with a dimension ",
                      *keep_sequence_dim_, ", got ", preds.sizes());
    rows = preds.size(*keep_sequence_dim_);
    inner = 1;
    for (std::int64_t dim = *keep_sequence_dim_ + 1; dim < preds.dim(); ++dim) {
      inner *= preds.size(dim);
    }
  }
  if (nan_policy_ == NanPolicy::kError) {
    TORCH_CHECK_VALUE(!internal::has_nan(preds),
                      "expected preds without NaN, got some");
    TORCH_CHECK_VALUE(!internal::has_nan(target),
                      "expected target without NaN, got some");
  }
  const bool keep = keep_sequence_dim_.has_value();
  at::Tensor counts;
  if (preds.numel() == 0) {
    counts = zero_counts(rows, keep).to(preds.device());
  } else if (same_plain_dtype(preds, target)) {
    counts = plain_counts(preds, target, rows, inner, keep, threshold_);
  } else {
    counts = tensor_counts(preds, target, rows, inner, keep, threshold_);
  }
  if (nan_policy_ == NanPolicy::kIgnore) counts.select(-1, 3).zero_();
  State state;
  if (keep) {
    state.sequence = Rows(counts);
  } else {
    state.counts = std::move(counts);
  }
  return state;
}

at::Tensor CriticalSuccessIndex::evaluate(const State& state) const {
  const bool keep = options().keep_sequence_dim().has_value();
  if (keep ? !state.sequence.defined() : !state.counts.defined()) {
    return keep ? internal::fresh_zeros({0}, at::kDouble)
                : at::Tensor(Number(internal::kNaN));
  }
  const at::Tensor counts =
      (keep ? state.sequence.tensor() : state.counts).to(at::kCPU).contiguous();
  const auto* const from = counts.const_data_ptr<std::int64_t>();
  const auto index = [from](std::int64_t row) {
    const std::int64_t* const c = from + row * kCounts;
    return c[3] > 0 ? internal::kNaN
                    : static_cast<double>(c[0]) /
                          static_cast<double>(c[0] + c[1] + c[2]);
  };
  if (!keep) return Number(index(0));
  at::Tensor values = internal::fresh_zeros({counts.size(0)}, at::kDouble);
  for (std::int64_t i = 0; i < counts.size(0); ++i) {
    values.mutable_data_ptr<double>()[i] = index(i);
  }
  return values;
}

template class MetricOf<CriticalSuccessIndex, EventCounts, at::Tensor>;

}  // namespace tally
