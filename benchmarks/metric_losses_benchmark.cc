// What losses from metrics cost in one process, in time and memory: see
// README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <tally/losses/lovasz/lovasz_softmax_loss.h>
#include <tally/losses/ranking/pairwise_auc_loss.h>
#include <tally/losses/soft_counts/dice_loss.h>
#include <tally/losses/soft_counts/tversky_loss.h>
#include <tally/losses/soft_order/soft_order.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/process.h"
#include "benchmarks/target.h"

namespace {

using tally::benchmarks::cpu_ms;
using tally::benchmarks::microseconds;
using tally::benchmarks::peak_mb;
using tally::benchmarks::quantile;

struct Case {
  const char* name;
  at::Tensor preds, target;
  std::function<at::Tensor(const at::Tensor& preds, const at::Tensor& target)>
      loss;
};

/// One of 100 samples is positive.
Case auc(const char* name, std::int64_t samples) {
  return {name, at::randn({samples}), at::arange(samples).remainder(100).eq(0),
          [](const at::Tensor& x, const at::Tensor& y) {
            return tally::losses::functional::pairwise_auc_loss(x, y);
          }};
}

std::vector<Case> cases() {
  using namespace tally::losses;
  const at::Tensor scores = at::randn({8, 4, 256, 256});
  const at::Tensor classes = at::randint(4, {8, 256, 256}, at::kLong);
  return {{"dice", scores, classes,
           [](const at::Tensor& x, const at::Tensor& y) {
             return functional::dice_loss(x, y);
           }},
          {"generalized_dice", scores, classes,
           [](const at::Tensor& x, const at::Tensor& y) {
             return functional::generalized_dice_loss(x, y);
           }},
          {"tversky", scores, classes,
           [](const at::Tensor& x, const at::Tensor& y) {
             return functional::tversky_loss(x, y);
           }},
          {"lovasz_softmax", scores, classes,
           [](const at::Tensor& x, const at::Tensor& y) {
             return functional::lovasz_softmax_loss(x, y);
           }},
          {"soft_rank_1e5", at::randn({1, 100000}), at::randn({1, 100000}),
           [](const at::Tensor& x, const at::Tensor& weights) {
             return functional::soft_rank(x, SoftRankOptions().strength(0.1))
                 .mul(weights)
                 .sum();
           }},
          auc("auc_1e5", 100000),
          auc("auc_1e6", 1000000)};
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  for (const Case& one : cases()) {
    const auto wanted = [&](const char* name) {
      return std::strcmp(name, one.name) == 0;
    };
    if (argc > 2 && std::none_of(argv + 2, argv + argc, wanted)) continue;
    at::Tensor preds = one.preds.detach().requires_grad_();
    const auto step = [&] {
      preds.mutable_grad() = at::Tensor();
      one.loss(preds, one.target).backward();
    };
    step();
    preds.mutable_grad() = at::Tensor();
    const double peak = peak_mb(step);
    std::vector<double> times, cpu_times;
    for (int i = 0; i < rounds; ++i) {
      const double cpu = cpu_ms();
      times.push_back(microseconds(step) / 1e3);
      cpu_times.push_back(cpu_ms() - cpu);
    }
    std::printf(
        "{\"case\": \"%s\", \"best_ms\": %.3f, \"cpu_ms\": %.3f, "
        "\"peak_mb\": %.1f}\n",
        one.name, quantile(times, 0), quantile(cpu_times, 0), peak);
    std::fflush(stdout);
  }
}
