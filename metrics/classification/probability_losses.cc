#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/classification/brier_score.h"
#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/classification/log_loss.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

namespace {

// NaN if a logit is NaN or +infinity.
template <class Score>
double log_loss_of_logits(const Score* logits, std::int64_t classes,
                          std::int64_t stride, std::int64_t label) {
  const auto [max, sum] =
      classification::softmax_terms(logits, stride, classes);
  return std::log(sum) + (max - logits[label * stride]);
}

// log(1 + exp(x)).
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// Calls sum(plain, tensor) with the loss of elements that are 0 or 1: of
// numbers and of tensors (see sum_binary_losses).
template <class Sum>
auto with_element_loss(ScoreKind input, const at::Tensor& preds,
                       const Sum& sum) {
  if (input == ScoreKind::kLogits) {
    return sum([](double x, bool is_one) { return softplus(is_one ? -x : x); },
               [](const at::Tensor& x, const at::Tensor& is_one) {
                 const at::Tensor own = x.neg().where(is_one, x);
                 return own.clamp_min(0).add(own.abs().neg().exp().log1p());
               });
  }
  internal::check_floating("preds", preds);
  const double eps = classification::epsilon_of(preds.scalar_type());
  return sum(
      [=](double p, bool is_one) {
        return -std::log(std::clamp(is_one ? p : 1 - p, eps, 1 - eps));
      },
      [=](const at::Tensor& p, const at::Tensor& is_one) {
        return p.where(is_one, p.neg().add(1)).clamp(eps, 1 - eps).log().neg();
      });
}

// sum_c (p_c - [c = label])^2.
template <class Probability>
double squared_errors(std::int64_t classes, std::int64_t label,
                      const Probability& probability) {
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double error = probability(c) - (c == label ? 1 : 0);
    sum += error * error;
  }
  return sum;
}

// The same of probabilities side by side: several sums at once.
template <class Score>
double squared_errors_of_row(const Score* row, std::int64_t classes,
                             std::int64_t label) {
  const auto squares = [row](std::int64_t begin, std::int64_t end) {
    return internal::sum_terms(end - begin, [=](std::int64_t i) {
      const auto p = static_cast<double>(row[begin + i]);
      return p * p;
    });
  };
  const double error = static_cast<double>(row[label]) - 1;
  return error * error + squares(0, label) + squares(label + 1, classes);
}

template <class Score>
double squared_errors_of_logits(const Score* logits, std::int64_t stride,
                                std::int64_t classes, std::int64_t label) {
  const auto terms = classification::softmax_terms(logits, stride, classes);
  return squared_errors(classes, label, [=](std::int64_t c) {
    return std::exp(logits[c * stride] - terms.max) / terms.sum;
  });
}

}  // namespace

void MultilabelLogLossOptions::validate(const char* metric) const {
  classification::check_num_labels(metric, num_labels_);
  classification::check_probability_kind(metric, input_);
}

BinaryNegativeLogLikelihood::State BinaryNegativeLogLikelihood::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  return with_element_loss(rules_.input, preds,
                           [&](const auto& plain, const auto& tensor) {
                             return classification::sum_binary_losses(
                                 rules_, preds, target, weight, plain, tensor);
                           });
}

MultilabelNegativeLogLikelihood::MultilabelNegativeLogLikelihood(
    const Options& options, const MetricOptions& metric_options)
    : num_labels_(options.num_labels()),
      rules_{0.5, options.input(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()} {}

MultilabelNegativeLogLikelihood::State MultilabelNegativeLogLikelihood::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  classification::check_multilabel_scores(preds, target, num_labels_);
  if (weight.defined()) {
    internal::check_real("weight", weight);
    internal::check_same_shape("weight", weight, "target[:, 0]",
                               target.select(1, 0));
  }
  classification::BinaryRules all = rules_;
  all.nan_policy = NanPolicy::kPropagate;
  const classification::MultilabelBatch batch(all, num_labels_, preds.detach(),
                                              target);
  return with_element_loss(
      rules_.input, preds, [&](const auto& plain, const auto& tensor) -> State {
        if (classification::are_plain(preds, target, weight)) {
          const at::Tensor table =
              internal::fresh_zeros({3, num_labels_}, at::kDouble);
          auto* const rows = table.mutable_data_ptr<double>();
          const std::int64_t positions = batch.positions();
          classification::for_each_element_loss(
              batch, weight, rules_.nan_policy, plain,
              [&](std::int64_t index, double loss, double own_weight,
                  bool is_one) {
                double* const own = rows + index / positions % num_labels_;
                own[0] += own_weight * loss;
                own[num_labels_] += own_weight;
                own[2 * num_labels_] += is_one ? own_weight : 0;
              });
          return {table};
        }
        const classification::ElementLosses elements =
            classification::element_losses(batch, preds, weight,
                                           rules_.nan_policy, tensor);
        const auto by_label = [&](const at::Tensor& values) {
          return values.transpose(0, 1).flatten(1).sum(1);
        };
        return {
            at::stack({by_label(elements.losses.mul(elements.weights)),
                       by_label(elements.weights),
                       by_label(elements.weights.where(elements.is_one, 0))})};
      });
}

