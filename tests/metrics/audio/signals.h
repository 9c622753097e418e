#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tally/metrics/audio/states/signal_scores.h"

/// Signals of tests/reference/peers/audio.py.
namespace tally::testkit {

/// Numbers in [-1, 1) that every language makes alike.
inline std::vector<double> noise(std::int64_t count, std::uint64_t seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(seed >> 33) * 0x1p-30 - 1);
  }
  return values;
}

inline at::Tensor signal_of(const std::vector<double>& values) {
  at::Tensor signal =
      at::empty({static_cast<std::int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), signal.data_ptr<double>());
  return signal;
}

struct SignalPair {
  at::Tensor preds, target;
};

/// An estimate and a reference with silence, loud and low parts, [T].
inline SignalPair made(std::int64_t count) {
  constexpr double kLevels[] = {1, 0.25, 0, 0.5};
  const std::vector<double> own = noise(count, 1), error = noise(count, 2);
  std::vector<double> preds, target;
  for (std::int64_t i = 0; i < count; ++i) {
    const double smooth = 0.5 * (own[i] + (i > 0 ? own[i - 1] : 0));
    target.push_back(smooth * kLevels[i / 1000 % 4]);
    preds.push_back(target.back() + 0.125 * error[i]);
  }
  return {signal_of(preds), signal_of(target)};
}

/// The value of one batch.
template <class M>
double value_of(const at::Tensor& preds, const at::Tensor& target,
                const typename M::Options& options = typename M::Options()) {
  M metric(options);
  return metric.forward(preds, target).value.template item<double>();
}

}  // namespace tally::testkit
