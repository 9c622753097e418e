#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>

#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/tests/testing/refusal.h"

/// What the tests of collections share.
namespace tally::testkit {

inline MeanSquaredError rmse() {
  return MeanSquaredError(MeanSquaredErrorOptions().squared(false));
}

/// Two metrics that share a state and one that does not.
inline MetricCollection three_metrics(MetricOptions options = MetricOptions()) {
  MetricCollection metrics(std::move(options));
  metrics.add("mse", MeanSquaredError());
  metrics.add("pearson", PearsonCorrCoef());
  metrics.add("rmse", rmse());
  return metrics;
}

struct Samples {
  at::Tensor preds, target;
};
inline Samples batch(std::int64_t rows, std::uint64_t seed) {
  const auto random = at::detail::createCPUGenerator(seed);
  return {at::randn({rows}, random, at::kDouble),
          at::randn({rows}, random, at::kDouble)};
}
inline Samples joined(const std::vector<Samples>& batches) {
  std::vector<at::Tensor> preds, target;
  for (const Samples& b : batches) {
    preds.push_back(b.preds);
    target.push_back(b.target);
  }
  return {at::cat(preds), at::cat(target)};
}
template <class Metrics>
void update(Metrics& metrics, const Samples& b) {
  metrics.update(b.preds, b.target);
}

}  // namespace tally::testkit
