#include "tally/metrics/shape/lip_vertex_error.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

TEST(LipVertexErrorTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  testkit::check_metric<LipVertexError>("shape/LipVertexError", options);
}

TEST(LipVertexErrorTest, OnlyTheLipsCount) {
  const at::Tensor target = at::zeros({2, 4, 3});
  at::Tensor preds = target.clone();
  preds[0][3][0] = 2;
  preds[1][1][1] = 3;
  LipVertexError error(LipVertexErrorOptions({0, 1}));
  EXPECT_EQ(error.forward(preds, target).item<double>(), 4.5);
  preds[0][0][0] = std::numeric_limits<double>::quiet_NaN();
  LipVertexError ignores(LipVertexErrorOptions({0, 1}),
                         MetricOptions().nan_policy(NanPolicy::kIgnore));
  EXPECT_EQ(ignores.forward(preds, target).item<double>(), 9);
}

TEST(LipVertexErrorTest, RefusesWhatDoesNotFit) {
  LipVertexError error(LipVertexErrorOptions({0, 7}));
  EXPECT_THAT(refusal_of([&] {
                error.update(at::zeros({2, 7, 3}), at::zeros({2, 7, 3}));
              }),
              HasSubstr("expected more than 7 vertices, as mouth_map names "
                        "them, got 7"));
  EXPECT_THAT(refusal_of([&] {
                error.update(at::zeros({2, 8, 2}), at::zeros({2, 8, 2}));
              }),
              HasSubstr("expected vertices_pred of shape [T, V, 3]"));
  EXPECT_EQ(error.update_count(), 0);
  EXPECT_THAT(refusal_of([] { LipVertexError(LipVertexErrorOptions({-1})); }),
              HasSubstr("expected indexes of 0 or more in mouth_map, got -1"));
}

}  // namespace
}  // namespace tally
