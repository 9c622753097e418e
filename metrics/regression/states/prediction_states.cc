#include <ATen/ops/cat.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/metrics/regression/states/error_sums.h"
#include "tally/metrics/regression/states/explained.h"
#include "tally/metrics/regression/states/row_scores.h"
#include "tally/metrics/regression/states/sample_pairs.h"
#include "tally/metrics/regression/states/weighted_rows.h"
#include "tally/state/fresh_tensor.h"

namespace tally {
namespace internal::regression {

double explained_fraction(double unexplained, double all) {
  if (all == 0) return unexplained == 0 ? 1 : unexplained > 0 ? 0 : kNaN;
  return 1 - unexplained / all;
}

at::Tensor explained_fraction(const at::Tensor& unexplained,
                              const at::Tensor& all) {
  const at::Tensor nothing = all.eq(0);
  return unexplained.div(all.masked_fill(nothing, 1))
      .neg()
      .add(1)
      .masked_fill(unexplained.gt(0).bitwise_and(nothing), 0);
}

at::Tensor explained_fraction(const Number& unexplained, const Number& all,
                              std::int64_t samples) {
  if (unexplained.is_plain() && all.is_plain()) {
    return Number(samples < 2
                      ? kNaN
                      : explained_fraction(unexplained.value(), all.value()));
  }
  return undefined_unless(
      samples >= 2, explained_fraction(unexplained.tensor(), all.tensor()));
}

at::Tensor average_outputs(const at::Tensor& scores, const at::Tensor& weights,
                           MultiOutput multioutput) {
  if (multioutput == MultiOutput::kRawValues) return scores;
  if (multioutput == MultiOutput::kUniformAverage) return scores.mean();
  const at::Tensor sum = weights.sum();
  const at::Tensor equal = sum.eq(0);
  return scores.mul(weights.masked_fill(equal, 1))
      .sum()
      .div(sum.masked_fill(equal, static_cast<double>(scores.numel())));
}

}  // namespace internal::regression

namespace regression = internal::regression;

namespace {

at::Tensor kept_form(const at::Tensor& input, std::int64_t num_outputs) {
  const at::ScalarType dtype = input.scalar_type();
  const bool narrow =
      dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
  at::Tensor kept = input.requires_grad() ? input.detach() : input;
  const at::ScalarType wanted = narrow ? at::kFloat : at::kDouble;
  if (dtype != wanted) kept = kept.to(wanted);
  return num_outputs == 1 && kept.dim() != 1 ? kept.reshape(-1) : kept;
}

// Sums of weights nearer than this, relatively, are the same.
constexpr double kRounding = 1e-12;

// Sign, exponent and 4 bits of the mantissa.
constexpr int kLeadingBits = 16;
// Below it, to sort out all values costs less than to count their bits.
constexpr std::size_t kFewValues = 1 << 14;

std::size_t leading_bits(double value) {
  return internal::ordered_bits(value) >> (64 - kLeadingBits);
}

// The value of that index in order, and the next one, if there is any.
std::pair<double, double> order_statistics(c10::ArrayRef<double> values,
                                           std::size_t index) {
  std::vector<double> near;
  std::size_t own = 0;
  if (values.size() < kFewValues) {
    near = values.vec();
  } else {
    // One pass finds out with which bits the value begins, another what else
    // begins with them.
    std::vector<std::size_t> counts(std::size_t{1} << kLeadingBits);
    for (const double value : values) ++counts[leading_bits(value)];
    while (index >= counts[own]) index -= counts[own++];
    // Without a branch, as nobody could foresee it.
    near.resize(counts[own] + 1);
    std::size_t found = 0;
    for (const double value : values) {
      near[found] = value;
      found += leading_bits(value) == own ? 1 : 0;
    }
    near.pop_back();
  }
  const auto place = near.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(near.begin(), place, near.end());
  double next = internal::kInfinity;
  if (place + 1 != near.end()) {
    next = *std::min_element(place + 1, near.end());
  } else if (near.size() < values.size()) {
    for (const double value : values) {
      if (leading_bits(value) > own) next = std::min(next, value);
    }
  }
  return {*place, next};
}

double plain_quantile(c10::ArrayRef<double> values, double alpha) {
  const auto count = static_cast<double>(values.size());
  const double place = alpha * count;
  const double whole = std::round(place);
  const bool exact = std::abs(place - whole) <= kRounding * count;
  // The first value up to which there are at least `place`.
  const auto index = static_cast<std::size_t>(
      std::clamp((exact ? whole : std::ceil(place)) - 1, 0.0, count - 1));
  const auto [low, next] = order_statistics(values, index);
  const bool is_between = exact && whole >= 1 && index + 1 < values.size();
  return is_between ? (low + next) / 2 : low;
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
  if (order.empty()) return internal::kNaN;
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

bool ErrorState::has_nan() const {
  return std::isnan(sum.value()) || std::isnan(weight.value()) ||
         (output_sums.defined() && internal::has_nan(output_sums));
}

at::Tensor regression::mean_error(const ErrorState& state,
                                  std::int64_t num_outputs) {
  if (num_outputs == 1) return state.sum / state.weight;
  if (!state.output_sums.defined()) return undefined_outputs(num_outputs);
  return state.output_sums.div(state.weight.tensor());
}

at::Tensor regression::root_mean_error(const ErrorState& state,
                                       std::int64_t num_outputs) {
  if (num_outputs == 1) {
    const Number mean = state.sum / state.weight;
    return mean.is_plain() ? sqrt(mean) : Number(root(mean.tensor()));
  }
  return root(mean_error(state, num_outputs));
}

bool RowScoresState::has_nan() const {
  return std::isnan(sum.value()) ||
         (scores.defined() && internal::has_nan(scores.tensor()));
}

at::Tensor regression::reduce_rows(const RowScoresState& state,
                                   RowReduction reduction) {
  if (reduction == RowReduction::kSum) return state.sum;
  if (reduction == RowReduction::kMean) return state.sum / state.total;
  return state.scores.defined() ? state.scores.tensor()
                                : fresh_zeros({0}, at::kDouble);
}

SamplePairs::State SamplePairs::observe(const at::Tensor& preds,
                                        const at::Tensor& target) const {
  regression::check_columns(preds, target, num_outputs_);
  const auto state = [this](const at::Tensor& p, const at::Tensor& t) {
    return State{Rows(kept_form(p, num_outputs_)),
                 Rows(kept_form(t, num_outputs_))};
  };
  if (nan_policy_ == NanPolicy::kPropagate) return state(preds, target);
  if (preds.is_cpu() && !internal::has_nan(preds) &&
      !internal::has_nan(target)) {
    return state(preds, target);
  }
  const at::Tensor no_weight;
  const regression::KeptSamples kept = regression::handle_nan(
      {preds, target, no_weight}, num_outputs_, nan_policy_);
  return state(kept.preds, kept.target);
}

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
  const auto column = [&](const Rows& some) {
    return some.tensor()
        .reshape({-1, num_outputs})
        .select(1, output)
        .to(at::kCPU)
        .contiguous();
  };
  WeightedSample sample;
  if (rows.rows.defined()) sample.rows = column(rows.rows);
  if (rows.weighted_rows.defined()) {
    const at::Tensor more = column(rows.weighted_rows);
    if (sample.rows.defined()) {
      sample.weights.assign(static_cast<std::size_t>(sample.rows.numel()), 1.0);
      sample.rows = at::cat({sample.rows, more});
    } else {
      sample.rows = more;
    }
    const at::Tensor weights = rows.weights.tensor().to(at::kCPU).contiguous();
    const auto* const own = weights.const_data_ptr<double>();
    sample.weights.insert(sample.weights.end(), own, own + weights.numel());
    TORCH_CHECK_VALUE(
        sample.weights.size() == static_cast<std::size_t>(sample.rows.numel()),
        "the state's fields do not fit together");
  }
  if (sample.rows.defined()) {
    sample.values = {sample.rows.const_data_ptr<double>(),
                     static_cast<std::size_t>(sample.rows.numel())};
  }
  return sample;
}

double regression::quantile(const WeightedSample& sample, double alpha) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (sample.values.empty() ||
      std::any_of(sample.values.begin(), sample.values.end(), is_nan) ||
      std::any_of(sample.weights.begin(), sample.weights.end(), is_nan)) {
    return internal::kNaN;
  }
  return sample.weights.empty() ? plain_quantile(sample.values, alpha)
                                : weighted_quantile(sample, alpha);
}

}  // namespace tally
