#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tally/metrics/classification/calibration_slope.h"
#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/metrics/classification/spiegelhalter_z.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

namespace {

/// Logit, target and weight of a position.
struct LogitRow {
  double logit;
  double target;
  double weight;
};

double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

double log_likelihood(const LogitRow& row, double logit) {
  const double own = row.target > 0 ? logit : -logit;
  return row.weight *
         (std::min(own, 0.0) - std::log1p(std::exp(-std::abs(own))));
}

/// In an order that does not depend on theirs. Empty if one is not finite.
std::vector<LogitRow> sorted_logits(const Rows& rows) {
  std::vector<LogitRow> sorted;
  if (!rows.defined()) return sorted;
  const at::Tensor all = rows.tensor().cpu().contiguous();
  const double* const data = all.const_data_ptr<double>();
  for (std::int64_t i = 0; i < all.size(0); ++i) {
    const double* const row = data + 3 * i;
    if (!std::isfinite(row[0]) || !std::isfinite(row[2])) return {};
    sorted.push_back({row[0], row[1], row[2]});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const LogitRow& a, const LogitRow& b) {
              return std::tie(a.logit, a.target, a.weight) <
                     std::tie(b.logit, b.target, b.weight);
            });
  return sorted;
}

bool has_both_classes(const std::vector<LogitRow>& rows) {
  const auto is_positive = [](const LogitRow& row) { return row.target > 0; };
  return std::any_of(rows.begin(), rows.end(), is_positive) &&
         !std::all_of(rows.begin(), rows.end(), is_positive);
}

/// Whether some logits of either class are above some of the other. Otherwise a
/// steeper slope is always more likely. REQUIRES: both classes, sorted.
bool classes_overlap(const std::vector<LogitRow>& rows) {
  const auto ends_of = [&](bool positive) {
    const auto is_own = [=](const LogitRow& row) {
      return (row.target > 0) == positive;
    };
    return std::array<double, 2>{
        std::find_if(rows.begin(), rows.end(), is_own)->logit,
        std::find_if(rows.rbegin(), rows.rend(), is_own)->logit};
  };
  const auto positives = ends_of(true);
  const auto negatives = ends_of(false);
  return positives[0] < negatives[1] && negatives[0] < positives[1];
}

/// The root of a falling function, by Newton's method within what encloses it:
/// the shifts of the largest and the smallest logit to the rate of positives.
/// REQUIRES: both classes, sorted.
double best_intercept(const std::vector<LogitRow>& rows) {
  constexpr int kMostSteps = 200;
  constexpr double kTolerance = 1e-15;
  double positives = 0;
  double negatives = 0;
  for (const LogitRow& row : rows) {
    (row.target > 0 ? positives : negatives) += row.weight;
  }
  const double wanted = std::log(positives / negatives);
  double low = wanted - rows.back().logit;
  double high = wanted - rows.front().logit;
  double intercept = low + (high - low) / 2;
  for (int step = 0; step < kMostSteps; ++step) {
    double excess = 0;
    double slope = 0;
    for (const LogitRow& row : rows) {
      const double p = sigmoid(intercept + row.logit);
      excess += row.weight * (row.target - p);
      slope += row.weight * p * (1 - p);
    }
    (excess > 0 ? low : high) = intercept;
    double next = intercept + excess / slope;
    if (!(next >= low && next <= high)) next = low + (high - low) / 2;
    const double change = std::abs(next - intercept);
    intercept = next;
    if (change <= kTolerance * std::max(1.0, std::abs(next))) break;
  }
  return intercept;
}

/// An intercept and a slope, and what Newton's method needs of the likelihood
/// there.
struct LogisticFit {
  double intercept = 0;
  double slope = 0;
  double likelihood = 0;
  double step_intercept = 0;
  double step_slope = 0;
  double gain = 0;  // of the likelihood by the step, to first order

  LogisticFit(const std::vector<LogitRow>& rows, double a, double b)
      : intercept(a), slope(b) {
    double g = 0, h = 0, aa = 0, ab = 0, bb = 0;
    for (const LogitRow& row : rows) {
      const double logit = a + b * row.logit;
      const double p = sigmoid(logit);
      const double error = row.weight * (row.target - p);
      const double variance = row.weight * p * (1 - p);
      likelihood += log_likelihood(row, logit);
      g += error;
      h += error * row.logit;
      aa += variance;
      ab += variance * row.logit;
      bb += variance * row.logit * row.logit;
    }
    const double determinant = aa * bb - ab * ab;
    step_intercept = (bb * g - ab * h) / determinant;
    step_slope = (aa * h - ab * g) / determinant;
    gain = step_intercept * g + step_slope * h;
  }

  LogisticFit moved(const std::vector<LogitRow>& rows, double part) const {
    return {rows, intercept + part * step_intercept, slope + part * step_slope};
  }
};

/// REQUIRES: classes that overlap.
double best_slope(std::vector<LogitRow> rows) {
  constexpr int kMostSteps = 200;
  constexpr double kSmall = 1e-10;  // gains that rounding may hide
  // Of mean 0 and variance 1, for the sake of the determinant.
  double sum = 0, squares = 0, weight = 0;
  for (const LogitRow& row : rows) {
    sum += row.weight * row.logit;
    weight += row.weight;
  }
  const double mean = sum / weight;
  for (const LogitRow& row : rows) {
    squares += row.weight * (row.logit - mean) * (row.logit - mean);
  }
  const double deviation = std::sqrt(squares / weight);
  for (LogitRow& row : rows) row.logit = (row.logit - mean) / deviation;
  LogisticFit fit(rows, 0, 0);
  for (int step = 0; step < kMostSteps; ++step) {
    double part = 1;
    LogisticFit next = fit.moved(rows, part);
    const bool is_close = fit.gain <= kSmall * weight;
    while (!is_close && !(next.likelihood > fit.likelihood) && part > kSmall) {
      part /= 2;
      next = fit.moved(rows, part);
    }
    const double change = std::abs(next.slope - fit.slope);
    fit = next;
    if (is_close && change <= 1e-14 * std::max(1.0, std::abs(fit.slope))) break;
  }
  return fit.slope / deviation;
}

