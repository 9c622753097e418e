#include "tally/metrics/classification/curves/curve_sampling.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_runs.h"

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

// A row for each sample.
std::array<at::Tensor, 2> rows_of(const RunScores& runs) {
  const at::Tensor scores =
      at::empty({runs.positives() + runs.negatives()}, at::kDouble);
  const at::Tensor target = at::empty_like(scores);
  auto* score = scores.mutable_data_ptr<double>();
  auto* code = target.mutable_data_ptr<double>();
  runs.for_each(
      [&](double own, std::int64_t positives, std::int64_t negatives) {
        score = std::fill_n(score, positives + negatives, own);
        code = std::fill_n(code, positives, 1.0);
        code = std::fill_n(code, negatives, 0.0);
      });
  return {scores, target};
}

// Without a NaN among the scores.
void visit_weighted(const CurveView& view, const PairSampling::Use& use) {
  const CurveState& state = view.state;
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
  if (reads_runs(view)) {
    const auto runs = CurveRuns(view).unweighted(0, 1);
    if (!runs) return;
    auto [own_scores, own_target] = rows_of(*runs);
    weights.push_back(at::ones_like(own_scores));
    scores.push_back(std::move(own_scores));
    target.push_back(std::move(own_target));
  } else if (state.unweighted.preds.size() > 0) {
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
    visit_weighted(view, use);
    return;
  }
  visit_counts(
      view, [&](std::int64_t curve, const std::optional<ScoreCounts>& counts) {
        if (counts) use(curve, samples_of(*counts));
      });
}

double positive_rows(const CurveState& state) {
  double sum = 0;
  for (const CurveSamples* samples : {&state.unweighted, &state.weighted}) {
    if (samples->target.size() == 0) continue;
    sum += samples->target.tensor().eq(1).sum().item<double>();
  }
  if (state.runs.size() == 0) return sum;
  const at::Tensor bytes = state.runs.tensor().cpu();
  for (const ScoreRun& run : read_runs(bytes)) {
    for (const ScoreTable& table : run.curves) {
      sum += static_cast<double>(table.totals.positives);
    }
  }
  return sum;
}

ScoreSampling scores_of(CurveArea area) {
  ScoreSampling sampling;
  sampling.area = area;
  sampling.kept = [](const AnyState& state) {
    const auto& own = state.get<CurveState>();
    TORCH_CHECK_VALUE(
        own.runs.size() == 0,
        "expected rows of scores in the state, got sorted counts");
    return std::vector<ScoreSampling::Kept>{
        {own.unweighted.preds, own.unweighted.target},
        {own.weighted.preds, own.weighted.target, &own.weights}};
  };
  sampling.keep_rows = [](AnyState& identity) {
    identity.get<CurveState>().keeps_rows = true;
  };
  return sampling;
}

}  // namespace tally::internal::classification
