#pragma once

#include <memory>
#include <vector>

#include "tally/testing/metric_laws.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally::testkit {

/// One case of check_metric().
class CaseCheck {
 public:
  CaseCheck(const FixtureCase& fixture, const MetricFactory& factory,
            const HarnessOptions& options);

  /// Files and refused inputs are checked where `thoroughly`.
  void run(bool thoroughly);

 private:
  void check_reference();
  void check_laws(bool thoroughly);
  bool checks(MetricLaw law, bool thoroughly) const;

  FixtureCase fixture_;
  const HarnessOptions& options_;
  MetricMaker make_;
  MetricOptions metric_options_;
  std::vector<Batch> batches_;
};

}  // namespace tally::testkit
