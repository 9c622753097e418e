#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/registry/registry.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/device/device_cases.h"

namespace tally {
namespace {

using testkit::Batch;
using testkit::FixtureCase;

constexpr int kRanks = 2;

struct RankValue {
  Results results;
  std::vector<c10::Device> places;
};

// compute() over ranks, of which each has the batches that `has(rank, batch)`.
template <class Has>
std::array<RankValue, kRanks> computed(const Metric& fresh,
                                       const std::vector<Batch>& batches,
                                       const Has& has) {
  std::array<RankValue, kRanks> values;
  std::array<std::unique_ptr<Metric>, kRanks> metrics;
  for (auto& metric : metrics) metric = fresh.clone();
  testkit::run_thread_ranks(
      kRanks, [&](const std::shared_ptr<sync::Communicator>& communicator) {
        const int rank = communicator->rank();
        Metric& metric = *metrics[rank];
        for (std::size_t i = 0; i < batches.size(); ++i) {
          if (has(rank, i)) testkit::update(metric, batches[i]);
        }
        const Results results = metric.compute_results();
        values[rank] = {testkit::on_cpu(results), testkit::places_of(results)};
      });
  return values;
}

class RanksOnDeviceTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RanksOnDeviceTest, HaveOneValueAlsoWithoutData) {
  for (const FixtureCase& each : testkit::device_cases(GetParam(), 1)) {
    SCOPED_TRACE(each.name);
    const auto fresh = registry_cases::metric_of(GetParam(), each);
    const auto host = fresh->clone();
    std::vector<Batch> moved;
    for (const Batch& batch : each.batches) {
      testkit::update(*host, batch);
      moved.push_back(testkit::moved_to(testkit::pretend_device(), batch));
    }
    const Results expected = host->compute_results();
    const auto check = [&](const std::array<RankValue, kRanks>& values) {
      EXPECT_TRUE(
          testkit::near(values[0].results, expected, testkit::kTolerance));
      EXPECT_TRUE(testkit::same_bits(values[1].results, values[0].results));
      EXPECT_EQ(values[1].places, values[0].places);
    };
    for (const int idle : {0, 1}) {
      SCOPED_TRACE("without data: rank " + std::to_string(idle));
      check(computed(*fresh, moved,
                     [&](int rank, std::size_t) { return rank != idle; }));
    }
    check(computed(*fresh, moved, [&](int rank, std::size_t batch) {
      return (batch > 0) == (rank > 0);
    }));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, RanksOnDeviceTest,
                         ::testing::ValuesIn(testkit::device_metrics()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace tally
