#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/splits.h"

namespace tally::testkit {

/// One case of check_metric().
class CaseCheck {
 public:
  CaseCheck(const FixtureCase& fixture, const MetricFactory& factory,
            const HarnessOptions& options);

  void run(bool with_files);

 private:
  template <class Function>
  void check(const std::string& what, const Function& function) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "case " + fixture_.name + ", " + what);
    try {
      function();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "threw: " << sync::describe(error);
    }
  }

  std::unique_ptr<Metric> make(MetricOptions metric_options) const {
    return factory_(texts_, metric_options);
  }
  std::unique_ptr<Metric> make() const { return make(metric_options()); }
  std::unique_ptr<Metric> made_of(const std::vector<Batch>& batches) const;
  MetricOptions metric_options() const {
    return options_.metric_options ? options_.metric_options(fixture_)
                                   : MetricOptions();
  }
  SplitOptions split_options() const {
    return {options_.takes_empty_batches, !options_.order_matters};
  }
  // One batch for each rank: uneven ones, and one of no rows where allowed.
  std::vector<Batch> step(const Batch& rows, int ranks) const;

  void check_reference();
  void check_merges();
  void check_forward();
  void check_copies();
  void check_files();
  void check_aliases();
  void check_strides();
  void check_splits(int ranks);
  void check_steps(int ranks);
  void check_modes();
  void check_inference();
  void check_inference_gradients();
  void check_threads();
  void check_gradients();

  FixtureCase fixture_;
  const MetricFactory& factory_;
  const HarnessOptions& options_;
  OptionTexts texts_;
  std::vector<Batch> batches_;
  std::vector<Batch> pristine_;
  Tolerance near_;
  Results whole_;
};

}  // namespace tally::testkit
