#include "tally/metrics/classification/multiclass_recall.h"

#include <gtest/gtest.h>

#include "tally/tests/metrics/classification/stat_scores_harness.h"

namespace tally {
namespace {

TEST(MulticlassRecallTest, PassesTheHarness) {
  testing::check_stat_scores<MulticlassRecall>("MulticlassRecall");
}

}  // namespace
}  // namespace tally
