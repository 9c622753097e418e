#include "tally/metrics/classification/curves/curve_runs.h"

#include <algorithm>
#include <utility>

#include "tally/metrics/classification/curves/exact_scores.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {
namespace {

bool may_become_runs(const at::Tensor& preds) {
  return preds.is_cpu() && preds.scalar_type() == at::kFloat &&
         (preds.dim() == 1 || preds.dim() == 2) && !preds.requires_grad();
}

CurveShape shape_of(const at::Tensor& preds, const at::Tensor& target) {
  if (preds.dim() == 1) return {};
  return {target.scalar_type() == at::kLong ? CurveShape::Task::kMulticlass
                                            : CurveShape::Task::kMultilabel,
          preds.size(1)};
}

// So many rows may wait for the next run.
std::int64_t most_waiting(std::int64_t run_bytes, std::int64_t curves) {
  const RunLimits& limits = run_limits();
  if (run_bytes == 0) return limits.most_rows;
  return std::clamp(run_bytes / std::max<std::int64_t>(curves, 1),
                    limits.least_rows, limits.run_rows);
}

Rows no_rows_like(const at::Tensor& rows) {
  std::vector<std::int64_t> sizes = rows.sizes().vec();
  sizes[0] = 0;
  return Rows(fresh_tensor(sizes, rows.scalar_type()));
}

}  // namespace

void make_runs(CurveState& state, bool of_all_rows) {
  if (state.keeps_rows) return;
  const Rows& rows = state.unweighted.preds;
  const std::int64_t run_bytes = state.runs.size();
  if (run_bytes == 0 && rows.size() <= run_limits().most_rows) return;
  const at::Tensor bytes = state.runs.tensor();
  if (bytes.defined() && !bytes.is_cpu()) return;
  if (rows.size() > 0) {
    const at::Tensor preds = rows.tensor();
    if (!may_become_runs(preds)) return;
    const std::int64_t curves = preds.dim() == 1 ? 1 : preds.size(1);
    if ((of_all_rows && run_bytes > 0) ||
        rows.size() > most_waiting(run_bytes, curves)) {
      check_state(state.unweighted.target.defined());
      const at::Tensor target = state.unweighted.target.tensor();
      check_state(target.is_cpu());
      const ExactScores exact(preds, target, shape_of(preds, target),
                              ScoreKind::kScores);
      Rows runs(with_few_runs(with_rows(bytes, exact)));
      Rows no_preds = no_rows_like(preds);
      Rows no_target = no_rows_like(target);
      state.runs = std::move(runs);
      state.unweighted.preds = std::move(no_preds);
      state.unweighted.target = std::move(no_target);
      return;
    }
  }
  if (const at::Tensor few = with_few_runs(bytes); few.numel() != run_bytes) {
    state.runs = Rows(few);
  }
}

bool reads_runs(const CurveView& view) {
  const CurveState& state = view.state;
  if (state.runs.size() > 0) return true;
  return !view.keeps_rows && !state.weighted.has_rows() &&
         state.unweighted.preds.size() > run_limits().most_rows &&
         may_become_runs(state.unweighted.preds.tensor());
}

CurveRuns::CurveRuns(const CurveView& view) : view_(view) {
  const CurveState& state = view.state;
  if (state.runs.size() > 0) {
    bytes_.push_back(state.runs.tensor().cpu().contiguous());
  }
  if (state.unweighted.preds.size() > 0) {
    check_state(state.unweighted.target.defined());
    const ExactScores exact(state.unweighted.preds.tensor().cpu(),
                            state.unweighted.target.tensor().cpu(), view.shape,
                            view.input);
    check_state(exact.preds.scalar_type() == at::kFloat);
    bytes_.push_back(with_rows({}, exact));
  }
  for (const at::Tensor& bytes : bytes_) {
    for (ScoreRun& run : read_runs(bytes)) runs_.push_back(std::move(run));
  }
  for (const ScoreRun& run : runs_) {
    check_state(static_cast<std::int64_t>(run.curves.size()) ==
                view.shape.curves);
  }
}

std::optional<ScoreCounts> CurveRuns::counts(std::int64_t curve) const {
  return counts_of(curve, curve + 1);
}

std::optional<ScoreCounts> CurveRuns::pooled() const {
  return counts_of(0, view_.shape.curves);
}

std::optional<RunScores> CurveRuns::unweighted(std::int64_t begin,
                                               std::int64_t end) const {
  std::vector<ScoreTable> tables;
  for (const ScoreRun& run : runs_) {
    tables.insert(tables.end(), run.curves.begin() + begin,
                  run.curves.begin() + end);
  }
  return RunScores::of(std::move(tables), bytes_);
}

std::optional<ScoreCounts> CurveRuns::counts_of(std::int64_t begin,
                                                std::int64_t end) const {
  auto scores = unweighted(begin, end);
  // Of several curves, the number read says more.
  const bool is_all = begin == 0 && end == view_.shape.curves;
  if (scores && is_all) scores->report_scores();
  if (!scores || !view_.state.weighted.has_rows()) return scores;
  return weighted_counts(*scores, begin, end);
}

// Counts are weights of one sample each.
std::optional<ScoreCounts> CurveRuns::weighted_counts(const RunScores& scores,
                                                      std::int64_t begin,
                                                      std::int64_t end) const {
  std::vector<double> values, weights;
  std::vector<std::uint8_t> codes;
  const auto add = [&](double value, std::uint8_t code, double weight) {
    values.push_back(value);
    codes.push_back(code);
    weights.push_back(weight);
  };
  scores.for_each(
      [&](double score, std::int64_t positives, std::int64_t negatives) {
        add(score, 1, static_cast<double>(positives));
        add(score, 0, static_cast<double>(negatives));
      });
  const CurveState& state = view_.state;
  check_state(state.weighted.preds.defined() &&
              state.weighted.target.defined() && state.weights.defined());
  const ExactScores rows(state.weighted.preds.tensor().cpu().to(at::kDouble),
                         state.weighted.target.tensor().cpu(), view_.shape,
                         view_.input);
  const at::Tensor own = state.weights.tensor().cpu().contiguous();
  check_state(own.scalar_type() == at::kDouble && own.dim() == 1 &&
              own.size(0) == rows.rows());
  const auto* const weight = own.const_data_ptr<double>();
  const auto* const value = rows.preds.const_data_ptr<double>();
  const std::int64_t curves = view_.shape.curves;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    for (std::int64_t c = begin; c < end; ++c) {
      const std::int64_t at = i * curves + c;
      const std::uint8_t code =
          rows.has_codes() ? rows.target.const_data_ptr<std::uint8_t>()[at]
                           : rows.target.const_data_ptr<std::int64_t>()[i] == c;
      add(value[at], code, weight[i]);
    }
  }
  return WeightedScores::of(values.data(), codes.data(), weights.data(),
                            static_cast<std::int64_t>(values.size()), 1);
}

}  // namespace tally::internal::classification
