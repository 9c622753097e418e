#pragma once

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <tally/metrics/metrics.h>

#include <cstdint>

/// What is synced, with its data: the same here and in
/// peers/torchmetrics_sync.py. Without the cache, so that every compute()
/// syncs.
namespace tally::benchmarks {

inline constexpr std::int64_t kClasses = 10;

inline MetricOptions uncached() {
  return MetricOptions().compute_with_cache(false);
}

inline void add_counts(MetricCollection& metrics) {
  metrics.add("accuracy", MulticlassAccuracy(kClasses));
  metrics.add("precision", MulticlassPrecision(kClasses));
  metrics.add("recall", MulticlassRecall(kClasses));
  metrics.add("f1", MulticlassF1Score(kClasses));
  metrics.add("confusion", MulticlassConfusionMatrix(kClasses));
}

inline void add_batches(MetricCollection& metrics) {
  for (int i = 0; i < 10; ++i) {
    metrics.update(at::randn({32, kClasses}).softmax(1),
                   at::randint(kClasses, {32}, at::kLong));
  }
}

/// Seven metrics whose states fit into one slot.
inline MetricCollection small_collection() {
  MetricCollection metrics(uncached());
  add_counts(metrics);
  metrics.add("micro_accuracy",
              MulticlassAccuracy(MulticlassAccuracyOptions(kClasses).average(
                  Average::kMicro)));
  metrics.add("log_loss", MulticlassLogLoss(kClasses));
  add_batches(metrics);
  return metrics;
}

/// Seven metrics, of which two keep histograms; TorchMetrics keeps all 320 rows
/// for the last one.
inline MetricCollection large_collection() {
  MetricCollection metrics(uncached());
  add_counts(metrics);
  metrics.add(
      "binned_auroc",
      MulticlassAUROC(MulticlassAUROCOptions(kClasses).thresholds(100)));
  metrics.add("calibration_error", MulticlassCalibrationError(kClasses));
  add_batches(metrics);
  return metrics;
}

/// Float32 rows that came in `batches` batches.
inline CatMetric rows(std::int64_t batches, std::int64_t rows_each) {
  CatMetric metric({}, uncached());
  for (std::int64_t i = 0; i < batches; ++i) {
    metric.update(at::randn({rows_each}));
  }
  return metric;
}

}  // namespace tally::benchmarks
