// What averaging gradients adds to a backward pass over local ranks, after it
// and during it: see README.md.

#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <tally/sync/average_gradients.h>
#include <tally/sync/init.h>
#include <tally/sync/launch.h>
#include <tally/training/gradient_averager.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "benchmarks/measure.h"

namespace {

using tally::benchmarks::microseconds;
using tally::benchmarks::quantile;
using tally::sync::Communicator;

torch::nn::Sequential make_model(std::int64_t width, int layers) {
  torch::nn::Sequential model;
  for (int i = 0; i < layers; ++i) {
    model->push_back(torch::nn::Linear(width, width));
    model->push_back(torch::nn::ReLU());
  }
  return model;
}

/// Each round: the same pass without averaging, with averaging after it, and
/// during it.
void measure(std::int64_t width, int layers, std::int64_t rows, int rounds,
             Communicator& ranks) {
  torch::nn::Sequential model = make_model(width, layers);
  const std::vector<at::Tensor> parameters = model->parameters();
  tally::training::GradientAverager averager(parameters);
  const at::Tensor input = at::randn({rows, width});
  at::Tensor token = at::zeros({1});
  const auto time_of = [&](const auto& backward) {
    model->zero_grad();
    const at::Tensor loss = model->forward(input).square().mean();
    ranks.all_reduce(token, tally::sync::ReduceOp::kSum);  // all begin at once
    return microseconds([&] { backward(loss); });
  };
  std::vector<double> alone, after, during;
  for (int round = -2; round < rounds; ++round) {
    const double a = time_of([](const at::Tensor& loss) { loss.backward(); });
    const double b = time_of([&](const at::Tensor& loss) {
      loss.backward();
      tally::sync::average_gradients(parameters);
    });
    const double c =
        time_of([&](const at::Tensor& loss) { averager.backward(loss); });
    if (round < 0) continue;
    alone.push_back(a);
    after.push_back(b);
    during.push_back(c);
  }
  if (ranks.rank() != 0) return;
  std::int64_t bytes = 0;
  for (const at::Tensor& p : parameters) {
    bytes += static_cast<std::int64_t>(p.nbytes());
  }
  std::printf("%6.1f %5lld %9.1f %9.1f %9.1f %7.2f %7.2f\n",
              static_cast<double>(bytes) / 1e6, static_cast<long long>(rows),
              quantile(alone, 0.5) / 1e3, quantile(after, 0.5) / 1e3,
              quantile(during, 0.5) / 1e3,
              quantile(after, 0.5) / quantile(during, 0.5),
              quantile(after, 0) / quantile(during, 0));
  std::fflush(stdout);
}

}  // namespace

// gradients_benchmark [ranks = 2] [rounds = 20]
int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 20;
  if (ranks < 2 || rounds < 1) {
    std::fprintf(stderr, "usage: %s [ranks >= 2] [rounds]\n", argv[0]);
    return 2;
  }
  if (const auto status = tally::sync::launch_local(ranks, argc, argv)) {
    return *status;
  }
  const auto group = tally::sync::init_from_env();
  if (group->rank() == 0) {
    std::printf("%6s %5s %9s %9s %9s %7s %7s\n", "MB", "rows", "alone", "after",
                "during", "ratio", "least");
  }
  measure(512, 8, 64, rounds, *group);
  measure(1024, 8, 16, rounds, *group);
  measure(1024, 8, 64, rounds, *group);
  measure(1024, 8, 256, rounds, *group);
  return 0;
}
