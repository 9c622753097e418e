#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/ring.h"
#include "tally/losses/lovasz/lovasz_hinge_loss.h"
#include "tally/losses/lovasz/lovasz_order.h"
#include "tally/losses/lovasz/lovasz_softmax_loss.h"
#include "tally/state/codec.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

using sync::Call;
using Counts = std::vector<std::int64_t>;

/// The errors of positions that count, [C, n].
struct Errors {
  at::Tensor input;   ///< with the graph of preds: errors or probabilities
  bool probability;   ///< whether those
  at::Tensor marked;  ///< see lovasz_terms()
  Counts positives;   ///< of each class, whether or not among the errors
  bool counts;        ///< whether any position counts

  internal::LovaszTerms terms(const at::Tensor& all, const Counts& of_all,
                              std::int64_t first) const {
    return internal::lovasz_terms(all, of_all, first, input.size(1),
                                  probability);
  }
};

/// The weights of classes in their mean: [C], 0 in all if none counts.
std::vector<double> weights_of(const Counts& positives, bool present) {
  std::vector<double> weights;
  double total = 0;
  for (const std::int64_t count : positives) {
    weights.push_back(present && count == 0 ? 0 : 1);
    total += weights.back();
  }
  for (double& weight : weights) weight /= total > 0 ? total : 1;
  return weights;
}

/// Of some images.
using ErrorsOf = c10::function_ref<Errors(const at::Tensor& preds,
                                          const at::Tensor& target)>;

/// The same on all ranks.
void check_rows(const Call& call, std::int64_t rows) {
  TORCH_CHECK_VALUE(rows <= internal::kMostErrors, call.asker,
                    ": expected at most ", internal::kMostErrors,
                    " positions over all ranks, got ", rows);
}

/// The loss of all positions of all ranks.
at::Tensor loss_of_all(const Call& call, bool present,
                       c10::function_ref<Errors()> prepare) {
  Errors own;
  const sync::Agreement agreement = sync::agree(call, [&] {
    own = prepare();
    sync::Offer offer;
    offer.schema = c10::str(own.input.scalar_type(), " errors of ",
                            own.input.size(0), " classes");
    Encoder encoder(offer.payload);
    encoder.integer(own.input.size(1));
    for (const std::int64_t count : own.positives) encoder.integer(count);
    return offer;
  });
  Counts rows, positives(own.positives.size());
  for (const std::string_view payload : agreement.payloads) {
    Decoder decoder(payload);
    rows.push_back(decoder.integer());
    for (std::int64_t& count : positives) count += decoder.integer();
  }
  const internal::RankRows all(std::move(rows));
  check_rows(call, all.total());
  return sync::or_give_up(*call.communicator, [&] {
    const internal::LovaszTerms terms = own.terms(
        call.size() == 1
            ? own.marked
            : internal::all_rows(call, all, own.marked.t()).t().contiguous(),
        positives, all.before(call.rank()));
    const at::Tensor weights =
        at::tensor(weights_of(positives, present), terms.values.options());
    return internal::replicated_value(
        call, terms.values.mul(weights).sum().to(own.input.scalar_type()),
        {own.input},
        {terms.slopes.mul_(
            weights.to(terms.slopes.scalar_type()).unsqueeze(1))});
  });
}

/// The mean over the images of all ranks, each with a loss of its own.
at::Tensor loss_of_images(const Call& call, bool present,
                          const at::Tensor& preds, const at::Tensor& target,
                          c10::function_ref<void()> check, ErrorsOf errors_of) {
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check();
    at::Tensor sum = preds.narrow(0, 0, 0).sum().to(at::kDouble);
    double images = 0;
    for (std::int64_t i = 0; i < preds.size(0); ++i) {
      const Errors image =
          errors_of(preds.narrow(0, i, 1), target.narrow(0, i, 1));
      check_rows(call, image.input.size(1));
      const std::vector<double> weights = weights_of(image.positives, present);
      if (!image.counts ||
          std::accumulate(weights.begin(), weights.end(), 0.0) == 0) {
        continue;
      }
      const internal::LovaszTerms terms =
          image.terms(image.marked, image.positives, 0);
      const at::Tensor of_classes = at::tensor(weights, terms.values.options());
      const at::Tensor slopes = terms.slopes.mul(
          of_classes.to(terms.slopes.scalar_type()).unsqueeze(1));
      sum =
          sum.add(sync::replace_values(image.input.mul(slopes).sum(at::kDouble),
                                       terms.values.mul(of_classes).sum()));
      ++images;
    }
    own = at::stack({sum, at::full_like(sum.detach(), images)});
    return own.detach();
  });
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  return sums[0]
      .div(all[1].clamp_min(1))
      .to(sync::accumulate_dtype(preds.scalar_type()));
}

/// The loss of all or of each image.
template <class Options>
at::Tensor loss_of(const char* name, const Options& options, bool present,
                   const at::Tensor& preds, const at::Tensor& target,
                   c10::function_ref<void()> check, ErrorsOf errors_of) {
  const internal::AutocastOff as_written;
  const Call call = internal::call_of(name, options);
  if (options.per_image()) {
    return loss_of_images(call, present, preds, target, check, errors_of);
  }
  return loss_of_all(call, present, [&] {
    check();
    return errors_of(preds, target);
  });
}

void check_classes(const char* name, const at::Tensor& target,
                   std::int64_t classes) {
  if (target.numel() == 0) return;
  const at::Tensor wrong =
      target.masked_select(target.lt(0).logical_or(target.ge(classes)));
  TORCH_CHECK_VALUE(wrong.numel() == 0, name,
                    ": expected target to be a class below ", classes, ", got ",
                    wrong[0].item<std::int64_t>());
}

