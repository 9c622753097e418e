#include "tally/metrics/classification/hinge_loss.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "tally/metrics/common/constants.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

namespace {

// NaN stays NaN.
double hinge(double margin, bool squared) {
  const double loss = margin >= 1 ? 0 : 1 - margin;
  return squared ? loss * loss : loss;
}

at::Tensor hinge(const at::Tensor& margin, bool squared) {
  const at::Tensor loss = margin.neg().add(1).clamp_min(0);
  return squared ? loss.square() : loss;
}

template <class Score>
double best_other(const Score* scores, std::int64_t stride,
                  std::int64_t classes, std::int64_t label) {
  double best = -internal::kInfinity;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double score = scores[c * stride];
    if (score != score) return score;
    if (c != label && score > best) best = score;
  }
  return best;
}

}  // namespace

void MulticlassHingeLossOptions::validate(const char* metric) const {
  classification::check_num_classes(metric, num_classes_);
}

BinaryMargins::BinaryMargins(const Options& options,
                             const MetricOptions& metric_options)
    : rules_{0.5, ScoreKind::kLogits, options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()},
      squared_(options.squared()) {}

BinaryMargins::State BinaryMargins::observe(const at::Tensor& preds,
                                            const at::Tensor& target,
                                            const at::Tensor& weight) const {
  return classification::sum_binary_losses(
      rules_, preds, target, weight,
      [this](double score, bool is_one) {
        return hinge(is_one ? score : -score, squared_);
      },
      [this](const at::Tensor& scores, const at::Tensor& is_one) {
        return hinge(scores.where(is_one, scores.neg()), squared_);
      });
}

MulticlassMargins::MulticlassMargins(const Options& options,
                                     const MetricOptions& metric_options)
    : rules_{options.num_classes(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()},
      squared_(options.squared()),
      mode_(options.mode()) {}

MulticlassMargins::State MulticlassMargins::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  if (mode_ == HingeMode::kOneVsAll) return one_vs_all(preds, target, weight);
  const classification::WeightedSum sum = classification::sum_class_losses(
      rules_, preds, target, weight,
      [this](const auto* own, std::int64_t stride, std::int64_t label,
             std::int64_t) {
        const double others =
            best_other(own, stride, rules_.num_classes, label);
        return hinge(static_cast<double>(own[label * stride]) - others,
                     squared_);
      },
      [this](const at::Tensor& given, const at::Tensor& labels) {
        const at::Tensor scores = given.to(at::kDouble);
        const at::Tensor index = labels.unsqueeze(1);
        const at::Tensor own = scores.gather(1, index).squeeze(1);
        const at::Tensor others =
            scores.scatter(1, index, -internal::kInfinity).amax(1);
        return hinge(own.sub(others), squared_);
      });
  return {sum.sum.tensor(), sum.weight};
}

MulticlassMargins::State MulticlassMargins::one_vs_all(
    const at::Tensor& preds, const at::Tensor& given_target,
    const at::Tensor& weight) const {
  const std::int64_t classes = rules_.num_classes;
  classification::check_class_scores(preds, given_target, classes);
  classification::check_loss_weight(weight, given_target);
  const auto whole =
      classification::whole_target(given_target, rules_.validate_args);
  const at::Tensor& target = *whole;
  if (classification::are_plain(preds, target, weight)) {
    const classification::LossWeights weights(weight, rules_.nan_policy);
    at::Tensor sums = internal::fresh_zeros({classes}, at::kDouble);
    auto* const data = sums.mutable_data_ptr<double>();
    double total = 0;
    classification::for_each_class_loss(
        rules_, preds, target,
        [&](const auto* own, std::int64_t stride, std::int64_t label,
            std::int64_t index) {
          double nan = 0;
          for (std::int64_t c = 0; c < classes; ++c) {
            const double score = own[c * stride];
            if (score != score) nan = score;
          }
          if (!weights.takes(nan, index)) return;
          for (std::int64_t c = 0; c < classes; ++c) {
            const double score = own[c * stride];
            data[c] += weights[index] *
                       (nan + hinge(c == label ? score : -score, squared_));
          }
          total += weights[index];
        });
    return {sums, total};
  }
  at::Tensor kept = classification::kept_labels(rules_, target);
  if (rules_.nan_policy != NanPolicy::kPropagate) {
    kept = classification::without_nan(rules_.nan_policy, kept,
                                       preds.detach().isnan().any(1), weight);
  }
  const at::Tensor drop = kept.logical_not().unsqueeze(1);
  const at::Tensor scores = preds.masked_fill(drop, 0).to(at::kDouble);
  const at::Tensor labels =
      target.to(at::kLong).unsqueeze(1).masked_fill(drop, 0);
  const at::Tensor is_own = at::zeros(scores.sizes(), scores.options())
                                .scatter(1, labels, 1)
                                .to(at::kBool);
  const at::Tensor loss = hinge(scores.where(is_own, scores.neg()), squared_);
  const at::Tensor weights = classification::kept_weights(kept, weight);
  const at::Tensor sums = loss.mul(weights.unsqueeze(1))
                              .transpose(0, 1)
                              .reshape({classes, -1})
                              .sum(1);
  const at::Tensor has_nan = scores.detach().isnan().any();
  return {sums.masked_fill(has_nan, internal::kNaN), Number(weights.sum())};
}

at::Tensor BinaryHingeLoss::evaluate(const State& state) const {
  return state.sum / state.weight;
}

at::Tensor MulticlassHingeLoss::evaluate(const State& state) const {
  if (!state.sums.defined()) {
    return options().mode() == HingeMode::kOneVsAll
               ? at::full({options().num_classes()}, internal::kNaN,
                          at::kDouble)
               : at::full({}, internal::kNaN, at::kDouble);
  }
  return state.sums.div(state.weight.tensor());
}

template class MetricOf<BinaryHingeLoss, BinaryMargins, at::Tensor>;
template class MetricOf<MulticlassHingeLoss, MulticlassMargins, at::Tensor>;

}  // namespace tally
