#include "tally/metrics/slices/slice_comparison.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/multiple_tests.h"
#include "tally/metrics/resampling/jackknife.h"
#include "tally/metrics/resampling/philox.h"

namespace tally {
namespace {

constexpr std::size_t kBlocks = 20;

using States = std::vector<AnyState>;

/// A metric's states, put together and evaluated.
class Evaluator {
 public:
  explicit Evaluator(const Metric& metric) : metric_(metric) {}

  double value(const AnyState& state) const {
    Results results;
    metric_.evaluate_into(state, "", results);
    return results.value().item<double>();
  }

  AnyState empty() const { return metric_.make_state(); }

  AnyState joined(const States& states) const {
    AnyState all = empty();
    for (const AnyState& state : states) {
      merge(all, state, SliceComparison::kName);
    }
    return all;
  }

  /// For each state, all others together.
  States without_each(const States& states) const {
    States others =
        internal::without_each(empty(), states, SliceComparison::kName);
    others.pop_back();
    return others;
  }

  /// The jackknife's variance of the value of all blocks together.
  double variance(const States& blocks) const {
    std::vector<double> values;
    for (const AnyState& state : without_each(blocks)) {
      values.push_back(value(state));
    }
    return internal::jackknife_variance(values);
  }

 private:
  const Metric& metric_;
};

void adjust(std::vector<ComparedSlice>& slices) {
  std::vector<double> p_values;
  for (const ComparedSlice& slice : slices) p_values.push_back(slice.p_value);
  const std::vector<double> adjusted = benjamini_hochberg(p_values);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    slices[i].q_value = adjusted[i];
  }
}

}  // namespace

/// The rows of a slice.
struct SliceComparison::Group {
  std::vector<SliceValue> key;
  std::int64_t rows = 0;
  States blocks;  // kBlocks; undefined ones have no rows
};

std::string ComparedSlice::name() const { return internal::slice_words(key); }

namespace {

SliceComparisonOptions checked(SliceComparisonOptions options) {
  constexpr const char* kName = SliceComparison::kName;
  TORCH_CHECK_VALUE(options.min_rows() >= 2, kName,
                    ": expected min_rows to be at least 2, got ",
                    options.min_rows());
  TORCH_CHECK_VALUE(options.largest() >= 1 && options.max_slices() >= 1, kName,
                    ": expected largest and max_slices to be at least "
                    "1, got ",
                    options.largest(), " and ", options.max_slices());
  TORCH_CHECK_VALUE(options.level() > 0 && options.level() < 1, kName,
                    ": expected a level in (0, 1), got ", options.level());
  return options;
}

}  // namespace

SliceComparison::SliceComparison(Options options)
    : SlicedRows(internal::slice_rules(kName, checked(options).max_slices(), {},
                                       kBlocks),
                 {}),
      options_(std::move(options)) {}

SliceComparison::SliceComparison(OwnedMetric owned, Options options)
    : SliceComparison(std::move(options)) {
  std::unique_ptr<Metric> metric = owned.take(kName);
  TORCH_CHECK_VALUE(metric->higher_is_better().has_value(), kName,
                    ": expected a metric for which higher or lower values are "
                    "better, got ",
                    metric->repr());
  higher_is_better_ = *metric->higher_is_better();
  Results results;
  metric->evaluate_into(metric->make_state(), "", results);
  TORCH_CHECK_VALUE(results.size() == 1 && results.value().dim() == 0, kName,
                    ": expected a metric whose result is one number, got ",
                    metric->repr());
  add_metric("", std::move(metric));
}

const Metric& SliceComparison::metric() const {
  return *metrics_.members_[0].metric;
}

SliceKeys SliceComparison::with_blocks(const SliceKeys& keys,
                                       const SampleIds& ids) const {
  TORCH_CHECK_VALUE(ids.size() == keys.size(), kName,
                    ": expected an id for each of ", keys.size(), " keys, got ",
                    ids.size());
  const at::Tensor blocks = at::empty({ids.size()}, at::kLong);
  auto* block = blocks.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t id : ids.values()) {
    *block++ = internal::intervals::block_of(
        /*seed=*/0, id, static_cast<std::int64_t>(kBlocks));
  }
  return keys.crossed_with(SliceKeys(blocks));
}

std::vector<SliceComparison::Group> SliceComparison::groups(
    const internal::StateRows& rows) const {
  std::vector<Group> groups;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<SliceValue> key = internal::slice_key_of(rows.key(r));
    const auto block =
        static_cast<std::size_t>(std::get<std::int64_t>(key.back()));
    key.pop_back();
    // Keys are in their order, and their last column is the block.
    if (groups.empty() || groups.back().key != key) {
      groups.push_back({std::move(key), 0, States(kBlocks)});
    }
    groups.back().rows += rows.count(r);
    groups.back().blocks[block] = rows.state(r, 0);
  }
  return groups;
}

