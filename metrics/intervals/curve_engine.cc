#include "tally/metrics/intervals/curve_engine.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/curve_samples.h"
#include "tally/metrics/intervals/resampling_engine.h"
#include "tally/state/state_parts.h"

namespace tally::internal::intervals {
namespace {

/// The ids of the rows of a CurveState's samples, in their order.
struct CurveIds {
  Rows unweighted;  // int64
  Rows weighted;
  void fields(Fields& f) { f("unweighted", unweighted)("weighted", weighted); }
};

class CurveEngine final : public ResamplingEngine {
 public:
  CurveEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
              CurveArea kind)
      : ResamplingEngine(std::move(metric), options), kind_(kind) {}

  bool has_bca() const override { return kind_ == CurveArea::kRoc; }
  AnyState identity() const override {
    return identity_with(AnyState::of(CurveIds()));
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>& ids) const override;
  std::vector<std::vector<double>> replicates(const AnyState& state,
                                              std::int64_t) const override {
    return {replicate_areas(kind_, weights_, samples_of(state))};
  }

 protected:
  std::vector<double> accelerations(const AnyState& state,
                                    std::size_t) const override {
    return {roc_acceleration(samples_of(state))};
  }

 private:
  at::Tensor kept_positions(Inputs inputs) const;
  static std::vector<CurveSample> samples_of(const AnyState& state);

  CurveArea kind_;
};

const at::Tensor& tensor_at(Inputs inputs, std::size_t i) {
  return *inputs[i].as<at::Tensor>();
}

// The positions that the state keeps of a batch that it has observed. They are
// their own weights here, which the state keeps as they are.
at::Tensor CurveEngine::kept_positions(Inputs inputs) const {
  const at::Tensor& target = tensor_at(inputs, 1);
  at::Tensor places =
      at::arange(1, target.numel() + 1, at::kDouble).reshape(target.sizes());
  if (inputs.size() > 2 && !inputs[2].is_none()) {
    const at::Tensor weight = tensor_at(inputs, 2).to(at::kCPU, at::kDouble);
    at::Tensor dropped = weight.eq(0);
    if (metric_->metric_options().nan_policy() == NanPolicy::kIgnore) {
      dropped = dropped.logical_or(weight.isnan());
    }
    places = places.masked_fill(dropped.reshape(target.sizes()), 0);
  }
  places = places.to(target.device());
  AnyState placed = metric_->make_state();
  metric_->observe_into(placed, {inputs[0], inputs[1], InputRef::of(places)},
                        BatchOrigin());
  return placed.get<CurveState>()
      .weights.tensor()
      .to(at::kCPU, at::kLong)
      .sub(1);
}

AnyState CurveEngine::observe(Inputs inputs,
                              const std::vector<std::int64_t>& ids) const {
  AnyState batch = identity();
  auto& parts = batch.get<StateParts>().parts();
  metric_->observe_into(parts[0], inputs, BatchOrigin());
  const auto& state = parts[0].get<CurveState>();
  const bool is_weighted = state.weighted.preds.size() > 0;
  const std::int64_t kept =
      (is_weighted ? state.weighted : state.unweighted).preds.size();
  if (kept == 0) return batch;
  const auto rows = static_cast<std::int64_t>(ids.size());
  at::Tensor own = at::empty({rows}, at::kLong);
  std::copy(ids.begin(), ids.end(), own.mutable_data_ptr<std::int64_t>());
  const std::int64_t positions = tensor_at(inputs, 1).numel();
  if (positions != rows) {
    own = own.unsqueeze(1).expand({rows, positions / rows}).reshape(-1);
  }
  if (kept != positions) own = own.index_select(0, kept_positions(inputs));
  auto& into = parts[1].get<CurveIds>();
  (is_weighted ? into.weighted : into.unweighted) = Rows(own);
  return batch;
}

std::vector<CurveSample> CurveEngine::samples_of(const AnyState& state) {
  const auto& curve = whole(state).get<CurveState>();
  const auto& ids = resampled(state).get<CurveIds>();
  std::vector<CurveSample> samples;
  const auto add = [&](const CurveSamples& some, const Rows& some_ids,
                       const Rows& weights) {
    if (some.preds.size() == 0) return;
    const auto on_cpu = [](const Rows& rows, at::ScalarType dtype) {
      return rows.tensor().to(at::kCPU, dtype).reshape(-1).contiguous();
    };
    const at::Tensor scores = on_cpu(some.preds, at::kDouble);
    const at::Tensor codes = on_cpu(some.target, at::kByte);
    const at::Tensor own_ids = on_cpu(some_ids, at::kLong);
    const at::Tensor own_weights =
        weights.size() > 0 ? on_cpu(weights, at::kDouble) : at::Tensor();
    TORCH_CHECK_VALUE(
        codes.numel() == scores.numel() && own_ids.numel() == scores.numel() &&
            (!own_weights.defined() || own_weights.numel() == scores.numel()),
        "expected an id, target and weight for each score in the state");
    const auto* const score = scores.const_data_ptr<double>();
    const auto* const code = codes.const_data_ptr<std::uint8_t>();
    const auto* const id = own_ids.const_data_ptr<std::int64_t>();
    const auto* const weight =
        own_weights.defined() ? own_weights.const_data_ptr<double>() : nullptr;
    for (std::int64_t i = 0; i < scores.numel(); ++i) {
      samples.push_back(
          {score[i], weight == nullptr ? 1 : weight[i], id[i], code[i] == 1});
    }
  };
  samples.reserve(static_cast<std::size_t>(curve.unweighted.preds.size() +
                                           curve.weighted.preds.size()));
  add(curve.unweighted, ids.unweighted, {});
  add(curve.weighted, ids.weighted, curve.weights);
  return samples;
}

}  // namespace

std::unique_ptr<IntervalEngine> curve_engine(std::unique_ptr<Metric>& metric,
                                             const IntervalOptions& options) {
  std::unique_ptr<IntervalEngine> engine;
  visit_metric<BinaryAUROC>(*metric, [&](const BinaryAUROC& m) {
    if (m.options().max_fpr() || !m.options().thresholds().exact()) return;
    engine = std::make_unique<CurveEngine>(std::move(metric), options,
                                           CurveArea::kRoc);
  });
  if (engine) return engine;
  visit_metric<BinaryAveragePrecision>(
      *metric, [&](const BinaryAveragePrecision& m) {
        if (!m.options().thresholds().exact()) return;
        engine = std::make_unique<CurveEngine>(std::move(metric), options,
                                               CurveArea::kPrecisionRecall);
      });
  return engine;
}

}  // namespace tally::internal::intervals
