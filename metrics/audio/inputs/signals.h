#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"

namespace tally::internal::audio {

/// Estimated signals and their references: N samples of C channels of T values
/// each, [N, C, T], of a floating-point dtype.
struct Signals {
  at::Tensor preds, target;
  /// The machine epsilon of the dtype of preds as they were passed.
  double epsilon = 0;
  /// The sizes of a channel as they were passed: [T] or [F, T, 2].
  std::vector<std::int64_t> sizes = {};

  std::int64_t samples() const { return preds.size(0); }
  std::int64_t channels() const { return preds.size(1); }
  std::int64_t time() const { return preds.size(2); }
  /// Whether either carries a graph, and graphs are recorded.
  bool requires_grad() const;
  /// Without a graph, contiguous and on the CPU, float or double.
  Signals plain() const;
  /// float64, with the graph.
  Signals wide() const;
  /// The samples at these places, int64 [K].
  Signals select(const at::Tensor& places) const;
  /// The same with other preds and target.
  Signals with(at::Tensor other_preds, at::Tensor other_target) const;
};

/// How the dimensions of inputs are read.
enum class Layout {
  kTime,      ///< [..., T]: each signal is a sample
  kChannels,  ///< [..., C, T]: the channels of a sample belong together
  kComplex,   ///< [..., F, T] complex, or [..., F, T, 2]: one signal a sample
  kSpeakers,  ///< [N, C, ...], each channel as one of the others
};

inline constexpr InputInfo kTimeInputs[] = {
    {"preds", InputKind::kFloat, "float signals [..., T]"},
    {"target", InputKind::kFloat, "float signals [..., T]"}};

/// Throws c10::TypeError for inputs that are not dense and floating point (or,
/// for kComplex, complex), and c10::ValueError for other shapes, different
/// shapes or devices, and signals without any value.
Signals arrange(const at::Tensor& preds, const at::Tensor& target,
                Layout layout);

}  // namespace tally::internal::audio
