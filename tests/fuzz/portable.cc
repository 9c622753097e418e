#include <ATen/ops/arange.h>

#include <utility>
#include <variant>

#include "tally/cli/limits.h"
#include "tally/metrics/portable/any_metric.h"
#include "tally/metrics/registry/registry.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/saved.h"
#include "tally/tests/fuzz/support.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"

namespace tally::fuzz {
namespace {

constexpr std::int64_t kVersionWithHead = 4;

std::string body_of(const MetricBase& metric) {
  return metric.to_bytes().substr(kEnvelopeBytes);
}

void compute(AnyMetric& metric) {
  std::visit(
      [](auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::unique_ptr<Metric>>) {
          held->compute_results();
        } else if constexpr (std::is_same_v<T, MetricTracker>) {
          if (held.n_steps() > 0) held.compute_all();
        } else {
          held.compute();
        }
      },
      metric);
}

}  // namespace

/// The bytes of a state behind their envelope, with a checksum that is right.
void read_portable(std::string_view bytes) {
  const cli::TensorLimit limit(kMostBytes);
  const std::string state = sealed(bytes, kVersionWithHead);
  auto metric = from_bytes(state);
  if (!metric.ok()) return;
  const std::string again = base_of(*metric).to_bytes();
  auto copy = from_bytes(again);
  require(copy.ok() && base_of(*copy).to_bytes() == again,
          "what was written is what is read");
  use([&] { compute(*metric); });
  use([&] { merge_into(*copy, *metric); });
  use([&] { compute(*copy); });
}

std::vector<std::string> portable_seeds() {
  std::vector<std::string> seeds;
  const at::Tensor scores = at::arange(12, at::kDouble).div(12);
  const at::Tensor labels = at::arange(12, at::kLong).remainder(2);
  for (const char* text :
       {"BinaryAUROC()", "MulticlassAccuracy(num_classes=3)",
        "CompositionalMetric(expression=2 * BinaryRecall() / 3)",
        "MinMaxMetric(metric=BinaryAccuracy())"}) {
    auto metric = make_metric(text);
    if (std::string(text).find("Multiclass") == std::string::npos) {
      metric->update(scores, labels);
    }
    seeds.push_back(body_of(*metric));
  }
  {
    const RunLimitsGuard limits;
    auto metric = make_metric("BinaryAUROC()");
    metric->update(scores.to(at::kFloat), labels);
    metric->update(scores.to(at::kFloat), labels);
    seeds.push_back(body_of(*metric));
  }
  MetricCollection metrics;
  metrics.add("a", "BinaryAccuracy");
  metrics.add("b", "BinaryF1Score");
  metrics.update(scores, labels);
  seeds.push_back(body_of(metrics));
  SlicedMetric slices(make_metric("BinaryAccuracy"));
  slices.update(SliceKeys(labels), scores, labels);
  seeds.push_back(body_of(slices));
  MetricTracker tracker(make_metric("BinaryAccuracy"));
  for (const int epoch : {1, 2}) {
    tracker.increment(epoch);
    tracker.update(scores, labels);
    tracker.compute_all();
  }
  seeds.push_back(body_of(tracker));
  IntervalMetric interval(make_metric("MeanSquaredError"),
                          IntervalOptions().blocks(4));
  const SampleIds ids(at::arange(12, at::kLong));
  interval.update(ids, scores, labels);
  seeds.push_back(body_of(interval));
  ModelComparison comparison(make_metric("BinaryAccuracy"));
  comparison.update(ids, scores, scores.flip(0), labels);
  seeds.push_back(body_of(comparison));
  SliceComparison compared(make_metric("BinaryAccuracy"),
                           SliceComparisonOptions().min_rows(2));
  compared.update(SliceKeys(labels), ids, scores, labels);
  seeds.push_back(body_of(compared));
  return seeds;
}

}  // namespace tally::fuzz
