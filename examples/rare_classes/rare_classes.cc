// Training on the F1 score of all ranks' rows, and, as a mean of losses would
// have it, on that of each rank's own rows: digits, of which 5 to 9 are rare.
//
//   ./tools/bazel run //examples/rare_classes -- [SEEDS [STEPS]]
//
// trains with both, on three processes with 8 rows each, from the same weights
// and with the same batches, and prints the macro F1 score of the test images
// for each seed. In batches of 8 most rare digits are missing: to a rank's own
// loss they are then no part of the mean over classes.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tally/examples/digits/data.h"
#include "tally/losses/soft_counts/f_beta_loss.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/sinks/progress.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"
#include "tally/sync/shard.h"

namespace {

constexpr int kRanks = 3;
constexpr std::int64_t kRows = 8, kClasses = 10;

/// One in 10 of the digits from 5 on, and all others.
digits::Digits with_rare_ones(const digits::Digits& all) {
  std::vector<std::int64_t> kept, seen(kClasses);
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const auto digit = all.labels[i].item<std::int64_t>();
    if (digit < 5 || seen[digit]++ % 10 == 0) kept.push_back(i);
  }
  return all.rows(at::tensor(kept));
}

/// The F1 score of the test images.
double train(const digits::Split& data, std::int64_t seed, std::int64_t steps,
             std::shared_ptr<tally::sync::Communicator> of_loss) {
  const auto ranks = tally::sync::default_communicator();
  torch::manual_seed(seed);  // the same weights on every rank
  torch::nn::Sequential model(torch::nn::Linear(64, 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, kClasses));
  model->to(at::kDouble);
  torch::optim::Adam optimizer(model->parameters(), 0.01);
  tally::losses::FBetaLoss loss(
      tally::losses::FBetaLossOptions()
          .absent(tally::losses::AbsentClassLoss::kSkip)
          .communicator(std::move(of_loss)));

  at::Generator order = at::detail::createCPUGenerator(seed);
  for (std::int64_t step = 0; step < steps; ++step) {
    const digits::Digits batch =
        data.train.rows(at::randperm(data.train.size(), order)
                            .narrow(0, ranks->rank() * kRows, kRows));
    optimizer.zero_grad();
    loss->forward(model->forward(batch.images), batch.labels).backward();
    tally::sync::average_gradients(model->parameters());
    optimizer.step();
  }

  const at::NoGradGuard no_grad;
  const digits::Digits mine = data.test.rows(
      at::tensor(tally::sync::shard_indices(data.test.size(), *ranks)));
  tally::MulticlassF1Score f1(kClasses);
  f1.update(model->forward(mine.images), mine.labels);
  return f1.number();
}

}  // namespace

int main(int argc, char** argv) {
  if (auto status = tally::sync::launch_local(kRanks, argc, argv)) {
    return *status;
  }
  const auto ranks = tally::sync::init_from_env();
  const std::int64_t seeds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::int64_t steps = argc > 2 ? std::atoi(argv[2]) : 300;
  digits::Split data =
      digits::split(digits::read_digits(digits::find_digits()));
  data.train = with_rare_ones(data.train);
  const bool speaks = ranks->rank() == 0;

  tally::Progress progress = tally::Progress::on_stderr("seeds", speaks);
  if (speaks) std::printf("seed  F1 of all ranks  mean of the ranks' F1\n");
  for (std::int64_t seed = 1; seed <= seeds; ++seed) {
    const double together = train(data, seed, steps, ranks);
    const double each =
        train(data, seed, steps, tally::sync::single_process_communicator());
    progress.end();
    if (speaks) {
      std::printf("%4d  %15.4f  %21.4f\n", static_cast<int>(seed), together,
                  each);
      std::fflush(stdout);
    }
    progress.update(seed, seeds);
  }
}
