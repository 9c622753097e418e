#include "tally/losses/soft_counts/soft_counts_loss.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/untouched.h"
#include "tally/losses/soft_counts/soft_counts.h"
#include "tally/metrics/common/fused.h"
#include "tally/state/fresh_tensor.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {
namespace {

using Settings = SoftCountsSettings;

/// The product of dimensions from `first` on, which may be none.
std::int64_t positions_of(const at::Tensor& tensor, std::int64_t first) {
  return c10::multiply_integers(tensor.sizes().slice(first));
}

SoftCountsInput input_of(const Settings& s, const at::Tensor& preds,
                         const at::Tensor& target) {
  const bool binary = s.mode == LabelMode::kBinary;
  SoftCountsInput input;
  input.samples = preds.size(0);
  input.classes = binary ? 1 : preds.size(1);
  input.positions = positions_of(preds, binary ? 1 : 2);
  input.index = target.dim() != preds.dim();
  input.preds = preds;
  input.target = target;
  input.activation = s.input == ScoreKind::kProbabilities ? Activation::kNone
                     : s.mode == LabelMode::kMulticlass   ? Activation::kSoftmax
                                                        : Activation::kSigmoid;
  input.soft_labels = s.soft_labels;
  input.by_sample = !s.batch;
  input.ignore_index = s.ignore_index;
  return input;
}

/// With the dimensions that LabeledPositions names.
SoftCountsInput in_three_dimensions(SoftCountsInput input) {
  const std::int64_t sizes[] = {input.samples, input.classes, input.positions};
  input.preds = input.preds.reshape(sizes);
  input.target = input.index ? input.target.reshape({sizes[0], sizes[2]})
                             : input.target.reshape(sizes);
  return input;
}

at::Tensor as_doubles(const at::Tensor& mask) { return mask.to(at::kDouble); }
ClassValues as_doubles(const ClassValues& mask) { return mask; }

/// Losses of groups, and what they count in a mean.
template <class Values>
struct Weighted {
  Values loss, weight;
};

/// [groups, C] of losses, 0 where nothing counts.
template <class Values>
Weighted<Values> losses_of(const Settings& s, const SoftCountsRule& rule,
                           SoftCountsOf<Values> counts) {
  for (Values* const each :
       {&counts.both, &counts.preds, &counts.target, &counts.count}) {
    if (!s.include_background && each->size(1) > 1) {
      *each = each->narrow(1, 1, each->size(1) - 1);
    }
    if (s.average == Average::kMicro) *each = each->sum({1}, true);
  }
  Values loss = rule.loss(counts);
  Values target = counts.target.detach(), count = counts.count.detach();
  if (loss.size(1) != target.size(1)) {
    target = target.sum({1}, true);
    count = count.sum({1}, true);
  }
  Values counts_at_all = count.gt(0), has_loss = counts_at_all;
  if (s.absent != AbsentClassLoss::kSmooth) {
    has_loss = has_loss.logical_and(target.gt(0));
  }
  if (s.absent == AbsentClassLoss::kSkip) counts_at_all = has_loss;
  loss = where(has_loss, loss, zeros_like(loss));
  Values weight = as_doubles(counts_at_all);
  if (s.average == Average::kWeighted) weight = weight.mul(target);
  return {loss, weight};
}

/// The mean over classes, of weight 1 unless nothing counts; as they are with
/// kNone.
template <class Values>
Weighted<Values> averaged(const Settings& s, const Weighted<Values>& classes) {
  if (s.average == Average::kNone) return classes;
  const Values total = classes.weight.sum({1}, true);
  const Values any = total.gt(0);
  return {classes.loss.mul(classes.weight)
              .sum({1}, true)
              .div(where(any, total, ones_like(total))),
          as_doubles(any)};
}

/// Of [groups, kSoftCounts, C].
Weighted<at::Tensor> losses_of(const Settings& s, const SoftCountsRule& rule,
                               const at::Tensor& sums) {
  return averaged(
      s, losses_of<at::Tensor>(s, rule,
                               {sums.select(1, 0), sums.select(1, 1),
                                sums.select(1, 2), sums.select(1, 3)}));
}

/// Of [1, classes] or [1, 1], in the dtype of results.
at::Tensor result_of(const Settings& s, const at::Tensor& loss,
                     at::ScalarType dtype) {
  const at::Tensor result = loss.to(dtype);
  return s.average == Average::kNone ? result.select(0, 0) : result.reshape({});
}

/// Of the sums of one group, with derivatives where there is a tape.
ClassValues losses_of(const Settings& s, const SoftCountsRule& rule,
                      const at::Tensor& sums, Tape* tape) {
  const std::int64_t classes = sums.size(2);
  const auto* const numbers = sums.const_data_ptr<double>();
  const auto counts = [&](std::int64_t which, Tape* on) {
    return ClassValues(on, numbers + which * classes, classes);
  };
  // In this order, which is that on the tape.
  ClassValues both = counts(0, tape), preds = counts(1, tape);
  return averaged(s, losses_of<ClassValues>(
                         s, rule,
                         {std::move(both), std::move(preds), counts(2, nullptr),
                          counts(3, nullptr)}))
      .loss;
}

/// The loss of one rank's scores of one group, as one node of the graph.
class FusedLoss final : public tally::internal::Fused {
 public:
  /// Throws c10::ValueError for targets that are none.
  FusedLoss(const Settings& settings,
            std::shared_ptr<const SoftCountsRule> rule, SoftCountsInput input)
      : settings_(settings),
        rule_(std::move(rule)),
        input_(std::move(input)),
        sums_(plain_soft_counts(settings.name, input_)),
        dtype_(input_.preds.scalar_type()),
        target_(input_.target) {
    // The node keeps them.
    input_.preds = at::Tensor();
  }

