#include <ATen/ops/arange.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/checks.h"
#include "tally/metrics/classification/classification_checks.h"
#include "tally/metrics/classification/count_rows.h"
#include "tally/metrics/classification/curve.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal {
namespace {

// So many scores are looked at together: their places stay in the cache.
constexpr std::int64_t kBlock = 2048;

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

template <class Score, class Label, class Sink>
void ClassCurve::fill(const Score* scores, const Label* labels,
                      std::int64_t first, std::int64_t last,
                      const Lookup& lookup, Sink& sink) const {
  const std::int64_t classes = shape_.curves;
  const std::int64_t step = std::max<std::int64_t>(kBlock / classes, 1);
  const bool logits = input_ == ScoreKind::kLogits;
  std::vector<std::uint32_t> places(step * classes);
  std::vector<double> softmaxes(logits ? step * classes : 0);
  for (std::int64_t begin = first; begin < last; begin += step) {
    const std::int64_t rows = std::min(step, last - begin);
    const Score* const block = scores + begin * classes;
    for (std::int64_t i = 0; logits && i < rows; ++i) {
      softmax(block + i * classes, classes, softmaxes.data() + i * classes);
    }
    const bool inside =
        logits ? lookup.places(softmaxes.data(), nullptr, rows * classes,
                               places.data())
               : lookup.places(block, nullptr, rows * classes, places.data());
    for (std::int64_t i = 0; i < rows; ++i) {
      const Label label = labels[begin + i];
      if (!counts(block + i * classes, label, begin + i)) continue;
      std::uint32_t* const own = places.data() + i * classes;
      if (!inside) {
        for (std::int64_t c = 0; c < classes; ++c) {
          const std::int64_t at = i * classes + c;
          own[c] = static_cast<std::uint32_t>(
              bucket(logits ? softmaxes[at] : block[at], begin + i));
        }
      }
      sink.add(own, classes, 0);
      sink.make_positive(label, own[label]);
    }
  }
}

template <class Score, class Label>
CurveState ClassCurve::observe_plain(const at::Tensor& rows,
                                     const at::Tensor& target,
                                     const Score* scores,
                                     const Label* labels) const {
  const std::int64_t size = rows.size(0);
  if (grid_.size() > 0) {
    return count_rows(size, [&](std::int64_t begin, std::int64_t end,
                                const Lookup& lookup, auto& sink) {
      fill(scores, labels, begin, end, lookup, sink);
    });
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
  at::Tensor positions = fresh_tensor({kept}, at::kLong);
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
