// Trains a network with batch norm on images of handwritten digits, as
// described in docs/training.md. Its results equal those of one process on any
// number of ranks that divides 36, although some ranks have no images in the
// last batch, and also after a kill -9 and a restart with --checkpoint FILE.
//
//   ./tools/bazel run //examples:data_parallel -- --ranks 3
//
// prints, until the accuracy stops improving,
//
//   epoch  1  loss 0.7365  accuracy 0.9472
//   ...
//   epoch 16  loss 0.0522  accuracy 0.9639
#include <ATen/Context.h>
#include <ATen/ops/tensor.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/map.h>

#include <filesystem>
#include <iostream>

#include "tally/examples/command_line.h"
#include "tally/examples/data_parallel/options.h"
#include "tally/examples/data_parallel/state.h"
#include "tally/examples/digits/data.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"
#include "tally/sync/shard.h"
#include "tally/training/join.h"
#include "tally/training/stack.h"

namespace {

using namespace tally;

constexpr std::int64_t kImages = 1406;  // 39 batches of all ranks, and 2 images
constexpr std::int64_t kPatience = 4;   // epochs without a better accuracy

struct Images : torch::data::datasets::Dataset<Images> {
  explicit Images(digits::Digits digits) : all(std::move(digits)) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {all.images[i], all.labels[i]};
  }
  std::optional<std::size_t> size() const override { return kImages; }
  digits::Digits all;
};

double evaluate(torch::nn::Sequential& model, const digits::Digits& images) {
  const at::NoGradGuard no_grad;
  MulticlassAccuracy accuracy(
      MulticlassAccuracyOptions(10).average(Average::kMicro));
  const auto own = images.rows(at::tensor(
      sync::shard_indices(images.size(), *sync::default_communicator())));
  model->eval();
  accuracy.update(model->forward(own.images).softmax(1), own.labels);
  model->train();
  return accuracy.number();
}

void train(const data_parallel::Options& options,
           const sync::Communicator& ranks) {
  const auto data = split(digits::read_digits(digits::find_digits()));
  Images images(data.train);
  training::Stack<> stack(images.get(0));
  at::manual_seed(0);  // the same weights each time
  data_parallel::State s(kImages);
  auto loader = torch::data::make_data_loader(
      images.map(stack), s.sampler, data_parallel::kBatch / ranks.size());
  const std::string& file = options.checkpoint();
  if (std::filesystem::exists(file)) load(s, file);
  for (std::int64_t epoch = s.sampler.epoch();
       s.epochs_since_best() < kPatience; ++epoch) {
    s.sampler.set_epoch(epoch);
    for (auto& batch :
         training::join(loader, stack.empty_batch(),
                        training::JoinOptions().sampler(s.sampler))) {
      s.optimizer.zero_grad();
      s.loss->forward(s.model->forward(batch.data), batch.target).backward();
      sync::average_gradients(s.model->parameters());
      s.optimizer.step();
      s.sampler.step();
      if (file != "" &&
          s.sampler.position() % (10 * data_parallel::kBatch) == 0)
        save(s, file);
    }
    s.losses.push_back(s.loss->metric().number());
    s.loss->metric().reset();
    s.accuracies.push_back(evaluate(s.model, data.test));
    if (ranks.rank() == 0) print_last_epoch(s);
  }
  if (ranks.rank() == 0 && options.json() != "") write_json(s, options.json());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    data_parallel::Options options;
    examples::set_options(
        options, "data_parallel",
        examples::read_command_line("data_parallel", argc, argv, {}));
    options.json(examples::user_path(options.json()));
    options.checkpoint(examples::user_path(options.checkpoint()));
    if (const auto status =
            sync::launch_local(static_cast<int>(options.ranks()), argc, argv)) {
      return *status;
    }
    train(options, *sync::init_from_env());
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "data_parallel: " + sync::describe(error) + "\n";
    return 1;
  }
}
