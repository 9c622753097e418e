#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/intervals/count_inputs.h"
#include "tally/metrics/intervals/kernels/score_groups.h"
#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/intervals/proportions.h"

namespace tally::internal::intervals {
namespace {

using classification::CurveView;
using classification::ScoreCounts;

AreaEstimate estimate_of(const ScoreCounts& counts) {
  std::vector<ScoreGroup> groups;
  AreaEstimate estimate;
  std::visit(
      [&](const auto& scores) {
        estimate.positives = static_cast<double>(scores.positives());
        estimate.negatives = static_cast<double>(scores.negatives());
        scores.for_each([&](double, auto positives, auto negatives) {
          const auto p = static_cast<double>(positives);
          const auto n = static_cast<double>(negatives);
          groups.push_back({p, n, p, n});
        });
      },
      counts);
  std::reverse(groups.begin(), groups.end());
  const AreaMoments moments = counted_delong(groups);
  estimate.area = moments.area;
  estimate.standard_error = std::sqrt(moments.variance);
  return estimate;
}

std::vector<AreaEstimate> estimates_of(const CurveView& view) {
  std::vector<AreaEstimate> estimates(
      static_cast<std::size_t>(view.shape.curves), {kNaN, kNaN, 0, 0});
  classification::visit_counts(
      view, [&](std::int64_t curve, const std::optional<ScoreCounts>& counts) {
        if (counts) {
          estimates[static_cast<std::size_t>(curve)] = estimate_of(*counts);
        }
      });
  return estimates;
}

// The rows of a single exact curve, some of which have weights.
AreaEstimate weighted_estimate(const CurveState& state) {
  std::vector<at::Tensor> scores, target, weights;
  const auto add = [&](const CurveSamples& samples, const at::Tensor& weight) {
    const at::Tensor codes = samples.target.tensor().reshape(-1);
    const at::Tensor kept = codes.ne(2);
    scores.push_back(
        samples.preds.tensor().reshape(-1).to(at::kDouble).masked_select(kept));
    target.push_back(codes.masked_select(kept));
    weights.push_back(weight.reshape(-1).masked_select(kept));
  };
  if (state.unweighted.preds.size() > 0) {
    add(state.unweighted,
        at::ones({state.unweighted.preds.size()},
                 state.unweighted.preds.tensor().options().dtype(at::kDouble)));
  }
  add(state.weighted, state.weights.tensor());
  const at::Tensor all = at::cat(scores);
  if (all.isnan().any().item<bool>()) return {kNaN, kNaN, 0, 0};
  return delong(all, at::cat(target), at::cat(weights));
}

class AreaEngine final : public IntervalEngine {
 public:
  using Estimates = std::function<std::vector<AreaEstimate>(const Metric&,
                                                            const CurveState&)>;

  AreaEngine(std::unique_ptr<Metric> metric, const IntervalOptions& options,
             std::int64_t target_dims, bool takes_weights, Estimates estimates)
      : IntervalEngine(std::move(metric), options),
        target_dims_(target_dims),
        takes_weights_(takes_weights),
        estimates_(std::move(estimates)) {}

  IntervalMethod method() const override {
    return options_.method() == IntervalMethod::kAuto ? IntervalMethod::kDelong
                                                      : options_.method();
  }
  AnyState observe(Inputs inputs,
                   const std::vector<std::int64_t>&) const override {
    const bool is_delong = method() == IntervalMethod::kDelong;
    check_counted(*metric_,
                  takes_weights_ && is_delong && inputs.size() > 2
                      ? inputs.slice(0, 2)
                      : inputs,
                  target_dims_);
    return observe_batch(*metric_, inputs);
  }
  Intervals intervals(const AnyState& state, std::int64_t n) const override {
    const FlatResult value = flat_result(*metric_, state);
    const auto estimates = estimates_(*metric_, state.get<CurveState>());
    std::vector<Bounds> bounds;
    for (std::size_t i = 0; i < value.values.size(); ++i) {
      bounds.push_back(value.values[i] == value.values[i]
                           ? bounds_of(estimates[i])
                           : no_bounds());
    }
    return make_intervals(value, bounds, unfilled(n));
  }

 private:
  Bounds bounds_of(const AreaEstimate& estimate) const {
    const IntervalBounds ends =
        method() == IntervalMethod::kDelong
            ? delong_interval(estimate, options_.level())
            : newcombe_interval(estimate.area, estimate.positives,
                                estimate.negatives, options_.level());
    return {ends.low, ends.high, estimate.standard_error, 0};
  }

  std::int64_t target_dims_;
  bool takes_weights_;
  Estimates estimates_;
};

template <class M>
std::vector<AreaEstimate> curve_estimates(const Metric& metric,
                                          const CurveState& state) {
  if (state.weighted.preds.size() > 0) return {weighted_estimate(state)};
  return estimates_of({state, static_cast<const M&>(metric).options()});
}

}  // namespace

std::unique_ptr<IntervalEngine> area_engine(std::unique_ptr<Metric>& metric,
                                            const IntervalOptions& options) {
  const auto make = [&](std::int64_t dims, bool takes_weights,
                        AreaEngine::Estimates estimates) {
    return std::make_unique<AreaEngine>(std::move(metric), options, dims,
                                        takes_weights, std::move(estimates));
  };
  std::unique_ptr<IntervalEngine> engine;
  visit_metric<BinaryAUROC>(*metric, [&](const BinaryAUROC& m) {
    if (m.options().max_fpr()) return;
    engine =
        make(1, m.options().thresholds().exact(), curve_estimates<BinaryAUROC>);
  });
  if (engine) return engine;
  visit_metric<MulticlassAUROC>(*metric, [&](const MulticlassAUROC& m) {
    if (m.options().average() != Average::kNone) return;
    engine = make(1, false, curve_estimates<MulticlassAUROC>);
  });
  if (engine) return engine;
  visit_metric<MultilabelAUROC>(*metric, [&](const MultilabelAUROC& m) {
    if (m.options().average() != Average::kNone) return;
    engine = make(2, false, curve_estimates<MultilabelAUROC>);
  });
  return engine;
}

}  // namespace tally::internal::intervals
