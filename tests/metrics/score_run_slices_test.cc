#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/portable/any_metric.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"

// Slices of exact curves whose rows have become runs.

namespace tally {
namespace {

using testkit::near;
using testkit::same_bits;

constexpr std::int64_t kRows = 240;
constexpr std::int64_t kBatch = 20;

struct Batch {
  explicit Batch(std::int64_t first)
      : numbers(at::arange(first, first + kBatch, at::kLong)) {}
  at::Tensor numbers;
  at::Tensor preds = numbers.mul(37).remainder(64).to(at::kFloat).div(64);
  at::Tensor target = numbers.mul(5).remainder(7).lt(3).to(at::kLong);
  SliceKeys keys() const {
    return SliceKeys(numbers.mul(numbers).remainder(5));
  }
};

/// Batches `part`, `part` + `parts`, ...
SlicedMetric sliced(std::int64_t part = 0, std::int64_t parts = 1) {
  SlicedMetric metric;
  metric.add("area", BinaryAUROC());
  metric.add("precision", BinaryAveragePrecision());
  for (std::int64_t i = part * kBatch; i < kRows; i += parts * kBatch) {
    const Batch batch(i);
    metric.update(batch.keys(), batch.preds, batch.target);
  }
  return metric;
}

void expect_equal(const std::vector<SliceResult>& slices,
                  const std::vector<SliceResult>& expected) {
  ASSERT_EQ(slices.size(), expected.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(slices[i].name(), expected[i].name());
    EXPECT_EQ(slices[i].rows, expected[i].rows);
    EXPECT_TRUE(
        same_bits(slices[i].results["area"], expected[i].results["area"]));
    EXPECT_TRUE(near(slices[i].results["precision"],
                     expected[i].results["precision"], {1e-12, 0}));
  }
}

TEST(ScoreRunSlicesTest, SlicesHaveTheValuesOfRows) {
  const auto expected = sliced().compute();
  const RunLimitsGuard limits;
  SlicedMetric metric = sliced();
  EXPECT_TRUE(metric.state().contains("score_runs of the slice 0"));
  expect_equal(metric.compute(), expected);
  expect_equal(metric.clone().compute(), expected);
  SlicedMetric merged = sliced(0, 2);
  merged.merge_state(sliced(1, 2));
  expect_equal(merged.compute(), expected);
  SlicedMetric loaded = sliced();
  loaded.reset();
  ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
  expect_equal(loaded.compute(), expected);
  // More rows come to runs.
  SlicedMetric rest = sliced(0, 2);
  for (std::int64_t i = kBatch; i < kRows; i += 2 * kBatch) {
    const Batch batch(i);
    rest.update(batch.keys(), batch.preds, batch.target);
  }
  expect_equal(rest.compute(), expected);
}

TEST(ScoreRunSlicesTest, SlicesOfRunsAreValues) {
  const auto expected = sliced().compute();
  const RunLimitsGuard limits;
  const std::string first = sliced(0, 2).to_bytes();
  const std::string second = sliced(1, 2).to_bytes();
  const auto read = from_bytes(first);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(base_of(*read).to_bytes(), first);
  auto merged = merge_bytes({first, second});
  ASSERT_TRUE(merged.ok()) << merged.status();
  expect_equal(std::get<SlicedMetric>(*merged).compute(), expected);
}

TEST(ScoreRunSlicesTest, SlicesOfRanksAreThoseOfOneProcess) {
  const auto expected = sliced().compute();
  const RunLimitsGuard limits;
  for (const int ranks : {1, 2, 3, 5}) {
    testkit::run_thread_ranks(ranks, [&](const auto& self) {
      SlicedMetric metric = sliced(self->rank(), ranks);
      const std::string before = metric.serialize();
      expect_equal(metric.compute(), expected);
      EXPECT_EQ(metric.serialize(), before);
    });
  }
}

TEST(ScoreRunSlicesTest, ComparedSlicesHaveTheValuesOfRows) {
  const auto compared = [](std::int64_t part, std::int64_t parts) {
    SliceComparison metric(BinaryAUROC(), SliceComparisonOptions().min_rows(2));
    for (std::int64_t i = part * kBatch; i < kRows; i += parts * kBatch) {
      const Batch batch(i);
      metric.update(batch.keys(), SampleIds(batch.numbers), batch.preds,
                    batch.target);
    }
    return metric;
  };
  const auto expected = compared(0, 1).compute();
  const auto expect_those = [&](const std::vector<ComparedSlice>& slices) {
    ASSERT_EQ(slices.size(), expected.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_EQ(slices[i].name(), expected[i].name());
      EXPECT_EQ(slices[i].rows, expected[i].rows);
      EXPECT_NEAR(slices[i].difference, expected[i].difference, 1e-12);
      EXPECT_NEAR(slices[i].low, expected[i].low, 1e-12);
      EXPECT_NEAR(slices[i].high, expected[i].high, 1e-12);
      EXPECT_NEAR(slices[i].p_value, expected[i].p_value, 1e-12);
    }
  };
  ASSERT_GE(expected.size(), 3u);
  const RunLimitsGuard limits;
  expect_those(compared(0, 1).compute());
  auto merged =
      merge_bytes({compared(0, 2).to_bytes(), compared(1, 2).to_bytes()});
  ASSERT_TRUE(merged.ok()) << merged.status();
  expect_those(std::get<SliceComparison>(*merged).compute());
}

}  // namespace
}  // namespace tally
