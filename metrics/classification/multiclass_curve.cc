#include "tally/metrics/classification/multiclass_curve.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/checks.h"
#include "tally/metrics/classification/classification_checks.h"

namespace tally {
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

MulticlassCurve::MulticlassCurve(std::int64_t num_classes,
                                 const Thresholds& thresholds, ScoreKind input,
                                 std::optional<std::int64_t> ignore_index,
                                 const MetricOptions& metric_options)
    : num_classes_(num_classes),
      grid_(thresholds),
      input_(input),
      ignore_index_(ignore_index),
      nan_policy_(metric_options.nan_policy()),
      validate_args_(metric_options.validate_args()) {}

MulticlassCurve::State MulticlassCurve::observe(
    const at::Tensor& preds, const at::Tensor& target) const {
  internal::check_class_scores(preds, target, num_classes_);
  // No curve has a gradient.
  if (preds.requires_grad()) return observe(preds.detach(), target);
  if (preds.dim() == 2) return observe_rows(preds, target);
  return observe_rows(preds.movedim(1, -1).reshape({-1, num_classes_}),
                      target.reshape(-1));
}

MulticlassCurve::State MulticlassCurve::observe_rows(
    const at::Tensor& rows, const at::Tensor& target) const {
  if (!internal::is_plain(rows) || !internal::is_plain(target)) {
    return observe_tensors(rows, target);
  }
  return internal::visit_labels(target, [&](const auto* labels) {
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
bool MulticlassCurve::counts(const Score* row, Label label,
                             std::int64_t position) const {
  if (ignore_index_ && label == *ignore_index_) return false;
  if (static_cast<std::uint64_t>(label) >=
      static_cast<std::uint64_t>(num_classes_)) {
    internal::refuse_label(label, position, num_classes_, ignore_index_);
  }
  if (nan_policy_ == NanPolicy::kPropagate) return true;
  const Score max = largest(row, num_classes_);
  const bool defined =
      input_ == ScoreKind::kLogits ? std::isfinite(max) : !std::isnan(max);
  if (defined) return true;
  if (nan_policy_ == NanPolicy::kError) {
    internal::refuse_nan("preds", position);
  }
  return false;
}

// The bucket of a score that is not in [0, 1].
std::int64_t MulticlassCurve::bucket_outside(double score,
                                             std::int64_t position) const {
  if (std::isnan(score)) return grid_.size() + 1;
  if (validate_args_) internal::refuse_probability(score, position);
  return grid_.bucket(score);
}

template <class Score, class Label>
MulticlassCurve::State MulticlassCurve::observe_plain(
    const at::Tensor& rows, const at::Tensor& target, const Score* scores,
    const Label* labels) const {
  const std::int64_t count = rows.size(0);
  const std::int64_t classes = num_classes_;
  State state;
  if (grid_.size() > 0) {
    const std::int64_t columns = grid_.size() + 2;
    state.histogram = internal::zero_counts({classes, 2, columns});
    auto* const histogram = state.histogram.mutable_data_ptr<std::int64_t>();
    std::vector<double> probabilities(classes);
    for (std::int64_t i = 0; i < count; ++i) {
      const Score* const row = scores + i * classes;
      if (!counts(row, labels[i], i)) continue;
      if (input_ == ScoreKind::kLogits) {
        const double max = largest(row, classes);
        double sum = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
          sum += probabilities[c] = std::exp(row[c] - max);
        }
        for (double& probability : probabilities) probability /= sum;
      } else {
        std::copy(row, row + classes, probabilities.begin());
      }
      for (std::int64_t c = 0; c < classes; ++c) {
        const double score = probabilities[c];
        const std::int64_t bucket = score >= 0 && score <= 1
                                        ? grid_.bucket(score)
                                        : bucket_outside(score, i);
        std::int64_t* const all = histogram + 2 * c * columns;
        ++all[bucket];
        all[columns + bucket] += c == labels[i];
      }
    }
    return state;
  }
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    kept += counts(scores + i * classes, labels[i], i);
  }
  if (kept == count) {
    state.preds = Rows(rows);
    state.target = Rows(target);
    return state;
  }
  const at::Tensor positions = at::empty({kept}, at::kLong);
  auto* next = positions.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    if (counts(scores + i * classes, labels[i], i)) *next++ = i;
  }
  state.preds = Rows(rows.index_select(0, positions));
  state.target = Rows(target.index_select(0, positions));
  return state;
}

MulticlassCurve::State MulticlassCurve::observe_tensors(
    const at::Tensor& rows, const at::Tensor& target) const {
  if (validate_args_) {
    internal::check_labels(target, num_classes_, ignore_index_);
  }
  at::Tensor kept;
  if (ignore_index_) kept = target.ne(*ignore_index_);
  if (nan_policy_ != NanPolicy::kPropagate) {
    at::Tensor nan = input_ == ScoreKind::kLogits
                         ? rows.amax(1).isfinite().logical_not_()
                         : rows.isnan().any(1);
    if (kept.defined()) nan.logical_and_(kept);
    if (nan_policy_ == NanPolicy::kError) {
      if (const auto i = internal::first_true(nan)) {
        internal::refuse_nan("preds", *i);
      }
    } else {
      nan.logical_not_();
      kept = kept.defined() ? kept.logical_and_(nan) : nan;
    }
  }
  State state;
  if (grid_.size() > 0) {
    state.histogram = histogram_of(rows, target, kept);
  } else if (kept.defined()) {
    const at::Tensor positions = kept.nonzero().select(1, 0);
    state.preds = Rows(rows.index_select(0, positions));
    state.target = Rows(target.index_select(0, positions));
  } else {
    state.preds = Rows(rows);
    state.target = Rows(target);
  }
  return state;
}

at::Tensor MulticlassCurve::histogram_of(const at::Tensor& rows,
                                         const at::Tensor& target,
                                         const at::Tensor& kept) const {
  at::Tensor scores = rows.to(at::kDouble);
  if (input_ == ScoreKind::kLogits) scores = scores.softmax(1);
  if (validate_args_) {
    at::Tensor outside = scores.lt(0).logical_or_(scores.gt(1));
    if (kept.defined()) outside.logical_and_(kept.unsqueeze(1));
    if (const auto i = internal::first_true(outside)) {
      internal::refuse_probability(
          scores.reshape(-1).select(0, *i).item().toDouble(),
          *i / num_classes_);
    }
  }
  const std::int64_t columns = grid_.size() + 2;
  const auto options =
      at::TensorOptions().dtype(at::kLong).device(rows.device());
  const at::Tensor classes = at::arange(num_classes_, options);
  const at::Tensor index = grid_.bucket(scores)
                               .masked_fill_(scores.isnan(), columns - 1)
                               .add_(classes.mul(2 * columns).unsqueeze(0))
                               .reshape(-1);
  at::Tensor weight = at::ones({rows.size(0), 1}, options);
  if (kept.defined()) weight = kept.to(at::kLong).unsqueeze(1);
  const at::Tensor histogram = at::zeros({num_classes_ * 2 * columns}, options);
  histogram.scatter_add_(
      0, index, weight.expand({rows.size(0), num_classes_}).reshape(-1));
  histogram.scatter_add_(
      0, index.add(columns),
      target.unsqueeze(1).eq(classes.unsqueeze(0)).mul(weight).reshape(-1));
  return histogram.view({num_classes_, 2, columns});
}

namespace internal {
namespace {

// For each row its largest logit and the logarithm of the softmax's
// denominator, relative to it: from these the logarithm of any class's
// probability, which does not saturate as the probability does.
template <class Score>
struct LogSoftmax {
  LogSoftmax(const Score* scores, std::int64_t count, std::int64_t classes)
      : max(count), log_sum(count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Score* const row = scores + i * classes;
      const Score* const best = std::max_element(row, row + classes);
      max[i] = *best;
      double others = 0;
      for (const Score* score = row; score != row + classes; ++score) {
        if (score != best) others += std::exp(*score - max[i]);
      }
      log_sum[i] = std::isfinite(max[i]) ? std::log1p(others) : NAN;
    }
  }
  double operator()(Score score, std::int64_t i) const {
    return (score - max[i]) - log_sum[i];
  }

