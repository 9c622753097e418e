#include "tally/metrics/classification/curves/curve_sampling.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "tally/metrics/classification/curves/curve_counts.h"

namespace tally::internal::classification {
namespace {

ScoredSamples samples_of(const ScoreCounts& counts) {
  ScoredSamples samples;
  std::visit(
      [&](const auto& scores) {
        samples.positives = static_cast<double>(scores.positives());
        samples.negatives = static_cast<double>(scores.negatives());
        scores.for_each([&](double, auto positives, auto negatives) {
          const auto p = static_cast<double>(positives);
          const auto n = static_cast<double>(negatives);
          samples.groups.push_back({p, n, p, n});
        });
      },
      counts);
  std::reverse(samples.groups.begin(), samples.groups.end());
  return samples;
}

// Without a NaN among the scores.
void visit_weighted(const CurveState& state, const PairSampling::Use& use) {
  std::vector<at::Tensor> scores, target, weights;
  const auto add = [&](const CurveSamples& samples, const at::Tensor& weight) {
    const at::Tensor codes = samples.target.tensor().reshape(-1);
    const at::Tensor kept = codes.ne(2);
    const auto take = [&](const at::Tensor& from, std::vector<at::Tensor>& to) {
      to.push_back(
          from.reshape(-1).masked_select(kept).to(at::kCPU, at::kDouble));
    };
    take(samples.preds.tensor(), scores);
    take(codes, target);
    take(weight, weights);
  };
  if (state.unweighted.preds.size() > 0) {
    add(state.unweighted,
        at::ones({state.unweighted.preds.size()},
                 state.unweighted.preds.tensor().options().dtype(at::kDouble)));
  }
  add(state.weighted, state.weights.tensor());
  const at::Tensor all = at::cat(scores);
  if (all.isnan().any().item<bool>()) return;
  use(0, scored_samples(all, at::cat(target), at::cat(weights)));
}

}  // namespace

void visit_pairs(const CurveView& view, const PairSampling::Use& use) {
  if (view.state.weighted.preds.size() > 0) {
    visit_weighted(view.state, use);
    return;
  }
  visit_counts(
      view, [&](std::int64_t curve, const std::optional<ScoreCounts>& counts) {
        if (counts) use(curve, samples_of(*counts));
      });
}

ScoreSampling scores_of(CurveArea area) {
  return {area, [](const AnyState& state) {
            const auto& own = state.get<CurveState>();
            return std::vector<ScoreSampling::Kept>{
                {own.unweighted.preds, own.unweighted.target},
                {own.weighted.preds, own.weighted.target, &own.weights}};
          }};
}

}  // namespace tally::internal::classification
