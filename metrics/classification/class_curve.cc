#include <ATen/EmptyTensor.h>
#include <ATen/ops/arange.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/checks.h"
#include "tally/metrics/classification/classification_checks.h"
#include "tally/metrics/classification/curve.h"

namespace tally::internal {
namespace {

// The largest score; NaN if any is.
template <class Score>
Score largest(const Score* row, std::int64_t classes) {
  Score max = row[0];
  for (std::int64_t c = 1; c < classes; ++c) {
    if (!(row[c] <= max)) max = std::isnan(max) ? max : row[c];
  }
  return max;
}

}  // namespace

CurveState ClassCurve::observe(const at::Tensor& preds,
                               const at::Tensor& target) const {
  check_class_scores(preds, target, shape_.curves);
  check_dense("preds", preds);
  check_dense("target", target);
  // No curve has a gradient.
  if (preds.requires_grad()) return observe(preds.detach(), target);
  if (preds.dim() == 2) return observe_rows(preds, target);
  return observe_rows(preds.movedim(1, -1).reshape({-1, shape_.curves}),
                      target.reshape(-1));
}

CurveState ClassCurve::observe_rows(const at::Tensor& rows,
                                    const at::Tensor& target) const {
  if (!is_plain(rows) || !is_plain(target)) {
    return observe_tensors(rows, target);
  }
  return visit_labels(target, [&](const auto* labels) {
    switch (rows.scalar_type()) {
      case at::kFloat:
        return observe_plain(rows, target, rows.const_data_ptr<float>(),
                             labels);
      case at::kDouble:
        return observe_plain(rows, target, rows.const_data_ptr<double>(),
                             labels);
      default:
        return observe_tensors(rows, target);
    }
  });
}

template <class Score, class Label>
bool ClassCurve::counts(const Score* row, Label label,
                        std::int64_t position) const {
  if (ignore_index_ && label == *ignore_index_) return false;
  if (static_cast<std::uint64_t>(label) >=
      static_cast<std::uint64_t>(shape_.curves)) {
    refuse_label(label, position, shape_.curves, ignore_index_);
  }
  if (nan_policy_ == NanPolicy::kPropagate) return true;
  const Score max = largest(row, shape_.curves);
  const bool defined =
      input_ == ScoreKind::kLogits ? std::isfinite(max) : !std::isnan(max);
  if (defined) return true;
  if (nan_policy_ == NanPolicy::kError) refuse_nan("preds", position);
  return false;
}

template <class Score, class Label, class Count>
void ClassCurve::for_each_place(const Score* scores, const Label* labels,
                                std::int64_t rows, const Count& count) const {
  const std::int64_t classes = shape_.curves;
  const std::int64_t columns = grid_.size() + 2;
  std::vector<double> softmax(input_ == ScoreKind::kLogits ? classes : 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const Score* const row = scores + i * classes;
    if (!counts(row, labels[i], i)) continue;
    const auto count_all = [&](const auto* probabilities) {
      std::int64_t first = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        const std::int64_t place = first + bucket(probabilities[c], i);
        count(c == labels[i] ? place + columns : place);
        first += 2 * columns;
      }
    };
    if (input_ == ScoreKind::kProbabilities) {
      count_all(row);
      continue;
    }
    const double max = largest(row, classes);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      sum += softmax[c] = std::exp(row[c] - max);
    }
    for (double& probability : softmax) probability /= sum;
    count_all(softmax.data());
  }
}

template <class Score, class Label>
CurveState ClassCurve::observe_plain(const at::Tensor& rows,
                                     const at::Tensor& target,
                                     const Score* scores,
                                     const Label* labels) const {
  const std::int64_t size = rows.size(0);
  if (grid_.size() > 0) {
    CurveState state = binned_state(rows.numel());
    if (state.histogram.defined()) {
      auto* const histogram = state.histogram.mutable_data_ptr<std::int64_t>();
      for_each_place(scores, labels, size,
                     [=](std::int64_t place) { ++histogram[place]; });
    } else {
      const at::Tensor places = state.places.tensor();
      auto* next = places.mutable_data_ptr<std::int32_t>();
      const auto* const begin = next;
      for_each_place(scores, labels, size, [&](std::int64_t place) {
        *next++ = static_cast<std::int32_t>(place);
      });
      state.places = Rows(places.narrow(0, 0, next - begin));
    }
    return state;
  }
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    kept += counts(scores + i * shape_.curves, labels[i], i);
  }
  CurveState state;
  if (kept == size) {
    state.preds = Rows(rows);
    state.target = Rows(target.to(at::kLong));
    return state;
  }
  at::Tensor positions(at::detail::empty_cpu({kept}, at::kLong));
  auto* next = positions.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) {
    if (counts(scores + i * shape_.curves, labels[i], i)) *next++ = i;
  }
  state.preds = Rows(rows.index_select(0, positions));
  state.target = Rows(target.index_select(0, positions).to(at::kLong));
  return state;
}

CurveState ClassCurve::observe_tensors(const at::Tensor& rows,
                                       const at::Tensor& target) const {
  if (validate_args_) check_labels(target, shape_.curves, ignore_index_);
  at::Tensor kept;
  if (ignore_index_) kept = target.ne(*ignore_index_);
  if (nan_policy_ != NanPolicy::kPropagate) {
    at::Tensor nan = input_ == ScoreKind::kLogits
                         ? rows.amax(1).isfinite().logical_not_()
                         : rows.isnan().any(1);
    if (kept.defined()) nan.logical_and_(kept);
    if (nan_policy_ == NanPolicy::kError) {
      if (const auto i = first_true(nan)) refuse_nan("preds", *i);
    } else {
      nan.logical_not_();
      kept = kept.defined() ? kept.logical_and_(nan) : nan;
    }
  }
  if (grid_.size() > 0) {
    at::Tensor scores = rows.to(at::kDouble);
    if (input_ == ScoreKind::kLogits) scores = scores.softmax(1);
    const at::Tensor classes =
        at::arange(shape_.curves, target.options().dtype(at::kLong));
    return histogram_of(scores, target.unsqueeze(1).eq(classes),
                        kept.defined() ? kept.unsqueeze(1) : kept,
                        /*per_position=*/shape_.curves);
  }
  const bool wide = rows.scalar_type() == at::kDouble;
  const at::Tensor scores = rows.to(wide ? at::kDouble : at::kFloat);
  const at::Tensor labels = target.to(at::kLong);
  CurveState state;
  if (!kept.defined()) {
    state.preds = Rows(scores);
    state.target = Rows(labels);
    return state;
  }
  const at::Tensor positions = kept.nonzero().select(1, 0);
  state.preds = Rows(scores.index_select(0, positions));
  state.target = Rows(labels.index_select(0, positions));
  return state;
}

}  // namespace tally::internal