at::Tensor number_tensor(double value) {
  at::Tensor result = internal::fresh_tensor({}, at::kDouble);
  *result.mutable_data_ptr<double>() = value;
  return result;
}

}  // namespace

BinaryExcessErrors::State BinaryExcessErrors::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  classification::check_binary_scores(preds, target);
  classification::check_loss_weight(weight, target);
  const bool logits = rules_.input == ScoreKind::kLogits;
  classification::BinaryRules all = rules_;
  all.nan_policy = NanPolicy::kPropagate;
  const classification::BinaryBatch batch(all, preds.detach(), target);
  if (classification::are_plain(preds, target, weight)) {
    double excess = 0, variance = 0;
    classification::for_each_element_loss(
        batch, weight, rules_.nan_policy,
        [=](double score, bool) { return logits ? sigmoid(score) : score; },
        [&](std::int64_t, double p, double own_weight, bool is_one) {
          const double slope = 1 - 2 * p;
          excess += own_weight * ((static_cast<double>(is_one) - p) * slope);
          variance += own_weight * own_weight * (slope * slope * p * (1 - p));
        });
    return {Number(excess), Number(variance)};
  }
  const auto [p, weights, is_one] = classification::element_losses(
      batch, preds, weight, rules_.nan_policy,
      [=](const at::Tensor& scores, const at::Tensor&) {
        return logits ? scores.sigmoid() : scores;
      });
  const at::Tensor slope = p.mul(-2).add(1);
  return {Number(is_one.to(at::kDouble).sub(p).mul(slope).mul(weights).sum()),
          Number(slope.square()
                     .mul(p)
                     .mul(p.neg().add(1))
                     .mul(weights.square())
                     .sum())};
}

at::Tensor BinarySpiegelhalterZ::evaluate(const State& state) const {
  return state.excess / sqrt(state.variance);
}

BinaryLogits::State BinaryLogits::observe(const at::Tensor& preds,
                                          const at::Tensor& target,
                                          const at::Tensor& weight) const {
  classification::check_binary_scores(preds, target);
  classification::check_loss_weight(weight, target);
  if (weight.defined()) {
    const at::Tensor negative = weight.detach().lt(0);
    TORCH_CHECK_VALUE(
        !negative.any().item<bool>(), "expected weight of at least 0, got ",
        weight.detach().masked_select(negative)[0].item().toDouble());
  }
  classification::BinaryRules rules = rules_;
  rules.nan_policy = NanPolicy::kPropagate;
  const at::Tensor scores = preds.detach();
  const classification::BinaryBatch batch(rules, scores, target);
  const bool logits = rules_.input == ScoreKind::kLogits;
  const double eps =
      logits ? 0 : classification::epsilon_of(preds.scalar_type());
  if (classification::are_plain(scores, target, weight)) {
    std::vector<double> rows;
    classification::for_each_element_loss(
        batch, weight, rules_.nan_policy,
        [=](double score, bool) {
          if (logits || score != score) return score;
          const double p = std::clamp(score, eps, 1 - eps);
          return std::log(p) - std::log1p(-p);
        },
        [&](std::int64_t, double logit, double own_weight, bool is_one) {
          if (own_weight == 0) return;
          rows.insert(rows.end(), {logit, is_one ? 1.0 : 0.0, own_weight});
        });
    at::Tensor kept = internal::fresh_tensor(
        {static_cast<std::int64_t>(rows.size() / 3), 3}, at::kDouble);
    std::copy(rows.begin(), rows.end(), kept.mutable_data_ptr<double>());
    return {Rows(kept)};
  }
  const classification::ElementLosses elements = classification::element_losses(
      batch, scores, weight.defined() ? weight.detach() : weight,
      rules_.nan_policy, [=](const at::Tensor& given, const at::Tensor&) {
        return logits ? given : given.clamp(eps, 1 - eps).logit();
      });
  const at::Tensor all =
      at::stack(
          {elements.losses, elements.is_one.to(at::kDouble), elements.weights},
          /*dim=*/-1)
          .reshape({-1, 3});
  const at::Tensor kept = elements.weights.reshape(-1).ne(0).nonzero();
  return {Rows(all.index_select(0, kept.reshape(-1)))};
}

at::Tensor BinaryCalibrationSlope::evaluate(const State& state) const {
  const std::vector<LogitRow> rows = sorted_logits(state.rows);
  return number_tensor(has_both_classes(rows) && classes_overlap(rows)
                           ? best_slope(rows)
                           : internal::kNaN);
}

at::Tensor BinaryCalibrationIntercept::evaluate(const State& state) const {
  const std::vector<LogitRow> rows = sorted_logits(state.rows);
  return number_tensor(has_both_classes(rows) ? best_intercept(rows)
                                              : internal::kNaN);
}

template class MetricOf<BinarySpiegelhalterZ, BinaryExcessErrors, at::Tensor>;
template class MetricOf<BinaryCalibrationSlope, BinaryLogits, at::Tensor>;
template class MetricOf<BinaryCalibrationIntercept, BinaryLogits, at::Tensor>;

}  // namespace tally
