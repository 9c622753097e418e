#include "tally/metrics/classification/multiclass_accuracy.h"

#include <gtest/gtest.h>

#include "tally/tests/metrics/classification/stat_scores_harness.h"

namespace tally {
namespace {

TEST(MulticlassAccuracyTest, PassesTheHarness) {
  testing::check_stat_scores<MulticlassAccuracy>("MulticlassAccuracy");
}

}  // namespace
}  // namespace tally