  at::Tensor value(at::TensorList) const override {
    const ClassValues losses =
        losses_of(settings_, *rule_, sums_, /*tape=*/nullptr);
    const std::int64_t size = losses.size(1);
    at::Tensor result = tally::internal::fresh_tensor(
        settings_.average == Average::kNone ? at::IntArrayRef(size)
                                            : at::IntArrayRef(),
        dtype_);
    for (std::int64_t c = 0; c < size; ++c) {
      if (dtype_ == at::kFloat) {
        result.mutable_data_ptr<float>()[c] =
            static_cast<float>(losses.number(c));
      } else {
        result.mutable_data_ptr<double>()[c] = losses.number(c);
      }
    }
    return result;
  }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool>) const override {
    const SoftCountsInput input = with(inputs[0].contiguous());
    Tape tape;
    const ClassValues losses = losses_of(settings_, *rule_, sums_, &tape);
    std::vector<double> factors;
    for (std::int64_t c = 0; c < losses.size(1); ++c) {
      const int place = losses.place(c);
      if (place == Tape::kNone) continue;
      factors.resize(std::max<std::size_t>(factors.size(), place + 1));
      factors[place] += number_at(gradient, c);
    }
    const std::vector<double> all = tape.derivatives(std::move(factors));
    at::Tensor of_sums =
        tally::internal::fresh_zeros(sums_.sizes(), at::kDouble);
    // Those of `both` and `preds`; the others have none.
    std::copy_n(all.begin(), 2 * sums_.size(2),
                of_sums.mutable_data_ptr<double>());
    return {soft_counts_gradient(input, of_sums)};
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const AutocastOff as_written;
    const at::Tensor sums =
        composite_soft_counts(in_three_dimensions(with(inputs[0])));
    return result_of(settings_, losses_of(settings_, *rule_, sums).loss,
                     dtype_);
  }

 private:
  SoftCountsInput with(const at::Tensor& preds) const {
    target_.get(settings_.name, "target");
    SoftCountsInput input = input_;
    input.preds = preds;
    return input;
  }

  Settings settings_;
  std::shared_ptr<const SoftCountsRule> rule_;
  SoftCountsInput input_;
  at::Tensor sums_;
  at::ScalarType dtype_;
  UntouchedTensor target_;
};

/// Of one rank; undefined for preds that it is not faster for.
at::Tensor fused_loss(const Settings& settings,
                      const std::shared_ptr<const SoftCountsRule>& rule,
                      const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor x = in_dtype_of_losses(preds);
  if (!tally::internal::are_fusible(x) || !target.has_storage()) return {};
  const auto function = c10::make_intrusive<FusedLoss>(
      settings, rule, input_of(settings, x, target.contiguous()));
  return sync::has_graph(x) ? tally::internal::fused(function, x)
                            : function->value({});
}

}  // namespace

void check_at_least_0(const char* loss, const char* option, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value >= 0, loss, ": expected ",
                    option, " of at least 0, got ", value);
}

void check_above_0(const char* loss, const char* option, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value > 0, loss, ": expected ",
                    option, " above 0, got ", value);
}

void check(const Settings& settings) {
  TORCH_CHECK_VALUE(settings.input != ScoreKind::kScores, settings.name,
                    ": expected input to be probabilities or logits, got "
                    "scores");
  check_at_least_0(settings.name, "smooth_nr", settings.smooth_nr);
  check_above_0(settings.name, "smooth_dr", settings.smooth_dr);
}

at::Tensor soft_counts_loss(const Settings& settings,
                            std::shared_ptr<const SoftCountsRule> rule,
                            const at::Tensor& preds, const at::Tensor& target) {
  const AutocastOff as_written;
  const auto check_all = [&] {
    check(settings);
    rule->check();
    check_labels(settings.name, settings.mode, settings.ignore_index, preds,
                 target);
  };
  const auto ranks = settings.communicator ? settings.communicator
                                           : sync::default_communicator();
  if (ranks->size() == 1 && settings.batch) {
    check_all();
    const at::Tensor loss = fused_loss(settings, rule, preds, target);
    if (loss.defined()) return loss;
  }
  sync::Call call(rule->description(), ranks, settings.timeout);
  call.asker = settings.name;
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check_all();
    own = soft_counts(call, in_three_dimensions(input_of(
                                settings, in_dtype_of_losses(preds), target)));
    if (!settings.batch) {
      const Weighted<at::Tensor> samples = losses_of(settings, *rule, own);
      own = at::stack({samples.loss.mul(samples.weight).sum({0}, true),
                       samples.weight.sum({0}, true)});
    }
    return own.detach();
  });
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  const at::Tensor loss =
      settings.batch ? losses_of(settings, *rule, sums).loss
                     : sums[0].div(at::where(sums[1].gt(0), sums[1].detach(),
                                             at::ones_like(sums[1])));
  return result_of(settings, loss, sync::accumulate_dtype(preds.scalar_type()));
}

}  // namespace tally::losses::internal
