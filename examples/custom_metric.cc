// A custom metric, which can be synced, saved, cloned and added to collections
// like the others.
//
//   ./tools/bazel run //examples:custom_metric
//
// runs on two processes and prints
//
//   batch 0: 1
//   batch 1: 0.375
//   batch 2: 0.25
//   HitRate(tolerance=0.25): 0.395833
#include <ATen/ops/arange.h>

#include <iostream>

#include "tally/metrics/metric_of.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"

struct HitOptions {
  /// The maximum error of a hit. Default: 0.5.
  TORCH_ARG(double, tolerance) = 0.5;

 public:
  void visit(tally::OptionVisitor& v) { v("tolerance", tolerance_); }
};

/// Computes the state of a batch. States of batches and ranks are summed.
struct CountHits {
  using Options = HitOptions;
  // update() also accepts inputs by these names.
  static constexpr tally::InputInfo kInputs[] = {
      {"preds", tally::InputKind::kReal, "real [N, ...]"},
      {"target", tally::InputKind::kReal, "real [N, ...]"}};
  struct State {
    std::int64_t hits = 0, total = 0;
    void fields(tally::Fields& f) { f("hits", hits)("total", total); }
  };

  explicit CountHits(const Options& o) : tolerance(o.tolerance()) {}
  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    const at::Tensor hits = preds.sub(target).abs().le(tolerance);
    return {hits.sum().item<std::int64_t>(), hits.numel()};
  }

  double tolerance;
};

/// Computes the value of a state: the fraction of predictions near the target.
struct HitRate final : tally::MetricOf<HitRate, CountHits, at::Tensor> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "HitRate";
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const {
    return tally::Number(state.hits) / state.total;
  }
};

int main(int argc, char** argv) {
  if (auto status = tally::sync::launch_local(2, argc, argv)) return *status;
  const int rank = tally::sync::init_from_env()->rank();

  HitRate metric(HitOptions().tolerance(0.25));
  for (int batch = 0; batch < 3; ++batch) {
    const at::Tensor target = at::arange(8, at::kDouble);
    const double own =
        metric.forward(target.mul(1 + 0.1 * (batch + rank)), target)
            .item<double>();
    if (rank == 0) std::cout << "batch " << batch << ": " << own << '\n';
  }
  const at::Tensor all = metric.compute();  // of both ranks
  if (rank == 0) {
    std::cout << metric.repr() << ": " << all.item<double>() << '\n';
  }
}