  std::vector<double> max;
  std::vector<double> log_sum;
};

template <class Key, class Score>
void visit_plain(const at::Tensor& rows, const at::Tensor& target,
                 ScoreKind input, const ClassVisit& visit) {
  const std::int64_t count = rows.size(0);
  const std::int64_t classes = rows.size(1);
  const auto* const scores = rows.const_data_ptr<Score>();
  visit_labels(target, [&](const auto* labels) {
    const auto visit_classes = [&](auto key, const auto& score) {
      at::parallel_for(
          0, classes, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c) {
              visit(c, RankedScores<decltype(key)>::of(
                           count,
                           [&](std::int64_t i) {
                             return score(scores[i * classes + c], i);
                           },
                           [&](std::int64_t i) { return labels[i] == c; }));
            }
          });
    };
    if (input == ScoreKind::kLogits) {
      visit_classes(std::uint64_t{}, LogSoftmax<Score>(scores, count, classes));
    } else {
      visit_classes(Key{}, [](Score score, std::int64_t) { return score; });
    }
  });
}

}  // namespace

bool visit_class_scores(const MulticlassCurve::State& state,
                        std::int64_t num_classes, ScoreKind input,
                        const ClassVisit& visit) {
  if (state.histogram.defined()) {
    const at::Tensor histogram = state.histogram.cpu();
    check_state(histogram.dim() == 3 && histogram.size(0) == num_classes &&
                histogram.size(1) == 2 && histogram.size(2) > 0 &&
                histogram.scalar_type() == at::kLong);
    for (std::int64_t c = 0; c < num_classes; ++c) {
      visit(c, BucketedScores::of(histogram, c));
    }
    return true;
  }
  check_state(state.preds.size() == state.target.size());
  if (!state.preds.defined()) return false;
  const at::Tensor rows = state.preds.tensor().contiguous();
  const at::Tensor target = state.target.tensor().contiguous();
  check_state(rows.dim() == 2 && rows.size(1) == num_classes &&
              target.dim() == 1);
  if (rows.is_cpu() && rows.scalar_type() == at::kFloat) {
    visit_plain<std::uint32_t, float>(rows, target, input, visit);
  } else if (rows.is_cpu() && rows.scalar_type() == at::kDouble) {
    visit_plain<std::uint64_t, double>(rows, target, input, visit);
  } else {
    const at::Tensor scores =
        input == ScoreKind::kLogits ? rows.log_softmax(1, at::kDouble) : rows;
    for (std::int64_t c = 0; c < num_classes; ++c) {
      visit(c, DeviceRankedScores::of(scores.select(1, c), target.eq(c)));
    }
  }
  return true;
}

}  // namespace internal
}  // namespace tally
