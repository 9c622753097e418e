#include "tally/examples/digits/training.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <random>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/confusion_matrix.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/log_loss.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/collection.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/shard.h"

namespace digits {
namespace {

constexpr std::int64_t kClasses = 10;

/// The same weights on every rank.
torch::nn::Sequential make_model(std::int64_t seed) {
  torch::manual_seed(seed);
  torch::nn::Sequential model(torch::nn::Linear(64, 64), torch::nn::ReLU(),
                              torch::nn::Linear(64, kClasses));
  model->to(at::kDouble);
  return model;
}

tally::MetricCollection make_metrics() {
  using tally::Average;
  tally::MetricCollection metrics;
  metrics.add(
      "accuracy",
      tally::MulticlassAccuracy(
          tally::MulticlassAccuracyOptions(kClasses).average(Average::kMicro)));
  metrics.add("precision", tally::MulticlassPrecision(kClasses));
  metrics.add("recall", tally::MulticlassRecall(kClasses));
  metrics.add("f1", tally::MulticlassF1Score(kClasses));
  metrics.add("auroc", tally::MulticlassAUROC(kClasses));
  metrics.add("log_loss", tally::MulticlassLogLoss(kClasses));
  metrics.add("confusion", tally::MulticlassConfusionMatrix(kClasses));

  tally::MetricCollection of_digits;
  of_digits.add(
      "accuracy",
      tally::MulticlassAccuracy(
          tally::MulticlassAccuracyOptions(kClasses).average(Average::kNone)));
  of_digits.add(
      "precision",
      tally::MulticlassPrecision(
          tally::MulticlassPrecisionOptions(kClasses).average(Average::kNone)));
  of_digits.add(
      "recall",
      tally::MulticlassRecall(
          tally::MulticlassRecallOptions(kClasses).average(Average::kNone)));
  of_digits.add(
      "f1",
      tally::MulticlassF1Score(
          tally::MulticlassF1ScoreOptions(kClasses).average(Average::kNone)));
  metrics.add("digit", std::move(of_digits));
  return metrics;
}

/// This rank's part of a batch. Parts differ in size between ranks and steps,
/// and some are empty, to show that loss and gradient are still those of the
/// whole batch. Every rank draws the same random numbers.
at::Tensor uneven_part(const at::Tensor& batch,
                       const tally::sync::Communicator& ranks,
                       std::mt19937_64& random) {
  const std::int64_t size = batch.size(0);
  std::vector<std::int64_t> ends;
  std::int64_t total = 0;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    total += static_cast<std::int64_t>(random() % 4);
    ends.push_back(total);
  }
  if (total == 0) ends.back() = total = 1;
  const auto cut = [&](int rank) {
    return rank < 0 ? 0 : size * ends[rank] / total;
  };
  return batch.slice(0, cut(ranks.rank() - 1), cut(ranks.rank()));
}

class Trainer {
 public:
  Trainer(const Split& data, const Options& options,
          const tally::sync::Communicator& ranks, const OnStep& on_step)
      : data_(data),
        options_(options),
        ranks_(ranks),
        on_step_(on_step),
        test_(data.test.rows(
            at::tensor(tally::sync::shard_indices(data.test.size(), ranks)))),
        model_(make_model(options.seed())),
        optimizer_(model_->parameters(),
                   torch::optim::SGDOptions(options.lr()).momentum(0.9)),
        order_(at::detail::createCPUGenerator(options.seed())),
        parts_(options.seed()) {}

  /// The loss over all steps; appends that of each to `losses`.
  double train_epoch(std::vector<double>& losses) {
    const at::Tensor order = at::randperm(data_.train.size(), order_);
    const auto batches = order.split(options_.batch_size());
    const auto count = static_cast<std::int64_t>(batches.size());
    for (const at::Tensor& batch : batches) {
      const Digits mine = data_.train.rows(uneven_part(batch, ranks_, parts_));
      const at::Tensor loss =
          loss_->forward(model_->forward(mine.images), mine.labels);
      optimizer_.zero_grad();
      loss.backward();
      tally::sync::average_gradients(model_->parameters());
      optimizer_.step();
      losses.push_back(loss.item<double>());
      on_step_(static_cast<std::int64_t>(losses.size()),
               options_.epochs() * count);
    }
    const auto mean = loss_->metric().compute_results();
    loss_->metric().reset();
    return mean.begin()->second.item<double>();
  }

  tally::Results evaluate() {
    const at::NoGradGuard no_grad;
    metrics_.reset();
    metrics_.update(model_->forward(test_.images).softmax(1), test_.labels);
    return metrics_.compute();
  }

 private:
  const Split& data_;
  const Options& options_;
  const tally::sync::Communicator& ranks_;
  const OnStep& on_step_;
  Digits test_;  // this rank's
  torch::nn::Sequential model_;
  torch::optim::SGD optimizer_;
  tally::losses::MetricLoss loss_{
      tally::MulticlassLogLoss(tally::MulticlassLogLossOptions(kClasses).input(
          tally::ScoreKind::kLogits))};
  tally::MetricCollection metrics_ = make_metrics();
  at::Generator order_;
  std::mt19937_64 parts_;
};

}  // namespace

Outcome train(const Split& data, const Options& options,
              const tally::sync::Communicator& ranks,
              const std::function<void(const Epoch&)>& on_epoch,
              const OnStep& on_step) {
  Trainer trainer(data, options, ranks, on_step);
  Outcome outcome;
  for (std::int64_t number = 1; number <= options.epochs(); ++number) {
    const double loss = trainer.train_epoch(outcome.losses);
    outcome.test = trainer.evaluate();
    on_epoch({number, loss, outcome.test});
  }
  return outcome;
}

}  // namespace digits
