#include "tally/losses/contrastive/clip_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/scalar_tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/contrastive/softmax_ring.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/collectives.h"

namespace tally::losses {
namespace {

using internal::RowAgreement;
using internal::RowOffer;
using sync::Call;

constexpr const char* kClipLoss = "ClipLoss";

struct ClipInputs {
  at::Tensor image, text, scale, bias;
  double scale_value = 0;

  bool has_graph() const {
    for (const at::Tensor* tensor : {&image, &text, &scale, &bias}) {
      if (sync::has_graph(*tensor)) return true;
    }
    return false;
  }
};

void check_clip(const ClipLossOptions& options) {
  TORCH_CHECK_VALUE(
      !options.local_loss() || options.gather_with_grad(), kClipLoss,
      ": local_loss without gather_with_grad is biased: a row would get no "
      "gradient as a column of other rows' logits, neither this rank's nor the "
      "others'. Set gather_with_grad too");
  internal::check_budget(kClipLoss, options.logits_budget_bytes());
}

bool tiled(const ClipLossOptions& options, const ClipInputs& inputs) {
  return options.pairwise_logits() == PairwiseLogits::kTiled &&
         inputs.image.is_cpu();
}

Call clip_call(const ClipLossOptions& options) {
  return Call(kClipLoss, options.communicator(), options.timeout());
}

/// Checks the arguments, here and on all ranks.
RowAgreement agree_on_clip(const Call& call, const ClipLossOptions& options,
                           ClipInputs& inputs) {
  return internal::agree_on_rows(call, [&] {
    check_clip(options);
    internal::check_features(call, "image_features", inputs.image,
                             "text_features", inputs.text);
    inputs.scale_value =
        internal::checked_number(call, "logit_scale", inputs.scale);
    if (inputs.bias.defined()) {
      internal::checked_number(call, "logit_bias", inputs.bias);
    }
    const bool in_tiles = tiled(options, inputs);
    return RowOffer{
        inputs.image.size(0),
        // Nothing to agree on with oneself.
        call.size() == 1
            ? std::string()
            : c10::str(inputs.image.scalar_type(), " rows of ",
                       inputs.image.size(1), ", logit_scale ",
                       inputs.scale_value, ", ", options_state_key(options),
                       in_tiles ? ", tiled" : ""),
        // Gathering says by itself who has a graph.
        in_tiles && inputs.has_graph()};
  });
}

/// All ranks' rows.
at::Tensor gathered(const Call& call, const ClipLossOptions& options,
                    const at::Tensor& features) {
  if (options.gather_with_grad()) {
    return sync::all_gather(features, call.communicator, call.timeout);
  }
  const at::Tensor own =
      call.size() == 1
          ? features
          : internal::differentiable_once(
                call, features,
                "need gather_with_grad: without, those of other ranks' rows "
                "would be missing");
  return at::cat(sync::gather_all_tensors(own, sync::GradientFlow::kLocal,
                                          call.communicator, call.timeout));
}

/// Of all ranks' rows, or of this rank's alone.
ClipLogits gathered_logits(const Call& call, const ClipLossOptions& options,
                           const ClipInputs& inputs, bool own_rows) {
  const at::Tensor image = internal::in_dtype_of_losses(inputs.image);
  const at::Tensor text = internal::in_dtype_of_losses(inputs.text);
  const at::Tensor images = gathered(call, options, image);
  const at::Tensor texts = gathered(call, options, text);
  const auto of = [&](const at::Tensor& rows, const at::Tensor& columns) {
    const at::Tensor logits = rows.matmul(columns.t()).mul(inputs.scale);
    return inputs.bias.defined() ? logits.add(inputs.bias) : logits;
  };
  if (own_rows) return {of(image, texts), of(text, images)};
  const at::Tensor logits = of(images, texts);
  return {logits, logits.t()};
}

/// Of each pair there are two.
double entropies(const internal::RankRows& rows) {
  return 2.0 * static_cast<double>(rows.total());
}

at::Tensor gathered_clip_loss(const Call& call, const ClipLossOptions& options,
                              const ClipInputs& inputs,
                              const RowAgreement& agreement) {
  // Without gradients of what other ranks do, each needs all rows itself.
  const bool own_rows = options.gather_with_grad();
  const ClipLogits logits = gathered_logits(call, options, inputs, own_rows);
  const std::int64_t rows = logits.per_image.size(0);
  const std::int64_t first = own_rows ? agreement.rows.before(call.rank()) : 0;
  const at::Tensor labels = at::arange(
      first, first + rows,
      at::TensorOptions().dtype(at::kLong).device(inputs.image.device()));
  const auto side = [&](const at::Tensor& of_rows) {
    return at::cross_entropy_loss(of_rows, labels, {}, at::Reduction::Sum);
  };
  const at::Tensor loss = side(logits.per_image)
                              .add(side(logits.per_text))
                              .mul(internal::mean(own_rows ? call.size() : 1,
                                                  entropies(agreement.rows)));
  return own_rows && !options.local_loss()
             ? internal::mean_over_ranks(call, loss)
             : loss;
}

/// The tiled loss, for as long as its backward pass may come.
class TiledClipLoss {
 public:
  TiledClipLoss(Call call, const ClipLossOptions& options, ClipInputs inputs,
                const RowAgreement& agreement)
      : options_(options),
        inputs_(std::move(inputs)),
        untouched_(agreement.any_graph, {inputs_.image, inputs_.text}),
        sequence_(agreement.sequence),
        problem_{std::move(call),
                 agreement.rows,
                 internal::working_copy(inputs_.image),
                 internal::working_copy(inputs_.text),
                 inputs_.scale_value,
                 agreement.any_graph ? options.logits_budget_bytes() : -1} {}

