#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tally/metrics/regression/spearman_corr_coef.h"
#include "tally/testing/compare.h"
#include "tally/testing/pretend_device.h"
#include "tally/tests/device/device_cases.h"
#include "tally/tests/metrics/registry_cases.h"

namespace tally {
namespace {

using testkit::Batch;
using testkit::FixtureCase;
using testkit::on_cpu;
using testkit::places_of;
using testkit::update;

constexpr std::size_t kMostCases = 3;

// Their states are on the CPU wherever inputs are, and to() between updates
// takes them to where the next one does not find them.
const std::set<std::string> kStatesOfTheCpu{
    "LVISAveragePrecision", "MeanAveragePrecision",
    "MeanAverageRecall",    "ModifiedPanopticQuality",
    "PanopticQuality",      "PascalVOCAveragePrecision",
    "TokenEditDistance",
};

Results forward(Metric& metric, const Batch& batch) {
  Results value;
  registry_cases::with_inputs(
      batch, [&](Inputs inputs) { value = metric.forward_inputs(inputs); });
  return value;
}

// A metric on the CPU and one with the same batches on the device.
class OnDevice {
 public:
  OnDevice(const std::string& name, const FixtureCase& each)
      : name_(name),
        fresh_(registry_cases::metric_of(name, each)),
        batches_(each.batches) {
    for (const Batch& batch : batches_) {
      moved_.push_back(testkit::moved_to(testkit::pretend_device(), batch));
    }
  }

  void check() {
    const auto host = fresh_->clone();
    const auto device = fresh_->clone();
    std::string saved;
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      if (i + 1 < batches_.size()) {
        update(*host, batches_[i]);
        update(*device, moved_[i]);
      } else {
        saved = device->serialize();
        const Results actual = forward(*device, moved_[i]);
        expect_near(actual, forward(*host, batches_[i]), "forward()");
        places_ = places_of(actual);
      }
    }
    const Results expected = host->compute_results();
    const Results actual = device->compute_results();
    expect_near(actual, expected, "compute()");
    EXPECT_EQ(places_of(actual), places_) << "of forward() and compute()";
    expect_near(device->clone()->compute_results(), expected, "clone()");
    check_merge(expected);
    check_load(device->serialize(), expected);
    check_update_after_load(saved, expected);
    check_merge_after_load(saved, expected);
    device->to(at::kCPU);
    expect_near(device->compute_results(), expected, "to(cpu)");
    device->reset();
    for (const Batch& batch : moved_) update(*device, batch);
    expect_near(device->compute_results(), expected, "reset()");
    EXPECT_EQ(places_of(device->compute_results()), places_) << "reset()";
  }

 private:
  void check_merge(const Results& expected) {
    const auto first = fresh_->clone();
    const auto others = fresh_->clone();
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      update(i == 0 ? *first : *others, moved_[i]);
    }
    first->merge_state(*others);
    expect_near(first->compute_results(), expected, "merge_state()");
  }

  void check_load(const std::string& saved, const Results& expected) {
    const auto loaded = fresh_->clone();
    ASSERT_TRUE(loaded->deserialize(saved).ok());
    expect_near(loaded->compute_results(), expected, "deserialize()");
    loaded->to(testkit::pretend_device());
    expect_near(loaded->compute_results(), expected,
                "to(device) after deserialize()");
  }

  // One of a checkpoint takes what has been accumulated on the device.
  void check_merge_after_load(const std::string& saved,
                              const Results& expected) {
    const auto loaded = fresh_->clone();
    ASSERT_TRUE(loaded->deserialize(saved).ok());
    const auto last = fresh_->clone();
    update(*last, moved_.back());
    loaded->merge_state(*last);
    expect_near(loaded->compute_results(), expected,
                "merge_state() after deserialize()");
  }

  // The state of all batches but the last one was saved.
  void check_update_after_load(const std::string& saved,
                               const Results& expected) {
    for (const bool moves : {false, true}) {
      if (moves && kStatesOfTheCpu.count(name_) > 0) continue;
      const auto loaded = fresh_->clone();
      ASSERT_TRUE(loaded->deserialize(saved).ok());
      if (moves) loaded->to(testkit::pretend_device());
      update(*loaded, moved_.back());
      const Results actual = loaded->compute_results();
      expect_near(actual, expected, "update() after deserialize()");
      EXPECT_EQ(places_of(actual), places_) << "update() after deserialize()";
    }
  }

  static void expect_near(const Results& actual, const Results& expected,
                          const char* step) {
    EXPECT_TRUE(testkit::near(on_cpu(actual), expected, testkit::kTolerance))
        << step;
  }

  const std::string name_;
  const std::unique_ptr<Metric> fresh_;
  const std::vector<Batch> batches_;
  std::vector<Batch> moved_;
  std::vector<c10::Device> places_;  // of the results of forward()
};

class MetricsOnDeviceTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MetricsOnDeviceTest, HaveTheCpusValues) {
  for (const FixtureCase& each :
       testkit::device_cases(GetParam(), kMostCases)) {
    SCOPED_TRACE(each.name);
    OnDevice(GetParam(), each).check();
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, MetricsOnDeviceTest,
                         ::testing::ValuesIn(testkit::device_metrics()),
                         [](const auto& each) { return each.param; });

TEST(RefusedOnDeviceTest, LeavesTheStateWhereItWas) {
  const c10::Device device = testkit::pretend_device();
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
