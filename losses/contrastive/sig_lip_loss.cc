#include "tally/losses/contrastive/sig_lip_loss.h"

#include <ATen/ops/diagonal_scatter.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/tile_kernels.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/contrastive/sigmoid_ring.h"
#include "tally/losses/contrastive/sum_round.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/collectives.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {
namespace {

template <class T>
class SigmoidRound {
 public:
  SigmoidRound(const SigmoidProblem& problem, bool with_gradients,
               double weight)
      : problem_(problem),
        with_gradients_(with_gradients),
        weight_(weight),
        tiles_(problem.a.options()) {}

  SigmoidResult run() {
    Ring ring(problem_.call);
    CirculatingTensor columns(ring, padded(problem_.b, problem_.rows.most()));
    if (!with_gradients_) {
      for (int step = 0; step < ring.steps(); ++step) {
        columns.depart(step);
        const int owner = ring.owner(step);
        const Block block{step, owner, problem_.rows.of(owner)};
        for_each_range(block.rows, kTileColumns,
                       [&](std::int64_t first, std::int64_t size) {
                         panel(block, rows_of(columns.here(), first, size),
                               first, {});
                       });
        columns.arrive();
      }
      return std::move(result_);
    }
    result_.a_gradient = at::zeros_like(problem_.a);
    result_.b_gradient = sum_round(
        ring, problem_.rows, problem_.b, {&columns},
        [&](const Block& block, const RowRange& range,
            const at::Tensor& gradient) {
          panel(block, rows_of(columns.here(), range.first, range.size),
                range.first, gradient);
        });
    result_.a_gradient.mul_(problem_.scale);
    result_.b_gradient.mul_(problem_.scale);
    return std::move(result_);
  }

 private:
  void panel(const Block& block, const at::Tensor& columns,
             std::int64_t first_column, const at::Tensor& gradient) {
    for_each_range(
        problem_.a.size(0), kTileRows,
        [&](std::int64_t first, std::int64_t rows) {
          const at::Tensor a = rows_of(problem_.a, first, rows);
          const at::Tensor tile = tiles_.product(a, columns);
          // Only in the own block does a row meet its pair.
          add_losses(tile, block.step == 0 ? first - first_column : kNoColumn);
          if (!with_gradients_) return;
          add_product(rows_of(result_.a_gradient, first, rows), tile, columns);
          add_product(gradient, tile.t(), a);
        });
  }

  void add_losses(const at::Tensor& tile, std::int64_t pair) {
    T* const q = tile.mutable_data_ptr<T>();
    const std::int64_t width = tile.size(1);
    std::vector<SigmoidSums> sums(at::get_num_threads());
    for_each_stripe(
        tile.size(0), [&](std::int64_t begin, std::int64_t size, int thread) {
          const Tile<T> stripe{q + begin * width, size, width,
                               static_cast<T>(problem_.scale), pair + begin};
          const SigmoidSums here =
              sigmoid(stripe, static_cast<T>(problem_.bias),
                      static_cast<T>(weight_), with_gradients_);
          sums[thread].loss += here.loss;
          sums[thread].logits += here.logits;
          sums[thread].scale += here.scale;
        });
    for (const SigmoidSums& of_thread : sums) {
      result_.loss += of_thread.loss;
      result_.bias_gradient += of_thread.logits;
      result_.scale_gradient += of_thread.scale;
    }
  }

  const SigmoidProblem& problem_;
  bool with_gradients_;
  double weight_;
  TileBuffer tiles_;
  SigmoidResult result_;
};

}  // namespace

SigmoidResult sigmoid_round(const SigmoidProblem& problem, bool with_gradients,
                            double weight) {
  if (problem.a.scalar_type() == at::kDouble) {
    return SigmoidRound<double>(problem, with_gradients, weight).run();
  }
  return SigmoidRound<float>(problem, with_gradients, weight).run();
}

}  // namespace tally::losses::internal

namespace tally::losses {
namespace {

using internal::RowAgreement;
using internal::RowOffer;
using sync::Call;

constexpr const char* kSigLipLoss = "SigLipLoss";

struct SigLipInputs {
  at::Tensor image, text, scale, bias;
  double scale_value = 0;
  double bias_value = 0;

