#pragma once

#include "tally/metrics/classification/curves/score_runs.h"

namespace tally {

/// Other limits of runs while it exists: few rows become runs.
class RunLimitsGuard {
 public:
  using Limits = internal::classification::RunLimits;

  explicit RunLimitsGuard(const Limits& limits = {4, 3, 2})
      : before_(internal::classification::set_run_limits(limits)) {}
  ~RunLimitsGuard() { internal::classification::set_run_limits(before_); }
  RunLimitsGuard(const RunLimitsGuard&) = delete;
  RunLimitsGuard& operator=(const RunLimitsGuard&) = delete;

 private:
  Limits before_;
};

}  // namespace tally
