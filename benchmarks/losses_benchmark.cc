// What losses cost over local ranks, in time and memory: see README.md.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <tally/losses/common/tile_kernels.h>
#include <tally/losses/common/tiles.h>
#include <tally/losses/contrastive/clip_loss.h>
#include <tally/losses/contrastive/nt_xent_loss.h>
#include <tally/losses/contrastive/sig_lip_loss.h>
#include <tally/sync/init.h>
#include <tally/sync/launch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/process.h"
#include "benchmarks/target.h"

namespace {

using tally::benchmarks::cpu_ms;
using tally::benchmarks::microseconds;
using tally::benchmarks::peak_mb;
using tally::benchmarks::quantile;

at::Tensor features(std::int64_t rows, std::int64_t size) {
  const at::Tensor values = at::randn({rows, size});
  return values.div(values.norm(2, {1}, true)).requires_grad_();
}

struct Case {
  const char* name;
  std::function<at::Tensor(const at::Tensor& a, const at::Tensor& b)> loss;
};

std::vector<Case> cases() {
  using namespace tally::losses;
  const at::Tensor scale = at::scalar_tensor(14.3).requires_grad_();
  const at::Tensor bias = at::scalar_tensor(-10.0).requires_grad_();
  const auto clip = [=](const ClipLossOptions& options) {
    return [=](const at::Tensor& a, const at::Tensor& b) {
      return functional::clip_loss(a, b, scale, {}, options);
    };
  };
  const auto ntxent = [](const NTXentLossOptions& options) {
    return [=](const at::Tensor& a, const at::Tensor& b) {
      return functional::nt_xent_loss(a, b, options);
    };
  };
  const ClipLossOptions local = ClipLossOptions().local_loss(true);
  return {
      {"clip", clip(local)},
      {"clip_kept",
       clip(ClipLossOptions(local).logits_budget_bytes(std::int64_t{1} << 40))},
      {"clip_gathered",
       clip(ClipLossOptions(local).pairwise_logits(PairwiseLogits::kGathered))},
      {"siglip",
       [=](const at::Tensor& a, const at::Tensor& b) {
         return functional::sig_lip_loss(a, b, scale, bias);
       }},
      {"ntxent", ntxent(NTXentLossOptions())},
      {"ntxent_kept",
       ntxent(NTXentLossOptions().logits_budget_bytes(std::int64_t{1} << 40))},
  };
}

/// One thread's best rate, in GFLOP/s.
double sgemm_peak() {
  constexpr std::int64_t kSize = 2048;
  const at::Tensor a = at::randn({kSize, kSize}), b = at::randn({kSize, kSize});
  at::Tensor c = at::empty({kSize, kSize});
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    best = std::min(best, microseconds([&] { at::mm_out(c, a, b.t()); }));
  }
  return 2.0 * kSize * kSize * kSize / best / 1e3;
}

/// The parts of ClipLoss, alone: how fast its products of tiles are beside the
/// best, and what fraction of the whole time goes into exp.
void print_parts(std::int64_t size) {
  using namespace tally::losses::internal;
  const double peak = sgemm_peak();
  const at::Tensor a = at::randn({kTileRows, size});
  const at::Tensor b = at::randn({kTileColumns, size});
  at::Tensor da = at::zeros_like(a), db = at::zeros_like(b);
  TileBuffer tiles(a.options());
  at::Tensor tile = tiles.product(a, b);
  const auto best = [](const std::function<void()>& call) {
    double time = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 20; ++i) time = std::min(time, microseconds(call));
    return time;
  };
  const double flops = 2.0 * kTileRows * kTileColumns * double(size);
  const double product = best([&] { tiles.product(a, b); });
  const double rows = best([&] { add_product(da, tile, b); });
  const double columns = best([&] { add_product(db, tile.t(), a); });
  const at::Tensor row = padded_array(kTileRows, 1, a.options());
  const at::Tensor column = padded_array(kTileColumns, 1, a.options());
  float* const r = row.mutable_data_ptr<float>();
  float* const c = column.mutable_data_ptr<float>();
  float* const q = tile.mutable_data_ptr<float>();
  std::vector<double> row_sum(kTileRows), column_sum(kTileColumns);
  const double statistics = best([&] {
    add_to_statistics({q, kTileRows, kTileColumns, 1e-3f, 0}, r, row_sum.data(),
                      c, column_sum.data());
  });
  const double gradient = best([&] {
    softmax_gradient({q, kTileRows, kTileColumns, 1e-3f, 0}, {r, r}, {c, c});
  });
  const double total = 2 * product + rows + columns + statistics + gradient;
  std::printf(
      "sgemm %.0f GFLOP/s; of that, products %.0f %%, rows' gradients %.0f %%, "
      "columns' %.0f %%; exp and the rest %.1f %% of the time\n",
      peak, flops / product / peak / 10, flops / rows / peak / 10,
      flops / columns / peak / 10, 100 * (statistics + gradient) / total);
}

}  // namespace

int main(int argc, char** argv) {
  tally::benchmarks::take_target(&argc, argv);
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s RANKS ROWS SIZE [ROUNDS [CASE...]]\n",
                 argv[0]);
    return 2;
  }
  const int ranks = std::atoi(argv[1]);
  if (const auto status = tally::sync::launch_local(ranks, argc, argv)) {
    return *status;
  }
  const auto group = tally::sync::init_from_env();
  const std::int64_t rows = std::atoll(argv[2]), size = std::atoll(argv[3]);
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 5;
  const bool prints = group->rank() == 0;
  if (prints && ranks == 1) print_parts(size);
  const at::Tensor a = features(rows, size), b = features(rows, size);
  for (const Case& one : cases()) {
    const auto wanted = [&](const char* name) {
      return std::strcmp(name, one.name) == 0;
    };
    if (argc > 5 && std::none_of(argv + 5, argv + argc, wanted)) continue;
    const auto step = [&] {
      a.mutable_grad() = at::Tensor();
      b.mutable_grad() = at::Tensor();
      one.loss(a, b).backward();
    };
    step();
    a.mutable_grad() = at::Tensor();
    b.mutable_grad() = at::Tensor();
    const double gradients = 2.0 * double(rows * size) * 4 / 1e6;
    const double peak = peak_mb(step) - gradients;
    std::vector<double> times, cpu_times;
    for (int i = 0; i < rounds; ++i) {
      at::Tensor barrier = at::scalar_tensor(0.0);
      group->all_reduce(barrier, tally::sync::ReduceOp::kSum);
      const double cpu = cpu_ms();
      times.push_back(microseconds(step) / 1e3);
      cpu_times.push_back(cpu_ms() - cpu);
    }
    if (!prints) continue;
    std::printf(
        "{\"case\": \"%s\", \"ranks\": %d, \"best_ms\": %.1f, \"p50_ms\": "
        "%.1f, \"cpu_ms\": %.1f, \"peak_mb\": %.1f}\n",
        one.name, ranks, quantile(times, 0), quantile(times, 0.5),
        quantile(cpu_times, 0), peak);
    std::fflush(stdout);
  }
}
