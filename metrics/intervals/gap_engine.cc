#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/state_checks.h"
#include "tally/metrics/intervals/unit_statistics.h"
#include "tally/state/fields.h"
#include "tally/state/state_parts.h"

namespace tally::internal::intervals {
namespace {

/// A bias of a quarter of a standard error costs an interval that ignores it
/// less than one point of its 95 % (Cochran 1977, section 1.7).
constexpr double kLargeBias = 0.25;

constexpr double kRounding = 1e-12;

/// Of rows that are alone in their bin nothing is known: of more, there is no
/// interval.
constexpr double kMostAlone = 0.1;

/// The sums of GapSampling.
struct GapState {
  at::Tensor sums;

  void fields(Fields& f) { f("gaps", sums); }
};

/// A mean of squared gaps, estimated by pairs of different rows of a bin, so
/// that gaps by chance do not add to it, and its variance.
struct SquaredGap {
  double value = kNaN;
  double variance = kNaN;
  double alone = 0;      // the share of rows that are alone in their bin
  double effective = 0;  // rows, by their weights
};

SquaredGap squared_gap(const at::Tensor& sums) {
  const at::Tensor own = sums.cpu().contiguous();
  const std::int64_t n_bins = own.size(-1);
  check_state_sizes("gaps", own, {4, n_bins});
  const auto* const data = own.const_data_ptr<double>();
  double total = 0, all_squares = 0;
  for (std::int64_t b = 0; b < n_bins; ++b) {
    total += data[b];
    all_squares += data[n_bins + b];
  }
  struct Bin {
    double weight, squares, gap, spread, pairs;
  };
  std::vector<Bin> bins;
  SquaredGap all{0, 0};
  all.effective = all_squares > 0 ? total * total / all_squares : 0;
  double mean = 0;
  for (std::int64_t b = 0; b < n_bins; ++b) {
    const double weight = data[b], squares = data[n_bins + b];
    const double pairs = weight * weight - squares;
    // One row has no pair; rounding can leave some of its weight.
    if (!(pairs > kRounding * squares)) {
      all.alone += weight / total;
      continue;
    }
    const double sum = data[2 * n_bins + b], products = data[3 * n_bins + b];
    const double gap = (sum * sum - products) / pairs;
    const double second = products / squares;
    const double single = second - sum * sum / (weight * weight);
    // Less is rounding: all gaps of the bin are the same.
    const double spread =
        single > kRounding * second ? single * weight * weight / pairs : 0;
    all.value += weight / total * gap;
    mean += weight / total * std::max(gap, 0.0);
    bins.push_back({weight, squares, std::max(gap, 0.0), spread, pairs});
  }
  for (const Bin& bin : bins) {
    const double off = bin.gap - mean;
    const double of_rows = bin.squares * (4 * bin.gap * bin.spread + off * off);
    // All there is where there is no gap.
    const double of_pairs =
        2 * std::pow(bin.squares * bin.spread, 2) / bin.pairs;
    all.variance += (of_rows + of_pairs) / (total * total);
  }
  return all;
}

/// The ends of Sun, Chaudhari, Barnett and Dobriban 2024: two-sided where the
/// squared gap is clearly above 0, one-sided where it may be 0.
IntervalBounds squared_ends(const SquaredGap& gap, double level) {
  const double error = std::sqrt(gap.variance);
  const double two_sided = normal_quantile((1 + level) / 2) * error;
  const double one_sided = normal_quantile(level) * error;
  const double value = std::max(gap.value, 0.0);
  IntervalBounds ends{0, value + two_sided};
  if (value >= 2 * two_sided) {
    ends.low = value - two_sided;
  } else if (value >= 2 * one_sided) {
    ends.low = value / 2;
  } else {
    ends.low = std::max(value - one_sided, 0.0);
  }
  return ends;
}

class GapEngine final : public IntervalEngine {
 public:
  GapEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
            GapSampling gaps)
      : IntervalEngine(std::move(metric), options), gaps_(std::move(gaps)) {}

  IntervalMethod method() const override {
    return IntervalMethod::kDebiasedGaps;
  }
  AnyState identity() const override {
    return state_of(metric_->make_state(), GapState());
  }
  StateKey key() const override { return "Gaps(" + metric_->state_key() + ")"; }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs.size() > 2 ? inputs.slice(0, 2) : inputs,
                  /*dims=*/1);
    const bool has_tensors =
        inputs.size() >= 2 &&
        std::all_of(inputs.begin(), inputs.end(), [](const InputRef& input) {
          return input.is_none() || input.as<at::Tensor>() != nullptr;
        });
    // Refuses others, in the metric's own words.
    if (!has_tensors) return state_of(observe_batch(*metric_, inputs), {});
    GapSampling::Batch batch = gaps_.observe(inputs);
    return state_of(std::move(batch.state), GapState{std::move(batch.sums)});
  }
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override {
    const auto& parts = state.get<StateParts>().parts();
    const FlatResult value = flat_result(*metric_, parts[0]);
    const at::Tensor& sums = parts[1].get<GapState>().sums;
    Bounds bounds;
    if (value.values[0] == value.values[0] && sums.defined()) {
      const SquaredGap gap = squared_gap(sums);
      bounds = bounds_of(gap);
      const double bias = value.values[0] * value.values[0] - gap.value;
      bounds.flags.add(IntervalFlag::kBiased,
                       bounds.low == bounds.low &&
                           bias > kLargeBias * std::sqrt(gap.variance));
      bounds.flags.add(IntervalFlag::kUnevenUnits,
                       gap.effective < static_cast<double>(count.weighed) / 2);
    }
    const Interval unfilled = this->unfilled(count);
    bounds.flags.add(IntervalFlag::kFewUnits, unfilled.counted < kFewRows);
    return make_intervals(value, {bounds}, unfilled);
  }

 private:
  static AnyState state_of(AnyState metric, GapState gaps) {
    return AnyState::of(StateParts({{"metric", std::move(metric)},
                                    {"gaps", AnyState::of(std::move(gaps))}}));
  }
  Bounds bounds_of(const SquaredGap& gap) const {
    Bounds bounds;
    if (gap.alone > kMostAlone) {
      bounds.flags.add(IntervalFlag::kUndefinedBlocks);
      return bounds;
    }
    if (gap.effective < 2) return bounds;
    if (!varies(gap.value, std::sqrt(gap.variance))) {
      bounds.flags.add(IntervalFlag::kNoVariation);
      return bounds;
    }
    const IntervalBounds ends = squared_ends(gap, options_.level());
    bounds.low = std::sqrt(ends.low);
    bounds.high = std::min(std::sqrt(ends.high), 1.0);
    if (gap.value > 0) {
      bounds.standard_error = std::sqrt(gap.variance / gap.value) / 2;
    }
    return bounds;
  }

  GapSampling gaps_;
};

}  // namespace

std::unique_ptr<IntervalEngine> gap_engine(std::unique_ptr<Metric>& metric,
                                           const IntervalOptions& options) {
  auto gaps = metric->sampling().gaps;
  if (!gaps) return nullptr;
  return std::make_unique<GapEngine>(std::move(metric), options,
                                     *std::move(gaps));
}

}  // namespace tally::internal::intervals
