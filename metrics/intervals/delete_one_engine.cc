#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/curve_samples.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/state_checks.h"
#include "tally/metrics/intervals/unit_statistics.h"

namespace tally::internal::intervals {
namespace {

/// The average precision of single rows, without ids: what it is without each
/// of them needs no other state than the metric's own.
class DeleteOneEngine final : public IntervalEngine {
 public:
  DeleteOneEngine(std::unique_ptr<Metric> metric,
                  const IntervalOptions& options, ScoreSampling scores,
                  ValueRange range)
      : IntervalEngine(std::move(metric), options),
        scores_(std::move(scores)),
        range_(range) {}

  IntervalMethod method() const override { return IntervalMethod::kDeleteOne; }
  AnyState identity() const override {
    AnyState state = metric_->make_state();
    if (scores_.keep_rows) scores_.keep_rows(state);
    return state;
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    check_counted(*metric_, inputs.size() > 2 ? inputs.slice(0, 2) : inputs,
                  /*dims=*/1);
    return observe_batch(*metric_, inputs);
  }
  Intervals intervals(const AnyState& state,
                      const RowCount& count) const override {
    const FlatResult value = flat_result(*metric_, state);
    std::vector<CurveSample> samples;
    for (const ScoreSampling::Kept& kept : scores_.kept(state)) {
      append(kept, samples);
    }
    Interval unfilled = this->unfilled(count);
    Bounds bounds;
    if (value.values[0] == value.values[0] && are_numbers(samples)) {
      auto without = precision_without_each(std::move(samples));
      UnitBasis basis;
      basis.sizes = std::move(without.weights);
      basis.units = static_cast<double>(basis.sizes.size());
      basis.deciding = without.positives;
      unfilled.units = unfilled.counted = basis.units;
      UnitValues values;
      values.value = value.values[0];
      values.without = std::move(without.without);
      bounds =
          Bounds::of(unit_interval(values, basis, range_, options_.level()));
      if (bounds.method == IntervalMethod::kJackknife) {
        bounds.method = IntervalMethod::kDeleteOne;
      }
    }
    return make_intervals(value, {bounds}, unfilled);
  }

 private:
  static void append(const ScoreSampling::Kept& kept,
                     std::vector<CurveSample>& samples) {
    if (kept.scores.size() == 0) return;
    const at::Tensor scores =
        kept.scores.tensor().to(at::kCPU, at::kDouble).contiguous();
    const at::Tensor target =
        kept.target.tensor().to(at::kCPU, at::kLong).contiguous();
    const at::Tensor weights =
        kept.weights == nullptr
            ? at::Tensor()
            : kept.weights->tensor().to(at::kCPU, at::kDouble).contiguous();
    check_state_sizes("targets", target, scores.sizes());
    if (weights.defined()) {
      check_state_sizes("weights", weights, scores.sizes());
    }
    const auto* const weight =
        weights.defined() ? weights.const_data_ptr<double>() : nullptr;
    const auto* const score = scores.const_data_ptr<double>();
    const auto* const label = target.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < scores.numel(); ++i) {
      if (label[i] != 0 && label[i] != 1) continue;
      const double own = weight == nullptr ? 1 : weight[i];
      if (own != 0) samples.push_back({score[i], own, 0, label[i] == 1});
    }
  }

  ScoreSampling scores_;
  ValueRange range_;
};

}  // namespace

std::unique_ptr<IntervalEngine> delete_one_engine(
    std::unique_ptr<Metric>& metric, const IntervalOptions& options) {
  MetricSampling sampling = metric->sampling();
  if (!sampling.scores ||
      sampling.scores->area != CurveArea::kPrecisionRecall) {
    return nullptr;
  }
  return std::make_unique<DeleteOneEngine>(
      std::move(metric), options, *std::move(sampling.scores), sampling.range);
}

}  // namespace tally::internal::intervals
