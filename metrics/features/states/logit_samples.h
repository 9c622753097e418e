#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/inputs.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

namespace tally {

/// Keeps the logits of all samples: the observer of InceptionScore.
///
/// update(logits, ids = {}): real [N, C], and ids of samples, as in
/// FeatureSamples.
class LogitSamples {
 public:
  static constexpr const char* kName = "LogitSamples";
  static constexpr InputInfo kInputs[] = {
      {"logits", InputKind::kReal, "real [N, C]"},
      {"ids", InputKind::kKeys, "ids of samples, int or texts [N]", true}};
  /// Logits of float32 as they are, half and bfloat16 as float32, others as
  /// float64.
  struct State {
    Rows logits;  // [N, C]
    Rows ids;     // int64 [N]
    void fields(Fields& f) { f("logits", logits)("ids", ids); }
  };

  template <class Options>
  LogitSamples(const Options&, const MetricOptions& metric_options)
      : options_(metric_options) {}

  State observe(const at::Tensor& logits, const Keys& ids = {}) const;

 private:
  MetricOptions options_;
};

}  // namespace tally
