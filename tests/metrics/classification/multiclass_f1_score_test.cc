#include "tally/metrics/classification/multiclass_f1_score.h"

#include <gtest/gtest.h>

#include "tally/tests/metrics/classification/stat_scores_harness.h"

namespace tally {
namespace {

TEST(MulticlassF1ScoreTest, PassesTheHarness) {
  testing::check_stat_scores<MulticlassF1Score>("MulticlassF1Score");
}

}  // namespace
}  // namespace tally