void SliceComparison::compare(const std::vector<Group>& groups,
                              std::vector<ComparedSlice>& slices) const {
  const Evaluator evaluator(metric());
  std::int64_t all_rows = 0;
  States wholes, total;
  for (const Group& group : groups) {
    all_rows += group.rows;
    States blocks;
    for (const AnyState& block : group.blocks) {
      if (block.defined()) blocks.push_back(block);
    }
    wholes.push_back(evaluator.joined(blocks));
  }
  // Of all groups but one, or all: the blocks that have rows.
  const auto blocks_without = [&](std::size_t left_out) {
    States blocks;
    for (std::size_t b = 0; b < kBlocks; ++b) {
      States parts;
      for (std::size_t k = 0; k < groups.size(); ++k) {
        const AnyState& block = groups[k].blocks[b];
        if (k != left_out && block.defined()) parts.push_back(block);
      }
      if (!parts.empty()) blocks.push_back(evaluator.joined(parts));
    }
    return blocks;
  };
  total = blocks_without(groups.size());
  const double square =
      evaluator.variance(total) * static_cast<double>(all_rows);
  const double degrees = static_cast<double>(total.size()) - 1;
  const double bound = degrees > 0 ? internal::intervals::student_t_quantile(
                                         (1 + options_.level()) / 2, degrees)
                                   : internal::kNaN;
  const States rests = evaluator.without_each(wholes);
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const Group& group = groups[k];
    const auto found = std::find_if(
        slices.begin(), slices.end(),
        [&](const ComparedSlice& slice) { return slice.key == group.key; });
    if (found == slices.end()) continue;
    ComparedSlice& slice = *found;
    const std::int64_t rest_rows = all_rows - group.rows;
    slice.value = evaluator.value(wholes[k]);
    slice.rest = evaluator.value(rests[k]);
    slice.difference = slice.value - slice.rest;
    const bool is_smaller = group.rows <= rest_rows;
    States blocks;
    for (const AnyState& block : group.blocks) {
      if (block.defined()) blocks.push_back(block);
    }
    if (!is_smaller) blocks = blocks_without(k);
    const auto fewer = static_cast<double>(std::min(group.rows, rest_rows));
    const auto more = static_cast<double>(std::max(group.rows, rest_rows));
    const double own = evaluator.variance(blocks);
    // Not std::max, which would choose among NaN by their places.
    const double variance =
        std::isnan(own) ? own : std::max(own, square / fewer);
    const double error = std::sqrt(variance + square / more);
    const double spread = std::sqrt((variance * fewer + square) / 2);
    const double half = error * bound;
    slice.low = slice.difference - half;
    slice.high = slice.difference + half;
    const bool is_none = slice.difference == 0;
    slice.effect = is_none ? 0 : slice.difference / spread;
    slice.p_value = std::isnan(error) ? internal::kNaN
                    : is_none         ? 1
                                      : internal::intervals::student_t_p_value(
                                            slice.difference / error, degrees);
  }
}

std::vector<ComparedSlice> SliceComparison::values_of(
    const internal::StateRows& states) const {
  const std::vector<Group> all = groups(states);
  std::int64_t rows = 0;
  for (const Group& group : all) rows += group.rows;
  std::vector<ComparedSlice> slices;
  for (const Group& group : all) {
    if (std::min(group.rows, rows - group.rows) < options_.min_rows()) continue;
    slices.emplace_back();
    slices.back().key = group.key;
    slices.back().rows = group.rows;
  }
  std::stable_sort(slices.begin(), slices.end(),
                   [](const ComparedSlice& a, const ComparedSlice& b) {
                     return a.rows > b.rows;
                   });
  slices.resize(std::min<std::size_t>(
      slices.size(), static_cast<std::size_t>(options_.largest())));
  if (slices.empty()) return slices;
  compare(all, slices);
  adjust(slices);
  const auto badness = [&](const ComparedSlice& slice) {
    const double bound = higher_is_better_ ? slice.high : -slice.low;
    return std::isnan(bound) ? internal::kInfinity : bound;
  };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const ComparedSlice& a, const ComparedSlice& b) {
                     return badness(a) < badness(b);
                   });
  return slices;
}

std::vector<ComparedSlice> SliceComparison::compute() {
  return compute_by(
      value_, [&](internal::StateRows& rows) { return values_of(rows); },
      [](std::vector<ComparedSlice>&) {});
}

PendingValue<std::vector<ComparedSlice>> SliceComparison::sync_async() {
  return sync_async_by<std::vector<ComparedSlice>>([&] {
    SliceComparison copy(options_);
    copy_metrics_into(copy);
    copy.higher_is_better_ = higher_is_better_;
    return
        [snapshot = std::make_shared<const SliceComparison>(std::move(copy))](
            internal::StateRows& rows) { return snapshot->values_of(rows); };
  });
}

SliceComparison SliceComparison::clone() const {
  SliceComparison copy(options_);
  copy.higher_is_better_ = higher_is_better_;
  copy_into(copy);
  return copy;
}

std::string SliceComparison::repr() const {
  return std::string(kName) + "(metric=" + metric().repr() + ")";
}

}  // namespace tally
