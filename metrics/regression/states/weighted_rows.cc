#include "tally/metrics/regression/states/weighted_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tally/metrics/checks.h"

namespace tally {

namespace regression = internal::regression;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Sums of weights nearer than this, relatively, are the same.
constexpr double kRounding = 1e-12;

double plain_quantile(std::vector<double>& values, double alpha) {
  const auto count = static_cast<double>(values.size());
  const double place = alpha * count;
  const double whole = std::round(place);
  const bool exact = std::abs(place - whole) <= kRounding * count;
  // The first value up to which there are at least `place`.
  const auto index = static_cast<std::size_t>(
      std::clamp((exact ? whole : std::ceil(place)) - 1, 0.0, count - 1));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), middle, values.end());
  const double low = *middle;
  if (!exact || whole < 1 || middle + 1 == values.end()) return low;
  return (low + *std::min_element(middle + 1, values.end())) / 2;
}

double weighted_quantile(const regression::WeightedSample& sample,
                         double alpha) {
  std::vector<std::size_t> order;
  double all = 0;
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    if (sample.weights[i] == 0) continue;
    order.push_back(i);
    all += sample.weights[i];
  }
  if (order.empty()) return kNaN;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sample.values[a] < sample.values[b];
  });
  const double wanted = alpha * all;
  const double rounding = kRounding * all;
  double below = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    below += sample.weights[order[i]];
    if (below < wanted - rounding) continue;
    const double low = sample.values[order[i]];
    const bool exact = wanted > 0 && below <= wanted + rounding;
    return exact ? (low + sample.values[order[i + 1]]) / 2 : low;
  }
  return sample.values[order.back()];
}

}  // namespace

bool WeightedRows::has_nan() const {
  const auto any = [](const Rows& some) {
    return some.defined() && internal::has_nan(some.tensor());
  };
  return any(rows) || any(weighted_rows) || any(weights);
}

void WeightedRows::set(const at::Tensor& values, const at::Tensor& weight) {
  if (weight.defined()) {
    weighted_rows = Rows(values);
    weights = Rows(weight.detach().to(at::kDouble).reshape(-1));
  } else {
    rows = Rows(values);
  }
}

regression::WeightedSample regression::sample_of(const WeightedRows& rows,
                                                 std::int64_t num_outputs,
                                                 std::int64_t output) {
  const auto append = [](const at::Tensor& from, std::vector<double>& to) {
    const at::Tensor plain = from.to(at::kCPU).contiguous();
    const double* const data = plain.const_data_ptr<double>();
    to.insert(to.end(), data, data + plain.numel());
  };
  const auto column = [&](const Rows& some) {
    return some.tensor().reshape({-1, num_outputs}).select(1, output);
  };
  WeightedSample sample;
  if (rows.rows.defined()) append(column(rows.rows), sample.values);
  if (rows.weighted_rows.defined()) {
    sample.weights.assign(sample.values.size(), 1.0);
    append(column(rows.weighted_rows), sample.values);
    append(rows.weights.tensor(), sample.weights);
    TORCH_CHECK_VALUE(sample.weights.size() == sample.values.size(),
                      "the state's fields do not fit together");
  }
  return sample;
}

double regression::quantile(WeightedSample& sample, double alpha) {
  const double sum =
      std::accumulate(sample.values.begin(), sample.values.end(), 0.0) +
      std::accumulate(sample.weights.begin(), sample.weights.end(), 0.0);
  if (sample.values.empty()) return kNaN;
  // Infinities of both signs add up to NaN, too.
  if (std::isnan(sum)) {
    const auto is_nan = [](double value) { return std::isnan(value); };
    if (std::any_of(sample.values.begin(), sample.values.end(), is_nan) ||
        std::any_of(sample.weights.begin(), sample.weights.end(), is_nan)) {
      return kNaN;
    }
  }
  return sample.weights.empty() ? plain_quantile(sample.values, alpha)
                                : weighted_quantile(sample, alpha);
}

}  // namespace tally
