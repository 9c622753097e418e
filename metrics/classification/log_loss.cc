#include "tally/metrics/classification/log_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/checks.h"

namespace tally {
namespace {

double epsilon_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kHalf:
      return std::numeric_limits<at::Half>::epsilon();
    case at::kBFloat16:
      return std::numeric_limits<at::BFloat16>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// NaN if a logit is NaN or +infinity.
template <class Score>
double logit_loss(const Score* logits, std::int64_t classes,
                  std::int64_t stride, std::int64_t label) {
  double max = logits[0];
  for (std::int64_t c = 1; c < classes; ++c) {
    max = std::max<double>(max, logits[c * stride]);
  }
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    sum += std::exp(logits[c * stride] - max);
  }
  return std::log(sum) + (max - logits[label * stride]);
}

// log(1 + exp(x)).
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

void MulticlassLogLossOptions::validate(const char* metric) const {
  internal::check_num_classes(metric, num_classes_);
}

BinaryNegativeLogLikelihood::BinaryNegativeLogLikelihood(
    const Options& options, const MetricOptions& metric_options)
    : rules_{0.5, options.input(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()} {}

BinaryNegativeLogLikelihood::State BinaryNegativeLogLikelihood::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  if (rules_.input == ScoreKind::kLogits) {
    return internal::sum_binary_losses(
        rules_, preds, target, weight,
        [](double x, bool is_one) { return softplus(is_one ? -x : x); },
        [](const at::Tensor& x, const at::Tensor& is_one) {
          const at::Tensor own = x.neg().where(is_one, x);
          return own.clamp_min(0).add(own.abs().neg().exp().log1p());
        });
  }
  internal::check_floating("preds", preds);
  const double eps = epsilon_of(preds.scalar_type());
  return internal::sum_binary_losses(
      rules_, preds, target, weight,
      [=](double p, bool is_one) {
        return -std::log(std::clamp(is_one ? p : 1 - p, eps, 1 - eps));
      },
      [=](const at::Tensor& p, const at::Tensor& is_one) {
        return p.where(is_one, p.neg().add(1)).clamp(eps, 1 - eps).log().neg();
      });
}

MulticlassNegativeLogLikelihood::MulticlassNegativeLogLikelihood(
    const Options& options, const MetricOptions& metric_options)
    : rules_{options.num_classes(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()},
      input_(options.input()) {}

MulticlassNegativeLogLikelihood::State MulticlassNegativeLogLikelihood::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  if (input_ == ScoreKind::kLogits) {
    return internal::sum_class_losses(
        rules_, preds, target, weight,
        [this](const auto* own, std::int64_t stride, std::int64_t label,
               std::int64_t) {
          return logit_loss(own, rules_.num_classes, stride, label);
        },
        [](const at::Tensor& logits, const at::Tensor& labels) {
          return logits.log_softmax(1, at::kDouble)
              .gather(1, labels.unsqueeze(1))
              .squeeze(1)
              .neg();
        });
  }
  internal::check_floating("preds", preds);
  const double eps = epsilon_of(preds.scalar_type());
  return internal::sum_class_losses(
      rules_, preds, target, weight,
      [&](const auto* own, std::int64_t stride, std::int64_t label,
          std::int64_t index) {
        const double p = own[label * stride];
        if (rules_.validate_args && (p < 0 || p > 1)) {
          internal::refuse_probability(p, index);
        }
        return -std::log(std::clamp(p, eps, 1 - eps));
      },
      [&](const at::Tensor& probabilities, const at::Tensor& labels) {
        const at::Tensor p = probabilities.gather(1, labels.unsqueeze(1))
                                 .squeeze(1)
                                 .to(at::kDouble);
        if (rules_.validate_args) internal::check_probabilities(p);
        return p.clamp(eps, 1 - eps).log().neg();
      });
}

at::Tensor BinaryLogLoss::evaluate(const State& state) const {
  return options().normalize() ? state.sum / state.weight : state.sum;
}

at::Tensor MulticlassLogLoss::evaluate(const State& state) const {
  return options().normalize() ? state.sum / state.weight : state.sum;
}

}  // namespace tally
