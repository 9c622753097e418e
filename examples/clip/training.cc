#include "tally/examples/clip/training.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <random>

#include "tally/losses/contrastive/clip_loss.h"
#include "tally/losses/grad_cache.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/shard.h"

namespace clip {
namespace {

using Tensors = std::vector<at::Tensor>;

/// The left and right halves of images of 8 x 8 pixels.
Tensors halves(const at::Tensor& images) {
  const at::Tensor rows = images.view({-1, 8, 8});
  return {rows.narrow(2, 0, 4).flatten(1), rows.narrow(2, 4, 4).flatten(1)};
}

torch::nn::Sequential make_tower() {
  torch::nn::Sequential tower(torch::nn::Linear(32, 96), torch::nn::ReLU(),
                              torch::nn::Linear(96, 32));
  tower->to(at::kDouble);
  return tower;
}

at::Tensor unit_rows(const at::Tensor& rows) {
  return rows.div(rows.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12));
}

/// This rank's part of a batch. Parts differ in size between ranks and steps,
/// and some are empty, to show that loss and gradient are still those of the
/// whole batch. Every rank draws the same random numbers.
at::Tensor uneven_part(const at::Tensor& batch,
                       const tally::sync::Communicator& ranks,
                       std::mt19937_64& random) {
  std::vector<std::int64_t> ends;
  std::int64_t total = 0;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    total += static_cast<std::int64_t>(random() % 4);
    ends.push_back(total);
  }
  if (total == 0) ends.back() = total = 1;
  const auto cut = [&](int rank) {
    return rank < 0 ? 0 : batch.size(0) * ends[rank] / total;
  };
  return batch.slice(0, cut(ranks.rank() - 1), cut(ranks.rank()));
}

class Trainer {
 public:
  Trainer(const digits::Split& data, const Options& options,
          const tally::sync::Communicator& ranks, const OnStep& on_step)
      : data_(data),
        options_(options),
        ranks_(ranks),
        on_step_(on_step),
        left_(make_tower()),
        right_(make_tower()),
        log_scale_(at::full({}, std::log(1 / 0.07), at::kDouble)),
        optimizer_(parameters(),
                   torch::optim::SGDOptions(options.lr()).momentum(0.9)),
        order_(at::detail::createCPUGenerator(options.seed())),
        parts_(options.seed()) {}

  /// The mean of the steps' losses; appends each to `losses`.
  double train_epoch(std::vector<double>& losses) {
    const at::Tensor order = at::randperm(data_.train.size(), order_);
    const auto batches = order.split(options_.batch_size());
    const auto count = static_cast<std::int64_t>(batches.size());
    double sum = 0;
    for (const at::Tensor& batch : batches) {
      losses.push_back(step(halves(data_.train.images.index_select(
          0, uneven_part(batch, ranks_, parts_)))));
      sum += losses.back();
      on_step_(static_cast<std::int64_t>(losses.size()),
               options_.epochs() * count);
    }
    return sum / static_cast<double>(count);
  }

  Recalls evaluate() {
    const at::NoGradGuard no_grad;
    const std::int64_t images = data_.test.size();
    const at::Tensor mine =
        at::tensor(tally::sync::shard_indices(images, ranks_));
    const Tensors features = encode(halves(data_.test.images));
    const at::Tensor likeness =
        features[0].index_select(0, mine).matmul(features[1].t());
    const auto recall = [&](std::int64_t k) {
      tally::MulticlassAccuracy found(tally::MulticlassAccuracyOptions(images)
                                          .average(tally::Average::kMicro)
                                          .top_k(k));
      found.update(likeness, mine);
      return found.number();
    };
    return {recall(1), recall(5)};
  }

 private:
  Tensors parameters() {
    log_scale_.set_requires_grad(true);
    Tensors all = left_->parameters();
    for (const at::Tensor& parameter : right_->parameters()) {
      all.push_back(parameter);
    }
    all.push_back(log_scale_);
    return all;
  }

  Tensors encode(const Tensors& rows) {
    return {unit_rows(left_->forward(rows[0])),
            unit_rows(right_->forward(rows[1]))};
  }

  /// A step on this rank's rows; returns the loss over all ranks.
  double step(const Tensors& rows) {
    optimizer_.zero_grad();
    const at::Tensor loss = tally::losses::cached_backward(
        [&](const Tensors& some) { return encode(some); },
        [&](const Tensors& features) {
          return loss_->forward(features[0], features[1], log_scale_.exp());
        },
        rows, options_.micro_batches());
    tally::sync::average_gradients(parameters());
    optimizer_.step();
    {
      // As in CLIP, so that logits stay below 100.
      const at::NoGradGuard no_grad;
      log_scale_.clamp_max_(std::log(100.0));
    }
    return loss.item<double>();
  }

  const digits::Split& data_;
  const Options& options_;
  const tally::sync::Communicator& ranks_;
  const OnStep& on_step_;
  torch::nn::Sequential left_, right_;
  at::Tensor log_scale_;
  tally::losses::ClipLoss loss_;
  torch::optim::SGD optimizer_;
  at::Generator order_;
  std::mt19937_64 parts_;
};

}  // namespace

Outcome train(const digits::Split& data, const Options& options,
              const tally::sync::Communicator& ranks,
              const std::function<void(const Epoch&)>& on_epoch,
              const OnStep& on_step) {
  // The same weights on every rank.
  torch::manual_seed(options.seed());
  Trainer trainer(data, options, ranks, on_step);
  Outcome outcome;
  on_epoch({0, std::nan(""), trainer.evaluate()});
  for (std::int64_t number = 1; number <= options.epochs(); ++number) {
    const double loss = trainer.train_epoch(outcome.losses);
    outcome.test = trainer.evaluate();
    on_epoch({number, loss, outcome.test});
  }
  return outcome;
}

}  // namespace clip