MulticlassNegativeLogLikelihood::State MulticlassNegativeLogLikelihood::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  if (input_ == ScoreKind::kLogits) {
    const auto sums = classification::sum_class_losses(
        rules_, preds, target, weight,
        [this](const auto* own, std::int64_t stride, std::int64_t label,
               std::int64_t) {
          return log_loss_of_logits(own, rules_.num_classes, stride, label);
        },
        [](const at::Tensor& logits, const at::Tensor& labels) {
          return logits.log_softmax(1, at::kDouble)
              .gather(1, labels.unsqueeze(1))
              .squeeze(1)
              .neg();
        });
    return {sums.sum, sums.weight};
  }
  internal::check_floating("preds", preds);
  const double eps = classification::epsilon_of(preds.scalar_type());
  return classification::sum_probability_losses(
      rules_, preds, target, weight,
      [&](const auto* own, std::int64_t stride, std::int64_t label) {
        const double p = own[label * stride];
        return -std::log(std::clamp(p, eps, 1 - eps));
      },
      [&](const at::Tensor& probabilities, const at::Tensor& labels) {
        const at::Tensor p = probabilities.gather(1, labels.unsqueeze(1))
                                 .squeeze(1)
                                 .to(at::kDouble);
        if (rules_.validate_args && !preds.is_cpu()) {
          classification::check_probabilities(p);
        }
        return p.clamp(eps, 1 - eps).log().neg();
      });
}

at::Tensor BinaryLogLoss::evaluate(const State& state) const {
  return options().normalize() ? state.sum / state.weight : state.sum;
}

at::Tensor MultilabelLogLoss::evaluate(const State& state) const {
  const bool normalize = options().normalize();
  const at::Tensor table =
      state.sums.defined()
          ? state.sums
          : internal::fresh_zeros({3, options().num_labels()}, at::kDouble);
  const at::Tensor sums = table.select(0, 0);
  const at::Tensor weights = table.select(0, 1);
  if (options().average() == Average::kMicro) {
    return normalize ? sums.sum().div(weights.sum()) : sums.sum();
  }
  const at::Tensor values = normalize ? sums.div(weights) : sums;
  if (options().average() == Average::kNone) return values;
  const at::Tensor counted = weights.ne(0).logical_or_(sums.isnan());
  at::Tensor shares = counted.to(at::kDouble);
  if (options().average() == Average::kWeighted) {
    const at::Tensor positives = table.select(0, 2);
    shares = positives.where(positives.sum().ne(0), shares);
  }
  at::Tensor total = shares.sum();
  if (!normalize) total = total.masked_fill(total.eq(0), 1);
  return values.masked_fill(counted.logical_not(), 0)
      .mul(shares)
      .sum()
      .div(total);
}

at::Tensor MulticlassLogLoss::evaluate(const State& state) const {
  return options().normalize() ? state.sum / state.weight : state.sum;
}

BinarySquaredErrors::State BinarySquaredErrors::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  const bool logits = rules_.input == ScoreKind::kLogits;
  return classification::sum_binary_losses(
      rules_, preds, target, weight,
      [=](double score, bool is_one) {
        const double p = logits ? 1 / (1 + std::exp(-score)) : score;
        const double error = p - static_cast<double>(is_one);
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
          return squared_errors_of_logits(own, stride, rules_.num_classes,
                                          label);
        },
        [&](const at::Tensor& scores, const at::Tensor& labels) {
          return tensor_squares(scores.softmax(1, at::kDouble), labels);
        });
    return {sums.sum, sums.weight};
  }
  return classification::sum_probability_losses(
      rules_, preds, target, weight,
      [this](const auto* own, std::int64_t stride, std::int64_t label) {
        if (stride == 1) {
          return squared_errors_of_row(own, rules_.num_classes, label);
        }
        return squared_errors(
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

template class MetricOf<BinaryBrierScore, BinarySquaredErrors, at::Tensor>;
template class MetricOf<MulticlassBrierScore, MulticlassSquaredErrors,
                        at::Tensor>;
template class MetricOf<BinaryLogLoss, BinaryNegativeLogLikelihood, at::Tensor>;
template class MetricOf<MulticlassLogLoss, MulticlassNegativeLogLikelihood,
                        at::Tensor>;
template class MetricOf<MultilabelLogLoss, MultilabelNegativeLogLikelihood,
                        at::Tensor>;

}  // namespace tally
