#include "tally/metrics/slices/compared_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/multiple_tests.h"
#include "tally/metrics/intervals/unit_statistics.h"
#include "tally/metrics/resampling/jackknife.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/metrics/slices/slice_difference.h"

namespace tally::internal::slices {
namespace {

using intervals::UnitBasis;
using intervals::UnitInterval;
using intervals::UnitSpread;
using intervals::UnitValues;
using States = std::vector<AnyState>;

/// Blocks that have rows that count.
struct Blocks {
  States states;
  std::vector<double> sizes;  // rows
};

/// A metric's states, put together and evaluated.
class Comparer {
 public:
  Comparer(const std::vector<SlicePart>& parts, const ComparedMetric& of,
           const SliceComparisonOptions& options)
      : parts_(parts), of_(of), options_(options) {
    for (const SlicePart& part : parts) {
      counted_ += part.counted;
      sizes_.push_back(sizes_in(part));
      dependent_ += part.dependent;
      wholes_.push_back(joined(blocks_of(part).states));
    }
    rests_ =
        without_each(of.metric.make_state(), wholes_, SliceComparison::kName);
    all_ = std::move(rests_.back());
    rests_.pop_back();
    units_ = count_units(parts);
    for (std::size_t k = 0; k < parts.size(); ++k) all_size_ += size_of_part(k);
    size_ = size_of(all_, all_size_);
  }

  /// Of the slices that have enough rows, those with the most.
  std::vector<ComparedSlice> slices() {
    std::vector<std::size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) {
                       return parts_[a].counted > parts_[b].counted;
                     });
    std::vector<ComparedSlice> slices;
    for (const std::size_t k : order) {
      if (static_cast<std::int64_t>(slices.size()) == options_.largest()) break;
      if (has_enough(k)) slices.push_back(slice(k));
    }
    return slices;
  }

 private:
  double value(const AnyState& state) const {
    // Metrics that are 0/0 mostly say 0.
    if (of_.sampling.deciding && of_.sampling.deciding(state) == 0) return kNaN;
    Results results;
    of_.metric.evaluate_into(state, "", results);
    return results.value().item<double>();
  }

  AnyState joined(const States& states) const {
    AnyState all = of_.metric.make_state();
    for (const AnyState& state : states) {
      merge(all, state, SliceComparison::kName);
    }
    return all;
  }

  Blocks blocks_of(const SlicePart& part) const {
    Blocks blocks;
    const std::vector<double> sizes = sizes_in(part);
    for (std::size_t b = 0; b < kBlocks; ++b) {
      if (sizes[b] == 0) continue;
      blocks.states.push_back(part.blocks[b]);
      blocks.sizes.push_back(sizes[b]);
    }
    return blocks;
  }