  std::vector<at::Tensor> all() const { return {image, text, scale, bias}; }
};

SigLipExchange exchange_for(const SigLipLossOptions& options,
                            const SigLipInputs& inputs) {
  const bool tiles = options.exchange() == SigLipExchange::kTiledRing;
  return tiles && !inputs.image.is_cpu() ? SigLipExchange::kShift
                                         : options.exchange();
}

/// Checks the arguments, here and on all ranks.
RowAgreement agree_on_sig_lip(const Call& call,
                              const SigLipLossOptions& options,
                              SigLipInputs& inputs) {
  return internal::agree_on_rows(call, [&] {
    internal::check_features(call, "image_features", inputs.image,
                             "text_features", inputs.text);
    inputs.scale_value =
        internal::checked_number(call, "logit_scale", inputs.scale);
    inputs.bias_value =
        internal::checked_number(call, "logit_bias", inputs.bias);
    SigLipExchange exchange = exchange_for(options, inputs);
    bool has_graph = false;
    for (const at::Tensor& input : inputs.all()) {
      has_graph = has_graph || sync::has_graph(input);
    }
    return RowOffer{
        inputs.image.size(0),
        // Nothing to agree on with oneself.
        call.size() == 1
            ? std::string()
            : c10::str(inputs.image.scalar_type(), " rows of ",
                       inputs.image.size(1), ", logit_scale ",
                       inputs.scale_value, ", logit_bias ", inputs.bias_value,
                       ", ", OptionRef(exchange).text()),
        // The other ways say by themselves who has a graph.
        exchange == SigLipExchange::kTiledRing && has_graph};
  });
}

/// The loss in one round, for as long as its backward pass may come.
class TiledSigLipLoss {
 public:
  TiledSigLipLoss(Call call, SigLipInputs inputs, const RowAgreement& agreement)
      : inputs_(std::move(inputs)),
        untouched_(agreement.any_graph, {inputs_.image, inputs_.text}),
        sequence_(agreement.sequence),
        problem_{std::move(call),
                 agreement.rows,
                 internal::working_copy(inputs_.image),
                 internal::working_copy(inputs_.text),
                 inputs_.scale_value,
                 inputs_.bias_value} {}

  at::Tensor forward(bool with_gradients) {
    internal::SigmoidResult result = round(with_gradients);
    const double loss = internal::sum_over_ranks(problem_.call, result.loss);
    if (with_gradients) gradients_ = std::move(result);
    return at::scalar_tensor(
        internal::mean(loss, static_cast<double>(problem_.rows.total())),
        problem_.a.options());
  }

  std::vector<at::Tensor> backward(const at::Tensor& gradient) {
    const internal::AutocastOff autocast_off;
    double sum = 0;
    for (const double arriving : internal::agree_on_gradients(
             problem_.call.backward(sequence_), gradient, untouched_)) {
      sum += arriving;
    }
    // They are used up; another backward pass computes them again.
    internal::SigmoidResult result =
        gradients_ ? std::move(*gradients_) : round(true);
    gradients_.reset();
    const double factor = sum / problem_.call.size();
    if (factor != 1) {
      result.a_gradient.mul_(factor);
      result.b_gradient.mul_(factor);
    }
    const at::ScalarType dtype = inputs_.image.scalar_type();
    return {
        result.a_gradient.to(dtype), result.b_gradient.to(dtype),
        internal::number_like(inputs_.scale, factor * result.scale_gradient),
        internal::number_like(inputs_.bias, factor * result.bias_gradient)};
  }

  std::vector<at::Tensor> inputs() const { return inputs_.all(); }

 private:
  /// As if the loss's gradient on every rank was 1.
  internal::SigmoidResult round(bool with_gradients) const {
    return sync::or_give_up(*problem_.call.communicator, [&] {
      return internal::sigmoid_round(
          problem_, with_gradients,
          internal::mean(problem_.call.size(),
                         static_cast<double>(problem_.rows.total())));
    });
  }

