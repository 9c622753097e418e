#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/comparison_engine.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/intervals/row_matches.h"
#include "tally/metrics/intervals/state_checks.h"
#include "tally/metrics/sampling.h"

namespace tally::internal::intervals {
namespace {

class McnemarEngine final : public ComparisonEngine {
 public:
  McnemarEngine(std::unique_ptr<Metric> metric,
                const ModelComparisonOptions& options, MatchSampling matches)
      : ComparisonEngine(options),
        metric_(std::move(metric)),
        matches_(std::move(matches)) {}

  const Metric& metric() const override { return *metric_; }
  ComparisonMethod method() const override {
    return ComparisonMethod::kMcnemar;
  }
  AnyState identity() const override { return AnyState::of(PairedMatches()); }
  StateKey key() const override {
    return StateKey("Mcnemar(" + metric_->repr() + ")", typeid(PairedMatches));
  }
  AnyState observe(Inputs first, Inputs second,
                   const std::vector<std::int64_t>&) const override {
    for (const Inputs& inputs : {first, second}) {
      check_counted(*metric_, inputs, matches_.target_dims);
      check_inputs(*metric_, inputs);
    }
    check_same_nan(*metric_, first, second);
    const auto bits_of = [&](Inputs inputs) {
      return matches_
          .matches(*inputs[0].as<at::Tensor>(), *inputs[1].as<at::Tensor>())
          .cpu()
          .contiguous();
    };
    const at::Tensor own = bits_of(first);
    const at::Tensor other = bits_of(second);
    const auto* const a = own.const_data_ptr<std::uint8_t>();
    const auto* const b = other.const_data_ptr<std::uint8_t>();
    PairedMatches counts;
    for (std::int64_t i = 0; i < own.numel(); ++i) {
      counts.add(row_match(a[i]), row_match(b[i]));
    }
    return AnyState::of(counts);
  }
  Comparisons compare(const AnyState& state,
                      const RowCount& count) const override {
    Comparison comparison = unfilled(count);
    fill_mcnemar(state.get<PairedMatches>(), comparison);
    return {{"", std::move(comparison)}};
  }

 private:
  std::unique_ptr<Metric> metric_;
  MatchSampling matches_;
};

/// What counts of the rows: float64 [N, 3] of both scores and the target.
struct PairedScores {
  Rows rows;

  void fields(Fields& f) { f("rows", rows); }
};

/// Columns of the rows in an order that does not depend on theirs.
std::array<at::Tensor, 3> sorted_columns(const at::Tensor& rows) {
  using Row = std::array<double, 3>;
  check_state_sizes("rows", rows, {rows.size(0), 3});
  const auto* const data = rows.const_data_ptr<double>();
  std::vector<Row> sorted;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    sorted.push_back({data[3 * i], data[3 * i + 1], data[3 * i + 2]});
  }
  std::sort(sorted.begin(), sorted.end());
  std::array<at::Tensor, 3> columns;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns[c] = at::empty({rows.size(0)}, at::kDouble);
    std::transform(sorted.begin(), sorted.end(),
                   columns[c].mutable_data_ptr<double>(),
                   [c](const Row& row) { return row[c]; });
  }
  return columns;
}

class DelongEngine final : public ComparisonEngine {
 public:
  DelongEngine(std::unique_ptr<Metric> metric,
               const ModelComparisonOptions& options, ScoreSampling scores)
      : ComparisonEngine(options),
        metric_(std::move(metric)),
        scores_(std::move(scores)) {}

  const Metric& metric() const override { return *metric_; }
  ComparisonMethod method() const override { return ComparisonMethod::kDelong; }
  AnyState identity() const override { return AnyState::of(PairedScores()); }
  StateKey key() const override {
    return StateKey("Delong(" + metric_->repr() + ")", typeid(PairedScores));
  }
  AnyState observe(Inputs first, Inputs second,
                   const std::vector<std::int64_t>&) const override {
    const auto observed = [&](Inputs inputs) {
      check_counted(*metric_, inputs, /*dims=*/1);
      AnyState batch = metric_->make_batch();
      metric_->observe_into(batch, inputs, BatchOrigin());
      return batch;
    };
    const AnyState own = observed(first);
    const AnyState other = observed(second);
    check_same_nan(*metric_, first, second);
    const ScoreSampling::Kept kept = scores_.kept(own).front();
    PairedScores scores;
    if (kept.scores.size() == 0) return AnyState::of(scores);
    const auto column = [](const Rows& rows) {
      return rows.tensor().reshape(-1).to(at::kCPU, at::kDouble);
    };
    const at::Tensor target = column(kept.target);
    const at::Tensor counted = target.ne(2).nonzero().reshape(-1);
    scores.rows =
        Rows(at::stack({column(kept.scores),
                        column(scores_.kept(other).front().scores), target},
                       /*dim=*/1)
                 .index_select(0, counted));
    return AnyState::of(scores);
  }
  Comparisons compare(const AnyState& state,
                      const RowCount& count) const override {
    const Rows& rows = state.get<PairedScores>().rows;
    Comparison comparison = unfilled(count);
    comparison.units = comparison.counted = static_cast<double>(rows.size());
    if (rows.size() > 0) fill(rows.tensor().contiguous(), comparison);
    return {{"", std::move(comparison)}};
  }

 private:
  void fill(const at::Tensor& rows, Comparison& comparison) const {
    const at::Tensor nan = rows.isnan().any(0);
    const std::array<bool, 2> has_nan = {nan[0].item<bool>(),
                                         nan[1].item<bool>()};
    // NaN have no order.
    const auto [first, second, target] =
        sorted_columns(rows.nan_to_num(/*nan=*/0).contiguous());
    const AreaComparison areas =
        compare_areas(first, second, target, options().level());
    if (!has_nan[0]) comparison.first.fill_(areas.first);
    if (!has_nan[1]) comparison.second.fill_(areas.second);
    if (has_nan[0] || has_nan[1]) return;
    comparison.difference.fill_(areas.difference);
    comparison.low.fill_(areas.low);
    comparison.high.fill_(areas.high);
    comparison.p_value.fill_(areas.p_value);
    comparison.standard_error.fill_(areas.standard_error);
    comparison.degrees_of_freedom.fill_(kInfinity);
    const double positives = target.sum().item<double>();
    comparison.flags.add(
        IntervalFlag::kSmallClass,
        std::min(positives, static_cast<double>(target.numel()) - positives) <
            kSmallestClass);
    comparison.flags.add(
        IntervalFlag::kNoVariation,
        areas.low != areas.low && areas.standard_error == areas.standard_error);
  }

  std::unique_ptr<Metric> metric_;
  ScoreSampling scores_;
};

}  // namespace

std::unique_ptr<ComparisonEngine> mcnemar_engine(
    std::unique_ptr<Metric>& metric, const ModelComparisonOptions& options) {
  auto matches = metric->sampling().matches;
  if (!matches) return nullptr;
  return std::make_unique<McnemarEngine>(std::move(metric), options,
                                         *std::move(matches));
}

std::unique_ptr<ComparisonEngine> delong_engine(
    std::unique_ptr<Metric>& metric, const ModelComparisonOptions& options) {
  auto scores = metric->sampling().scores;
  if (!scores || scores->area != CurveArea::kRoc) return nullptr;
  return std::make_unique<DelongEngine>(std::move(metric), options,
                                        *std::move(scores));
}

}  // namespace tally::internal::intervals