  /// Of all slices but one, or of all.
  Blocks blocks_without(std::size_t left_out) const {
    Blocks blocks;
    for (std::size_t b = 0; b < kBlocks; ++b) {
      States some;
      double size = 0;
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        if (k == left_out || sizes_[k][b] == 0) continue;
        some.push_back(parts_[k].blocks[b]);
        size += sizes_[k][b];
      }
      if (some.empty()) continue;
      blocks.states.push_back(joined(some));
      blocks.sizes.push_back(size);
    }
    return blocks;
  }

  std::int64_t units_without(std::size_t left_out) const {
    if (of_.kind != UnitKind::kGroups) {
      return units_ - static_cast<std::int64_t>(parts_[left_out].units.size());
    }
    std::vector<SlicePart> others;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (k == left_out) continue;
      others.emplace_back();
      others.back().units = parts_[k].units;
    }
    return count_units(others);
  }

  /// What its blocks hold: rows, or units that are wholly in one slice.
  std::vector<double> sizes_in(const SlicePart& part) const {
    std::vector<double> sizes(part.block_counted.begin(),
                              part.block_counted.end());
    if (of_.kind != UnitKind::kWhole) return sizes;
    sizes.assign(kBlocks, 0);
    for (const std::int64_t id : part.units) {
      sizes[static_cast<std::size_t>(intervals::block_of(
          /*seed=*/0, id, static_cast<std::int64_t>(kBlocks)))] += 1;
    }
    return sizes;
  }

  double size_of_part(std::size_t k) const {
    return std::accumulate(sizes_[k].begin(), sizes_[k].end(), 0.0);
  }
  double size_of_rest(std::size_t k) const {
    return all_size_ - size_of_part(k);
  }

  /// The rows that decide the value, or else all of that size.
  double size_of(const AnyState& state, double size) const {
    const double deciding = deciding_rows(of_.sampling, state);
    return std::isnan(deciding) ? size : deciding;
  }

  bool has_enough(std::size_t k) const {
    const auto least = static_cast<double>(options_.min_rows());
    const auto units = static_cast<std::int64_t>(parts_[k].units.size());
    const bool of_units = of_.kind == UnitKind::kWhole;
    const std::int64_t own = of_units ? units : parts_[k].counted;
    const std::int64_t others = (of_units ? units_ : counted_) - own;
    return std::min(own, others) >= options_.min_rows() &&
           size_of(wholes_[k], size_of_part(k)) >= least &&
           size_of(rests_[k], size_of_rest(k)) >= least;
  }

  /// Of `units` in these blocks, which have this value together.
  UnitInterval interval_of(const Blocks& blocks, double value_of_all,
                           std::int64_t units, double size) const {
    UnitValues values;
    values.value = value_of_all;
    const States others = without_each(of_.metric.make_state(), blocks.states,
                                       SliceComparison::kName);
    for (std::size_t b = 0; b < blocks.states.size(); ++b) {
      values.without.push_back(value(others[b]));
      values.alone.push_back(value(blocks.states[b]));
    }
    UnitBasis basis;
    basis.sizes = blocks.sizes;
    basis.units = static_cast<double>(units);
    basis.are_groups = of_.kind != UnitKind::kRows;
    basis.deciding = size;
    return intervals::unit_interval(values, basis, of_.sampling.range,
                                    options_.level());
  }

  /// Of proportions, if the values are such.
  std::optional<SliceDifference> difference_of_rates(std::size_t k) const {
    const auto& rate = of_.sampling.rate;
    if (!rate || of_.kind != UnitKind::kRows || dependent_ > 0) return {};
    const std::vector<Proportion> own = rate->proportions(wholes_[k]);
    const std::vector<Proportion> rest = rate->proportions(rests_[k]);
    if (own.size() != 1 || rest.size() != 1) return {};
    SliceDifference difference =
        rate_difference(own[0], rest[0], rate->value, options_.level());
    const double fewer = std::min(own[0].n, rest[0].n);
    difference.flags.add(IntervalFlag::kSmallClass,
                         fewer < intervals::kSmallestClass);
    return difference;
  }

  SliceDifference difference_of_spreads(std::size_t k,
                                        const ComparedSlice& slice) {
    const SlicePart& part = parts_[k];
    const double own = size_of(wholes_[k], size_of_part(k));
    const double others = size_of(rests_[k], size_of_rest(k));
    if (!pooled_) {
      pooled_ =
          interval_of(blocks_without(parts_.size()), value(all_), units_, size_)
              .spread;
    }
    SpreadOfParts spread;
    spread.fewer = std::min(own, others);
    spread.more = std::max(own, others);
    spread.slice = interval_of(blocks_of(part), slice.value, slice.units, own);
    spread.smaller = own <= others ? spread.slice.spread
                                   : interval_of(blocks_without(k), slice.rest,
                                                 units_without(k), others)
                                         .spread;
    spread.pooled = *pooled_;
    return spread_difference(slice.value, slice.rest, spread,
                             of_.sampling.range, options_.level());
  }

  ComparedSlice slice(std::size_t k) {
    ComparedSlice slice;
    slice.key = parts_[k].key;
    slice.rows = parts_[k].rows;
    slice.units = static_cast<std::int64_t>(parts_[k].units.size());
    slice.value = value(wholes_[k]);
    slice.rest = value(rests_[k]);
    const auto rates = difference_of_rates(k);
    const SliceDifference found =
        rates ? *rates : difference_of_spreads(k, slice);
    slice.value_low = found.value.low;
    slice.value_high = found.value.high;
    slice.difference = found.difference;
    slice.low = found.low;
    slice.high = found.high;
    slice.standard_error = found.standard_error;
    slice.degrees_of_freedom = found.degrees_of_freedom;
    slice.effect = found.effect;
    slice.p_value = found.p_value;
    slice.flags = found.flags;
    slice.flags.add(IntervalFlag::kSelected, of_.sampling.is_selected);
    return slice;
  }

  const std::vector<SlicePart>& parts_;
  const ComparedMetric& of_;
  const SliceComparisonOptions& options_;
  std::int64_t counted_ = 0;
  std::int64_t units_ = 0;
  std::int64_t dependent_ = 0;
  double size_ = 0;
  std::vector<std::vector<double>> sizes_;  // of parts, by block
  double all_size_ = 0;
  AnyState all_;
  States wholes_, rests_;
  std::optional<UnitSpread> pooled_;
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

std::vector<ComparedSlice> compare_parts(
    const std::vector<SlicePart>& parts, const ComparedMetric& of,
    const SliceComparisonOptions& options) {
  if (parts.size() < 2) return {};
  std::vector<ComparedSlice> slices = Comparer(parts, of, options).slices();
  adjust(slices);
  const auto badness = [&](const ComparedSlice& slice) {
    const double bound = of.higher_is_better ? slice.high : -slice.low;
    return std::isnan(bound) ? kInfinity : bound;
  };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const ComparedSlice& a, const ComparedSlice& b) {
                     return badness(a) < badness(b);
                   });
  return slices;
}

}  // namespace tally::internal::slices
