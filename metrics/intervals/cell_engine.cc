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
    return options_.method() == IntervalMethod::kAuto
               ? IntervalMethod::kLogitDelta
               : options_.method();
  }
  bool has_bca() const override {
    return method() == IntervalMethod::kPoissonCells;
  }
  AnyState identity() const override { return source().make_state(); }
  StateKey key() const override { return source().state_key(); }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs, cells_.target_dims);
    return observe_batch(source(), inputs);
  }
  Intervals intervals(const AnyState& state, std::int64_t n) const override {
    const FlatResult value = flat_result(
        *metric_, cells_.source ? metric_->derive(state) : AnyState(state));
    const CellTable table = cells_.table(state);
    const bool is_delta = method() == IntervalMethod::kLogitDelta;
    return make_intervals(
        value,
        is_delta
            ? delta_bounds(*metric_, table, value, cells_, options_.level())
            : poisson_cell_bounds(*metric_, table, value, options_),
        unfilled(n, is_delta ? 0 : options_.replicates()));
  }

 private:
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
  return std::make_unique<CellEngine>(std::move(metric), options,
                                      *std::move(cells));
}

}  // namespace tally::internal::intervals
