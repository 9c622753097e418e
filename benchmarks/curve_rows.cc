// What exact curves of many rows cost: see README.md.
//
//   curve_rows [ROWS [rows|runs|both [RANKS]]]

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <tally/metrics/classification/auroc.h>
#include <tally/sync/init.h>
#include <tally/sync/launch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "benchmarks/process.h"

namespace {

using tally::benchmarks::cpu_ms;
using tally::benchmarks::peak_mb;
using tally::sync::Communicator;

constexpr std::int64_t kBatch = 1 << 17;

// Scores of a classifier, and labels that go with them.
class Source {
 public:
  Source(bool of_bfloat16, int rank) : of_bfloat16_(of_bfloat16) {
    for (int i = 0; i < rank; ++i) state_ *= 6364136223846793005u;
  }

  void fill(const at::Tensor& preds, const at::Tensor& target) {
    auto* const score = preds.mutable_data_ptr<float>();
    auto* const label = target.mutable_data_ptr<bool>();
    for (std::int64_t i = 0; i < preds.numel(); ++i) {
      at::BFloat16 rounded = 2 * normal() - 3;
      const float logit =
          of_bfloat16_ ? static_cast<float>(rounded) : 2 * normal() - 3;
      score[i] = 1 / (1 + std::exp(-logit));
      label[i] = uniform() < score[i];
    }
  }

 private:
  // xorshift64
  float uniform() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<float>(state_ >> 40) * 0x1p-24f;
  }
  float normal() {
    const float radius = std::sqrt(-2 * std::log(uniform() + 0x1p-25f));
    return radius * std::cos(6.2831853f * uniform());
  }

  bool of_bfloat16_;
  std::uint64_t state_ = 88172645463325252u;
};

double megabytes(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.nbytes()) / 1e6 : 0;
}

void measure(Communicator& ranks, std::int64_t rows, bool of_bfloat16,
             bool keep_rows) {
  const at::Tensor preds = at::empty({kBatch}, at::kFloat);
  const at::Tensor target = at::empty({kBatch}, at::kBool);
  tally::BinaryAUROC metric(tally::BinaryAUROCOptions().keep_rows(keep_rows));
  Source source(of_bfloat16, ranks.rank());
  double update = 0;
  double compute = 0;
  double area = 0;
  const std::int64_t before = ranks.account().total().bytes;
  const double peak = peak_mb([&] {
    for (std::int64_t begin = 0; begin < rows; begin += kBatch) {
      const std::int64_t size = std::min(kBatch, rows - begin);
      const at::Tensor own = preds.narrow(0, 0, size);
      const at::Tensor own_target = target.narrow(0, 0, size);
      source.fill(own, own_target);
      const double start = cpu_ms();
      metric.update(own, own_target);
      update += cpu_ms() - start;
    }
    const double start = cpu_ms();
    area = metric.compute().item<double>();
    compute = cpu_ms() - start;
  });
  if (ranks.rank() != 0) return;
  const double sent =
      static_cast<double>(ranks.account().total().bytes - before) / 1e6;
  const tally::Results state = metric.state();
  const double saved = static_cast<double>(metric.serialize().size()) / 1e6;
  std::printf(
      "%-8s %-5s %11lld %8.2f %8.2f %8.2f %8.2f %8.0f %8.2f %8.2f  %.17g\n",
      of_bfloat16 ? "bfloat16" : "float32", keep_rows ? "rows" : "runs",
      static_cast<long long>(rows), megabytes(state["score_runs"]),
      megabytes(state["preds"]) + megabytes(state["target"]), saved, sent, peak,
      update / 1e3, compute / 1e3, area);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto rows =
      static_cast<std::int64_t>(argc > 1 ? std::atof(argv[1]) : 1e8);
  const std::string forms = argc > 2 ? argv[2] : "both";
  const int size = argc > 3 ? std::atoi(argv[3]) : 1;
  if (const auto status = tally::sync::launch_local(size, argc, argv)) {
    return *status;
  }
  const auto ranks = tally::sync::init_from_env();
  if (ranks->rank() == 0) {
    std::printf("%-8s %-5s %11s %8s %8s %8s %8s %8s %8s %8s  %s\n", "logits",
                "form", "rows", "runs MB", "rows MB", "saved MB", "sent MB",
                "peak MB", "update s", "compute s", "AUROC");
  }
  for (const bool of_bfloat16 : {false, true}) {
    for (const bool keep_rows : {false, true}) {
      if (forms == (keep_rows ? "runs" : "rows")) continue;
      measure(*ranks, rows / ranks->size(), of_bfloat16, keep_rows);
    }
  }
}
