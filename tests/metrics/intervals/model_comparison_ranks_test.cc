#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/testing/expect_sync_error.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;

constexpr std::int64_t kRows = 60;

at::Tensor scores(double frequency) {
  return at::arange(kRows, at::kDouble).mul(frequency).sin().mul(0.45).add(0.5);
}
at::Tensor target() { return at::arange(kRows).mul(7).remainder(5).gt(2); }

/// Rows `rank`, `rank` + `ranks`, ... in batches.
void update(ModelComparison& models, std::int64_t rank, std::int64_t ranks) {
  constexpr std::int64_t kBatch = 7;
  const at::Tensor rows = at::arange(rank, kRows, ranks);
  for (std::int64_t begin = 0; begin < rows.size(0); begin += kBatch) {
    const at::Tensor some =
        rows.slice(0, begin, std::min(begin + kBatch, rows.size(0)));
    models.update(SampleIds(some.mul(12345)), scores(0.7).index_select(0, some),
                  (scores(0.7) * 0.8 + scores(1.9) * 0.2).index_select(0, some),
                  target().index_select(0, some));
  }
}

template <class M>
void check(const testkit::Rank& self, typename M::Options metric_options,
           const ModelComparisonOptions& options, ComparisonMethod method,
           bool exactly) {
  MetricOptions alone;
  alone.sync_on_compute(false);
  ModelComparison whole(M(metric_options, alone), options);
  update(whole, 0, 1);
  ModelComparison split(M(metric_options), options);
  // The last of several ranks is idle.
  const std::int64_t sharing = std::max<std::int64_t>(self.size() - 1, 1);
  if (self.rank() < sharing) update(split, self.rank(), sharing);
  const Comparison a = whole.compute().value();
  const Comparison b = split.compute().value();
  EXPECT_EQ(a.method, method);
  EXPECT_EQ(b.n, kRows);
  const auto expect_equal = [&](const at::Tensor& x, const at::Tensor& y) {
    EXPECT_TRUE(exactly ? x.equal(y) : x.allclose(y, 1e-12, 1e-12))
        << M::kName << x << " and " << y;
  };
  expect_equal(a.first, b.first);
  expect_equal(a.second, b.second);
  expect_equal(a.difference, b.difference);
  expect_equal(a.low, b.low);
  expect_equal(a.high, b.high);
  expect_equal(a.p_value, b.p_value);
}

RANKS_TEST(ModelComparisonRanksTest, EqualsOneProcess, 1, 2, 3, 5) {
  using Method = ComparisonMethod;
  ModelComparisonOptions options;
  options.replicates(50).blocks(6);
  check<BinaryAccuracy>(self, {}, options, Method::kMcnemar, true);
  check<BinaryAUROC>(self, {}, options, Method::kDelong, true);
  check<BinaryF1Score>(self, {}, options, Method::kJackknife, true);
  check<MeanSquaredError>(self, {}, options, Method::kJackknife, false);
  check<BinaryAveragePrecision>(self, {}, options, Method::kJackknife, true);
  options.method(Method::kDoubleOrNothing);
  check<BinaryF1Score>(self, {}, options, Method::kDoubleOrNothing, true);
}

RANKS_TEST(ModelComparisonRanksTest, NeedsIdsWhereTheyMatter, 2) {
  ModelComparison f1{BinaryF1Score()};
  EXPECT_THAT(
      refusal_of([&] { f1.update(scores(0.7), scores(1.9), target()); }),
      HasSubstr("ModelComparison: expected ids, which a row's number cannot "
                "replace on 2 ranks"));
  EXPECT_EQ(f1.rows(), 0);
  ModelComparison accuracy{BinaryAccuracy()};
  accuracy.update(scores(0.7), scores(1.9), target());
  EXPECT_EQ(accuracy.compute().value().n, 2 * kRows);
}

RANKS_TEST(ModelComparisonRanksTest, SaysThatARankComparesSomethingElse, 3) {
  // Another method is another state.
  ModelComparisonOptions options;
  if (self.rank() == 1) options.method(ComparisonMethod::kPoisson);
  ModelComparison models(BinaryAccuracy(), options);
  if (self.rank() != 1) models.update(scores(0.7), scores(1.9), target());
  EXPECT_SYNC_ERROR(models.compute(), sync::SyncErrorCode::kMismatch);
}

}  // namespace
}  // namespace tally
