#include "tally/metrics/classification/brier_score.h"

#include <cmath>

namespace tally {

namespace classification = internal::classification;

namespace {

// sum_c (p_c - [c = label])^2.
template <class Probability>
double squares(std::int64_t classes, std::int64_t label,
               const Probability& probability) {
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double error = probability(c) - (c == label ? 1 : 0);
    sum += error * error;
  }
  return sum;
}

template <class Score>
double logit_squares(const Score* logits, std::int64_t stride,
                     std::int64_t classes, std::int64_t label) {
  const auto terms = classification::softmax_terms(logits, stride, classes);
  return squares(classes, label, [=](std::int64_t c) {
    return std::exp(logits[c * stride] - terms.max) / terms.sum;
  });
}

}  // namespace

BinarySquaredErrors::State BinarySquaredErrors::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const bool logits = rules_.input == ScoreKind::kLogits;
  return classification::sum_binary_losses(
      rules_, preds, target, weight,
      [=](double score, bool is_one) {
        const double p = logits ? 1 / (1 + std::exp(-score)) : score;
        const double error = p - (is_one ? 1 : 0);
        return error * error;
      },
      [=](const at::Tensor& scores, const at::Tensor& is_one) {
        const at::Tensor p = logits ? scores.sigmoid() : scores;
        return p.sub(is_one.to(at::kDouble)).square();
      });
}

MulticlassSquaredErrors::State MulticlassSquaredErrors::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const auto tensor_squares = [](const at::Tensor& p,
                                 const at::Tensor& labels) {
    const at::Tensor own = p.gather(1, labels.unsqueeze(1)).squeeze(1);
    return p.square().sum(1).sub(own.mul(2)).add(1);
  };
  if (input_ == ScoreKind::kLogits) {
    const auto sums = classification::sum_class_losses(
        rules_, preds, target, weight,
        [this](const auto* own, std::int64_t stride, std::int64_t label,
               std::int64_t) {
          return logit_squares(own, stride, rules_.num_classes, label);
        },
        [&](const at::Tensor& scores, const at::Tensor& labels) {
          return tensor_squares(scores.softmax(1, at::kDouble), labels);
        });
    return {sums.sum, sums.weight};
  }
  return classification::sum_probability_losses(
      rules_, preds, target, weight,
      [this](const auto* own, std::int64_t stride, std::int64_t label) {
        return squares(
            rules_.num_classes, label,
            [&](std::int64_t c) -> double { return own[c * stride]; });
      },
      [&](const at::Tensor& scores, const at::Tensor& labels) {
        if (rules_.validate_args && !preds.is_cpu()) {
          classification::check_class_probabilities(scores);
        }
        return tensor_squares(scores.to(at::kDouble), labels);
      });
}

at::Tensor BinaryBrierScore::evaluate(const State& state) const {
  return state.sum / state.weight;
}

at::Tensor MulticlassBrierScore::evaluate(const State& state) const {
  const Number mean = state.sum / state.weight;
  return options().scale_by_half() ? mean / Number(2) : mean;
}

}  // namespace tally
