#include "tally/tests/metrics/portable/golden.h"

#include <ATen/core/Formatting.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <variant>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/portable/any_metric.h"

namespace tally {
namespace {

std::vector<golden::State> states() {
  std::ifstream file(golden::kStates, std::ios::binary);
  return golden::decode({std::istreambuf_iterator<char>(file), {}});
}

TEST(GoldenTest, StatesOfEarlierVersionsAreRead) {
  const auto all = states();
  EXPECT_GT(all.size(), 150u);
  for (const golden::State& state : all) {
    SCOPED_TRACE(state.name);
    auto read = from_bytes(state.bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    Metric& metric = *std::get<std::unique_ptr<Metric>>(*read);
    EXPECT_EQ(metric.name(), state.name);
    const Results values = metric.compute_results();
    ASSERT_EQ(values.size(), state.values.size());
    for (const auto& [part, value] : state.values) {
      const at::Tensor& now = values[part];
      ASSERT_EQ(now.defined(), value.defined()) << part;
      if (!value.defined()) continue;
      ASSERT_EQ(now.sizes(), value.sizes()) << part;
      EXPECT_TRUE(now.allclose(value, 1e-6, 1e-9, /*equal_nan=*/true))
          << part << ": " << now << " instead of " << value;
    }
    const auto merged = merge_bytes({state.bytes, state.bytes});
    EXPECT_TRUE(merged.ok()) << merged.status();
  }
}

// 40 scores of each of two labels, with 17 and 23 positives, most of them in
// runs.
TEST(GoldenTest, RunsOfEarlierVersionsAreRead) {
  MultilabelAUROC metric(MultilabelAUROCOptions(2).average(Average::kNone));
  const absl::Status status =
      metric.load("tests/metrics/portable/data/runs/labels.tally");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(metric.state()["score_runs"].defined());
  const at::Tensor values = metric.compute();
  EXPECT_DOUBLE_EQ(values[0].item<double>(), 205. / (17 * 23));
  EXPECT_DOUBLE_EQ(values[1].item<double>(), 174. / (17 * 23));
}

}  // namespace
}  // namespace tally
