#include <gtest/gtest.h>

#include "tally/metrics/clustering/clustering.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using testkit::check_metric;
using testkit::HarnessOptions;

TEST(ClusteringHarnessTest, MutualInfoScore) {
  check_metric<MutualInfoScore>("MutualInfoScore");
}
TEST(ClusteringHarnessTest, NormalizedMutualInfoScore) {
  check_metric<NormalizedMutualInfoScore>("NormalizedMutualInfoScore");
}
TEST(ClusteringHarnessTest, AdjustedMutualInfoScore) {
  check_metric<AdjustedMutualInfoScore>("AdjustedMutualInfoScore");
}
TEST(ClusteringHarnessTest, RandScore) { check_metric<RandScore>("RandScore"); }
TEST(ClusteringHarnessTest, AdjustedRandScore) {
  check_metric<AdjustedRandScore>("AdjustedRandScore");
}
TEST(ClusteringHarnessTest, FowlkesMallowsIndex) {
  check_metric<FowlkesMallowsIndex>("FowlkesMallowsIndex");
}
TEST(ClusteringHarnessTest, HomogeneityScore) {
  check_metric<HomogeneityScore>("HomogeneityScore");
}
TEST(ClusteringHarnessTest, CompletenessScore) {
  check_metric<CompletenessScore>("CompletenessScore");
}
TEST(ClusteringHarnessTest, VMeasureScore) {
  check_metric<VMeasureScore>("VMeasureScore");
}
TEST(ClusteringHarnessTest, ClusterAccuracy) {
  check_metric<ClusterAccuracy>("ClusterAccuracy");
}

// Numbers of points for which all pairs would take too long; kernels_test has
// them with several threads.
HarnessOptions with_pairs() {
  HarnessOptions options;
  options.checks_threads = false;
  return options;
}

TEST(ClusteringHarnessTest, CalinskiHarabaszScore) {
  HarnessOptions options;
  // No scatter: the value has a jump there.
  options.skip_gradients = {"constant"};
  check_metric<CalinskiHarabaszScore>("CalinskiHarabaszScore", options);
}
TEST(ClusteringHarnessTest, DaviesBouldinScore) {
  HarnessOptions options;
  // Distances of 0.
  options.skip_gradients = {"constant", "constant_q_2"};
  check_metric<DaviesBouldinScore>("DaviesBouldinScore", options);
}
TEST(ClusteringHarnessTest, DunnIndex) {
  check_metric<DunnIndex>("DunnIndex", with_pairs());
}
TEST(ClusteringHarnessTest, SilhouetteScore) {
  check_metric<SilhouetteScore>("SilhouetteScore", with_pairs());
}

}  // namespace
}  // namespace tally