  SigLipInputs inputs_;
  internal::Untouched untouched_;
  std::int64_t sequence_;
  internal::SigmoidProblem problem_;
  std::optional<internal::SigmoidResult> gradients_;
};

/// Calls visit(texts, own) for each rank's texts.
template <class Visit>
void exchange_texts(SigLipExchange exchange, const Call& call,
                    const internal::RankRows& rows, const at::Tensor& text,
                    const Visit& visit) {
  const int ranks = call.size();
  const auto moved = [&](const at::Tensor& tensor, int shift) {
    return sync::ring_exchange(tensor, shift, call.communicator, call.timeout);
  };
  if (exchange == SigLipExchange::kReduce) {
    for (int rank = 0; rank < ranks; ++rank) {
      const bool own = rank == call.rank();
      // Other ranks bring zeros that depend on their texts: whoever asks for
      // the gradients of these takes part in the backward pass.
      const at::Tensor brought = own ? text
                                     : text.narrow(0, 0, 0).sum().expand(
                                           {rows.of(rank), text.size(1)});
      visit(sync::broadcast(brought, rank, call.communicator, call.timeout),
            own);
    }
    return;
  }
  if (exchange == SigLipExchange::kGather) {
    const auto all = sync::gather_all_tensors(
        text, sync::GradientFlow::kAllRanks, call.communicator, call.timeout);
    for (int rank = 0; rank < ranks; ++rank) {
      visit(all[rank], rank == call.rank());
    }
    return;
  }
  visit(text, true);
  if (exchange == SigLipExchange::kShift) {
    at::Tensor here = text;
    for (int hop = 1; hop < ranks; ++hop) {
      here = moved(here, 1);
      visit(here, false);
    }
    return;
  }
  at::Tensor from_left = text, from_right = text;
  for (int hop = 1; 2 * hop <= ranks; ++hop) {
    from_left = moved(from_left, 1);
    visit(from_left, false);
    if (2 * hop == ranks) break;  // the same one from both sides
    from_right = moved(from_right, -1);
    visit(from_right, false);
  }
}

at::Tensor exchanged_loss(SigLipExchange exchange, const Call& call,
                          const SigLipInputs& inputs,
                          const RowAgreement& agreement) {
  const at::ScalarType dtype =
      sync::accumulate_dtype(inputs.image.scalar_type());
  const at::Tensor image = inputs.image.to(dtype);
  at::Tensor sum;
  exchange_texts(
      exchange, call, agreement.rows, inputs.text.to(dtype),
      [&](const at::Tensor& text, bool own) {
        const at::Tensor logits =
            image.matmul(text.t()).mul(inputs.scale).add(inputs.bias);
        at::Tensor right = logits.neg();
        if (own) right = at::diagonal_scatter(right, logits.diagonal());
        // Not softplus, which ends at 20: it is a little more than its argument
        // there.
        const at::Tensor loss = at::log_sigmoid(right).sum();
        sum = sum.defined() ? sum.sub(loss) : loss.neg();
      });
  return internal::mean_over_ranks(
      call, sum.mul(internal::mean(
                call.size(), static_cast<double>(agreement.rows.total()))));
}

}  // namespace

namespace functional {

at::Tensor sig_lip_loss(const at::Tensor& image_features,
                        const at::Tensor& text_features,
                        const at::Tensor& logit_scale,
                        const at::Tensor& logit_bias,
                        const SigLipLossOptions& options) {
  const internal::AutocastOff autocast_off;
  const Call call(kSigLipLoss, options.communicator(), options.timeout());
  SigLipInputs inputs{image_features, text_features, logit_scale, logit_bias};
  const RowAgreement agreement = agree_on_sig_lip(call, options, inputs);
  const SigLipExchange exchange = exchange_for(options, inputs);
  return sync::or_give_up(*call.communicator, [&] {
    if (exchange != SigLipExchange::kTiledRing) {
      return exchanged_loss(exchange, call, inputs, agreement);
    }
    const auto tiles =
        std::make_shared<TiledSigLipLoss>(call, std::move(inputs), agreement);
    return internal::attach_tiles(agreement,
                                  tiles->forward(agreement.any_graph), tiles);
  });
}

}  // namespace functional

SigLipLossImpl::SigLipLossImpl(SigLipLossOptions options)
    : LossModule(std::move(options)) {}

at::Tensor SigLipLossImpl::forward(const at::Tensor& image_features,
                                   const at::Tensor& text_features,
                                   const at::Tensor& logit_scale,
                                   const at::Tensor& logit_bias) const {
  return functional::sig_lip_loss(image_features, text_features, logit_scale,
                                  logit_bias, options_);
}

template class internal::LossModule<SigLipLossImpl, SigLipLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::SigLipLossImpl>;
