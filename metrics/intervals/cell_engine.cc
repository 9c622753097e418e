#include <utility>
#include <vector>

#include "tally/metrics/intervals/cell_table.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/make_engine.h"

namespace tally::internal::intervals {
namespace {

class CellEngine final : public IntervalEngine {
 public:
  CellEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
             CellSampling cells)
      : IntervalEngine(std::move(metric), options), cells_(std::move(cells)) {}

  IntervalMethod method() const override {
    if (options_.method() != IntervalMethod::kAuto) return options_.method();
    return cells_.averaged ? IntervalMethod::kMover
                           : IntervalMethod::kLogitDelta;
  }
  bool has_bca() const override {
    return method() == IntervalMethod::kPoissonCells;
  }
  bool has_strata() const override { return has_bca(); }
  AnyState identity() const override { return source().make_state(); }
  StateKey key() const override { return source().state_key(); }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs, cells_.target_dims);
    return observe_batch(source(), inputs);
  }
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override {
    const AnyState own =
        cells_.source ? metric_->derive(state) : AnyState(state);
    const FlatResult value = flat_result(*metric_, own);
    const CellTable table = cells_.table(state);
    const bool is_formula = method() != IntervalMethod::kPoissonCells;
    std::vector<Bounds> bounds;
    if (method() == IntervalMethod::kMover && value.values.size() == 1) {
      const auto mover = mover_bounds(table, value.values[0], *cells_.averaged,
                                      options_.level());
      if (mover) bounds.push_back(*mover);
    }
    if (bounds.empty()) {
      bounds =
          is_formula
              ? delta_bounds(*metric_, table, value, cells_, options_.level())
              : poisson_cell_bounds(*metric_, table, value, options_);
      if (method() == IntervalMethod::kMover) {
        for (Bounds& each : bounds) each.method = IntervalMethod::kLogitDelta;
      }
    }
    Interval unfilled =
        this->unfilled(count, is_formula ? 0 : options_.replicates());
    unfilled.counted = 0;
    for (const auto& cell : table.cells) {
      unfilled.counted += static_cast<double>(cell.count);
    }
    if (table.cells.size() > 0) add_flags(own, unfilled.flags);
    return make_intervals(value, bounds, unfilled);
  }

 private:
  void add_flags(const AnyState& state, IntervalFlags& flags) const {
    const MetricSampling sampling = metric_->sampling();
    // That of classes is in their table.
    flags.add(
        IntervalFlag::kSmallClass,
        !cells_.source && deciding_rows(sampling, state) < kSmallestClass);
    flags.add(IntervalFlag::kMissingClass,
              sampling.has_missing_class && sampling.has_missing_class(state));
  }
  const Metric& source() const {
    return cells_.source ? *cells_.source : *metric_;
  }

  CellSampling cells_;
};

}  // namespace

std::unique_ptr<IntervalEngine> cell_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options) {
  auto cells = metric->sampling().cells;
  if (!cells) return nullptr;
  if (options.method() == IntervalMethod::kMover && !cells->averaged) {
    return nullptr;
  }
  return std::make_unique<CellEngine>(std::move(metric), options,
                                      *std::move(cells));
}

}  // namespace tally::internal::intervals
