#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "tally/metrics/regression/spearman_corr_coef.h"
#include "tally/testing/internal/law_check.h"
#include "tally/testing/pretend_device.h"
#include "tally/tests/device/device_cases.h"
#include "tally/tests/metrics/registry_cases.h"

namespace tally {
namespace {

using testkit::FixtureCase;
using testkit::MetricLaw;

constexpr std::size_t kMostCases = 3;
// The CPU has kernels of its own for some sums, in float32 for images.
constexpr double kTolerance = 1e-6;

class MetricsOnDeviceTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MetricsOnDeviceTest, ObeyTheLaw) {
  for (const FixtureCase& each :
       testkit::device_cases(GetParam(), kMostCases)) {
    testkit::internal::LawSubject subject;
    subject.make = [fresh =
                        std::shared_ptr<const Metric>(registry_cases::metric_of(
                            GetParam(), each))](const MetricOptions& options) {
      auto metric = fresh->clone();
      metric->with_options([&](MetricOptions& own) {
        own.communicator(options.communicator());
      });
      return metric;
    };
    subject.batches = each.batches;
    subject.options.rtol(kTolerance).device(testkit::first_gpu());
    testkit::internal::LawCheck check(std::move(subject));
    for (const auto& finding : check.check(MetricLaw::kDevice)) {
      ADD_FAILURE() << each.name << ": " << finding.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, MetricsOnDeviceTest,
                         ::testing::ValuesIn(testkit::device_metrics()),
                         [](const auto& each) { return each.param; });

TEST(RefusedOnDeviceTest, LeavesTheStateWhereItWas) {
  const c10::Device device = testkit::first_gpu();
  SpearmanCorrCoef metric;
  const at::Tensor first = at::arange(4, at::kFloat);
  metric.update(first, first);
  EXPECT_THROW(metric.update(first.to(device), first.to(device, at::kDouble)),
               c10::Error);
  metric.update(first.neg(), first);
  EXPECT_EQ(metric.update_count(), 2);
  EXPECT_NEAR(metric.number(), 0, 1e-12);
}

TEST(DeviceCasesTest, NearlyAllHaveCases) {
  EXPECT_GT(testkit::device_metrics().size(), 210u);
}

}  // namespace
}  // namespace tally