  at::Tensor forward() {
    state_ = internal::softmax_forward(problem_);
    const double value =
        options_.local_loss()
            ? problem_.call.size() * state_.loss
            : internal::sum_over_ranks(problem_.call, state_.loss);
    return at::scalar_tensor(internal::mean(value, entropies(problem_.rows)),
                             problem_.a.options());
  }

  std::vector<at::Tensor> backward(const at::Tensor& gradient) {
    const internal::AutocastOff autocast_off;
    const Call call = problem_.call.backward(sequence_);
    const std::vector<double> arriving =
        internal::agree_on_gradients(call, gradient, untouched_);
    const double own = arriving[problem_.call.rank()];
    double sum = 0;
    for (const double of_rank : arriving) sum += of_rank;
    std::vector<double> weights;
    for (const double of_rank : arriving) {
      const double weight = !options_.gather_with_grad() ? 1
                            : options_.local_loss()
                                ? problem_.call.size() * of_rank
                                : sum;
      weights.push_back(internal::mean(weight, entropies(problem_.rows)));
    }
    internal::SoftmaxGradients result =
        sync::or_give_up(*call.communicator, [&] {
          auto gradients =
              internal::softmax_backward(problem_, state_, weights);
          if (!options_.gather_with_grad()) {
            gradients.a.mul_(own);
            gradients.b.mul_(own);
            gradients.scale =
                own * internal::sum_over_ranks(call, gradients.scale);
          }
          return gradients;
        });
    const at::ScalarType dtype = inputs_.image.scalar_type();
    std::vector<at::Tensor> gradients = {
        result.a.to(dtype), result.b.to(dtype),
        internal::number_like(inputs_.scale, result.scale)};
    if (inputs_.bias.defined()) {
      gradients.push_back(internal::number_like(inputs_.bias, 0));
    }
    return gradients;
  }

  std::vector<at::Tensor> inputs() const {
    std::vector<at::Tensor> result = {inputs_.image, inputs_.text,
                                      inputs_.scale};
    if (inputs_.bias.defined()) result.push_back(inputs_.bias);
    return result;
  }

 private:
  ClipLossOptions options_;
  ClipInputs inputs_;
  internal::Untouched untouched_;
  std::int64_t sequence_;
  internal::SoftmaxProblem problem_;
  internal::SoftmaxState state_;
};

at::Tensor loss_of(const ClipLossOptions& options, ClipInputs inputs) {
  const internal::AutocastOff autocast_off;
  const Call call = clip_call(options);
  const RowAgreement agreement = agree_on_clip(call, options, inputs);
  return sync::or_give_up(*call.communicator, [&] {
    if (!tiled(options, inputs)) {
      return gathered_clip_loss(call, options, inputs, agreement);
    }
    const auto tiles = std::make_shared<TiledClipLoss>(
        call, options, std::move(inputs), agreement);
    return internal::attach_tiles(agreement, tiles->forward(), tiles);
  });
}

}  // namespace

namespace functional {

at::Tensor clip_loss(const at::Tensor& image_features,
                     const at::Tensor& text_features,
                     const at::Tensor& logit_scale,
                     const at::Tensor& logit_bias,
                     const ClipLossOptions& options) {
  return loss_of(options,
                 {image_features, text_features, logit_scale, logit_bias});
}

ClipLogits clip_logits(const at::Tensor& image_features,
                       const at::Tensor& text_features,
                       const at::Tensor& logit_scale,
                       const at::Tensor& logit_bias,
                       const ClipLossOptions& options) {
  ClipInputs inputs{image_features, text_features, logit_scale, logit_bias};
  const internal::AutocastOff autocast_off;
  const ClipLossOptions whole =
      ClipLossOptions(options).pairwise_logits(PairwiseLogits::kGathered);
  const Call call = clip_call(options);
  agree_on_clip(call, whole, inputs);
  return sync::or_give_up(*call.communicator, [&] {
    return gathered_logits(call, options, inputs, options.local_loss());
  });
}

}  // namespace functional

ClipLossImpl::ClipLossImpl(ClipLossOptions options)
    : LossModule(std::move(options)) {
  check_clip(options_);
}

at::Tensor ClipLossImpl::forward(const at::Tensor& image_features,
                                 const at::Tensor& text_features,
                                 const at::Tensor& logit_scale,
                                 const at::Tensor& logit_bias) {
  return loss_of(options_,
                 {image_features, text_features, logit_scale, logit_bias});
}

ClipLogits ClipLossImpl::logits(const at::Tensor& image_features,
                                const at::Tensor& text_features,
                                const at::Tensor& logit_scale,
                                const at::Tensor& logit_bias) const {
  return functional::clip_logits(image_features, text_features, logit_scale,
                                 logit_bias, options_);
}

template class internal::LossModule<ClipLossImpl, ClipLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::ClipLossImpl>;
