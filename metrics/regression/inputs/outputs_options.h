#pragma once

#include <cstdint>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"

namespace tally {

/// Options of metrics with only the number of outputs.
///
/// Example: `MeanAbsoluteError mae(3);`
struct OutputsOptions {
  OutputsOptions() : num_outputs_(1) {}
  template <class Count, RequireCount<Count> = 0>
  OutputsOptions(Count num_outputs)
      : num_outputs_(static_cast<std::int64_t>(num_outputs)) {}
  /// If above 1, inputs are [N, num_outputs], also for one row, and the result
  /// is [num_outputs]. Default: 1.
  TORCH_ARG(std::int64_t, num_outputs);

 public:
  void visit(OptionVisitor& v) {
    v("num_outputs", num_outputs_, OptionRole::kSize,
      internal::words::kNumOutputs);
  }
  Dimensions dimensions() const { return {Dimension::kOutput}; }
  void validate(const char* metric) const;
};

}  // namespace tally