void check(const LovaszSoftmaxLossOptions& options) {
  TORCH_CHECK_VALUE(options.input() != ScoreKind::kScores,
                    LovaszSoftmaxLossImpl::kName,
                    ": expected input to be probabilities or logits, got "
                    "scores");
  for (const std::int64_t c : options.only_classes()) {
    TORCH_CHECK_VALUE(c >= 0, LovaszSoftmaxLossImpl::kName,
                      ": expected only_classes of at least 0, got ", c);
  }
}

/// 1 - x (2 y - 1), of those above 0.
Errors hinge_errors(const LovaszHingeLossOptions& options,
                    const at::Tensor& preds, const at::Tensor& target) {
  at::Tensor x = internal::in_dtype_of_losses(preds).flatten();
  at::Tensor y = target.flatten();
  if (options.ignore_index()) {
    const at::Tensor counts = y.ne(*options.ignore_index());
    x = x.masked_select(counts);
    y = y.masked_select(counts);
  }
  check_classes(LovaszHingeLossImpl::kName, y, 2);
  Errors result;
  result.counts = y.numel() > 0;
  const at::Tensor positive = y.to(at::kBool);
  result.positives = {positive.sum().item<std::int64_t>()};
  const at::Tensor errors = at::where(positive, x.neg(), x).add(1);
  // NaN stays.
  const at::Tensor above = errors.detach().le(0).logical_not();
  result.input = errors.masked_select(above).unsqueeze(0);
  result.probability = false;
  result.marked = internal::marked(result.input.detach(),
                                   positive.masked_select(above).unsqueeze(0));
  return result;
}

/// |y - p| of each class.
Errors softmax_errors(const LovaszSoftmaxLossOptions& options,
                      const at::Tensor& preds, const at::Tensor& target) {
  const char* const name = LovaszSoftmaxLossImpl::kName;
  const std::int64_t classes = preds.size(1);
  at::Tensor p = internal::in_dtype_of_losses(preds);
  if (options.input() == ScoreKind::kLogits) p = p.softmax(1);
  p = p.transpose(0, 1).reshape({classes, -1});
  at::Tensor y = target.flatten();
  if (options.ignore_index()) {
    const at::Tensor rows = y.ne(*options.ignore_index()).nonzero().squeeze(1);
    p = p.index_select(1, rows);
    y = y.index_select(0, rows);
  }
  check_classes(name, y, classes);
  Counts candidates(classes);
  std::iota(candidates.begin(), candidates.end(), 0);
  if (!options.only_classes().empty()) {
    candidates = options.only_classes();
    for (const std::int64_t c : candidates) {
      TORCH_CHECK_VALUE(c < classes, name, ": expected only_classes below ",
                        classes, ", got ", c);
    }
    p = p.index_select(0, at::tensor(candidates, y.options().dtype(at::kLong)));
  }
  internal::ClassErrors errors = internal::class_errors(p, y, candidates);
  return {p, /*probability=*/true, std::move(errors.errors),
          std::move(errors.positives), /*counts=*/y.numel() > 0};
}

}  // namespace

namespace functional {

at::Tensor lovasz_hinge_loss(const at::Tensor& preds, const at::Tensor& target,
                             const LovaszHingeLossOptions& options) {
  const char* const name = LovaszHingeLossImpl::kName;
  return loss_of(
      name, options, /*present=*/false, preds, target,
      [&] {
        internal::check_labels(name, LabelMode::kBinary, options.ignore_index(),
                               preds, target);
        TORCH_CHECK_VALUE(!target.is_floating_point(), name,
                          ": expected target of integers or bool, got ",
                          target.toString());
      },
      [&](const at::Tensor& x, const at::Tensor& y) {
        return hinge_errors(options, x, y);
      });
}

at::Tensor lovasz_softmax_loss(const at::Tensor& preds,
                               const at::Tensor& target,
                               const LovaszSoftmaxLossOptions& options) {
  const char* const name = LovaszSoftmaxLossImpl::kName;
  return loss_of(
      name, options, options.classes() == LovaszClasses::kPresent, preds,
      target,
      [&] {
        check(options);
        internal::check_labels(name, LabelMode::kMulticlass,
                               options.ignore_index(), preds, target);
        TORCH_CHECK_VALUE(target.dim() + 1 == preds.dim(), name,
                          ": expected target of classes, of one dimension less "
                          "than preds, got ",
                          target.sizes());
      },
      [&](const at::Tensor& x, const at::Tensor& y) {
        return softmax_errors(options, x, y);
      });
}

}  // namespace functional

LovaszHingeLossImpl::LovaszHingeLossImpl(LovaszHingeLossOptions options)
    : LossModule(std::move(options)) {}

at::Tensor LovaszHingeLossImpl::forward(const at::Tensor& preds,
                                        const at::Tensor& target) {
  return functional::lovasz_hinge_loss(preds, target, options());
}

LovaszSoftmaxLossImpl::LovaszSoftmaxLossImpl(LovaszSoftmaxLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor LovaszSoftmaxLossImpl::forward(const at::Tensor& preds,
                                          const at::Tensor& target) {
  return functional::lovasz_softmax_loss(preds, target, options());
}

template class internal::LossModule<LovaszHingeLossImpl,
                                    LovaszHingeLossOptions>;
template class internal::LossModule<LovaszSoftmaxLossImpl,
                                    LovaszSoftmaxLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::LovaszHingeLossImpl>;
template class torch::nn::Cloneable<tally::losses::LovaszSoftmaxLossImpl>;
