#include "tally/metrics/classification/multiclass_precision.h"

#include <gtest/gtest.h>

#include "tally/tests/metrics/classification/stat_scores_harness.h"

namespace tally {
namespace {

TEST(MulticlassPrecisionTest, PassesTheHarness) {
  testing::check_stat_scores<MulticlassPrecision>("MulticlassPrecision");
}

}  // namespace
}  // namespace tally
