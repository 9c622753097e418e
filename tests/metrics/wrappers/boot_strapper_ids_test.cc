#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/resampling/replicate_weights.h"
#include "tally/metrics/wrappers/boot_strapper.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using testkit::same_bits;

using Options = BootStrapperOptions;

constexpr std::int64_t kRows = 60;
constexpr std::int64_t kCopies = 11;

Options raw_only(std::int64_t seed = 7) {
  return Options(kCopies).mean(false).std(false).raw(true).seed(seed);
}

// Integers, whose sums and squares are exact in any order.
at::Tensor values() { return at::arange(kRows).mul(17).remainder(23); }
at::Tensor targets() { return at::arange(kRows).mul(5).remainder(7); }
at::Tensor numbers() { return at::arange(kRows).mul(1000).sub(7); }

at::Tensor weights_of(const SampleIds& ids, std::int64_t seed = 7) {
  return ReplicateWeights(seed, WeightKind::kPoisson, kCopies)(ids).to(
      at::kDouble);
}

std::vector<std::string> names() {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < kRows; ++i) {
    texts.push_back(std::to_string(i) + ".png");
  }
  return texts;
}

TEST(BootStrapperIdsTest, RowsOccurAsOftenAsTheirWeights) {
  BootStrapper sums(SumMetric(), raw_only());
  sums.update(SampleIds(numbers()), values());
  const at::Tensor weights = weights_of(SampleIds(numbers()));
  const at::Tensor wanted = values().to(at::kDouble).matmul(weights);
  EXPECT_TRUE(same_bits(sums.compute()["raw"], wanted));
  EXPECT_FALSE(wanted[0].equal(wanted[1]));

  // Rows of preds and target stay together.
  BootStrapper errors(MeanSquaredError(), raw_only());
  errors.update(SampleIds(numbers()), values().to(at::kDouble), targets());
  const at::Tensor squares = values().sub(targets()).square().to(at::kDouble);
  EXPECT_TRUE(same_bits(errors.compute()["raw"],
                        squares.matmul(weights).div(weights.sum(0))));
  BootStrapper other(SumMetric(), raw_only(8));
  other.update(SampleIds(numbers()), values());
  EXPECT_TRUE(same_bits(
      other.compute()["raw"],
      values().to(at::kDouble).matmul(weights_of(SampleIds(numbers()), 8))));
}

TEST(BootStrapperIdsTest, AreGivenByPositionOrName) {
  const std::vector<std::string> texts = names();
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  BootStrapper wanted(SumMetric(), raw_only()),
      by_name(SumMetric(), raw_only()), last(MeanSquaredError(), raw_only()),
      first(MeanSquaredError(), raw_only()), by_text(SumMetric(), raw_only()),
      by_view(SumMetric(), raw_only());
  wanted.update(SampleIds(numbers()), values());
  by_name.update({{"ids", numbers()}, {"value", values()}});
  EXPECT_EQ(by_name.serialize(), wanted.serialize());
  first.update(SampleIds(numbers()), values(), targets());
  last.update(values(), targets(), at::ones({kRows}), numbers());
  EXPECT_TRUE(same_bits(last.compute()["raw"], first.compute()["raw"]));

  wanted.reset();
  wanted.update(SampleIds(texts), values());
  by_text.update({{"value", values()}, {"ids", texts}});
  by_view.update({{"value", values()}, {"ids", views}});
  EXPECT_EQ(by_text.serialize(), wanted.serialize());
  EXPECT_EQ(by_view.serialize(), wanted.serialize());
  // One row.
  by_name.reset();
  by_name.update(SampleIds(at::tensor({3})), 2.0);
  EXPECT_TRUE(same_bits(by_name.compute()["raw"],
                        weights_of(SampleIds(at::tensor({3})))[0].mul(2)));
}

TEST(BootStrapperIdsTest, DoNotDependOnOrderAndBatches) {
  BootStrapper whole(SumMetric(), raw_only());
  whole.update(SampleIds(numbers()), values());
  const at::Tensor wanted = whole.compute()["raw"];
  for (const std::int64_t size : {1, 7, 60}) {
    BootStrapper parts(SumMetric(), raw_only());
    parts.update(SampleIds(at::empty({0}, at::kLong)), at::empty({0}));
    for (const at::Tensor& rows : at::randperm(kRows, at::kLong).split(size)) {
      parts.update(SampleIds(numbers().index_select(0, rows)),
                   values().index_select(0, rows));
    }
    EXPECT_TRUE(same_bits(parts.compute()["raw"], wanted));
  }
  BootStrapper one(SumMetric(), raw_only()), two(SumMetric(), raw_only());
  one.update(SampleIds(numbers().narrow(0, 0, 13)), values().narrow(0, 0, 13));
  two.update(SampleIds(numbers().narrow(0, 13, 47)),
             values().narrow(0, 13, 47));
  one.merge_state(two);
  EXPECT_TRUE(same_bits(one.compute()["raw"], wanted));
}

TEST(BootStrapperIdsTest, AnySplitOverRanksIsOneProcess) {
  const std::vector<std::string> texts = names();
  const auto fresh = [] {
    return BootStrapper(MeanSquaredError(),
                        Options(kCopies).raw(true).quantile({0.5}));
  };
  auto whole = fresh();
  whole.update({{"preds", values()}, {"target", targets()}, {"ids", texts}});
  const Results wanted = whole.compute();
  for (const int ranks : {1, 2, 3, 5}) {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      auto metric = fresh();
      // All of several but the last have rows.
      const int with_rows = ranks > 1 ? ranks - 1 : 1;
      std::vector<std::string> own;
      std::vector<std::int64_t> rows;
      for (int i = communicator->rank(); i < kRows; i += with_rows) {
        if (communicator->rank() == with_rows) break;
        rows.push_back(i);
        own.push_back(texts[static_cast<std::size_t>(i)]);
      }
      if (!rows.empty()) {
        const at::Tensor places = at::tensor(rows, at::kLong);
        metric.update({{"ids", own},
                       {"preds", values().index_select(0, places)},
                       {"target", targets().index_select(0, places)}});
      }
      const Results results = metric.compute();
      ASSERT_EQ(results.size(), wanted.size());
      for (const auto& [part, value] : results) {
        EXPECT_TRUE(same_bits(value, wanted[part])) << part;
      }
    });
  }
}

TEST(BootStrapperIdsTest, GoOnFromACheckpoint) {
  BootStrapper whole(SumMetric(), raw_only()), first(SumMetric(), raw_only()),
      second(SumMetric(), raw_only());
  const auto update = [](BootStrapper& metric, std::int64_t begin,
                         std::int64_t rows) {
    metric.update(SampleIds(numbers().narrow(0, begin, rows)),
                  values().narrow(0, begin, rows));
  };
  update(whole, 0, 20);
  update(whole, 20, 40);
  update(first, 0, 20);
  ASSERT_TRUE(second.deserialize(first.serialize()).ok());
  update(second, 20, 40);
  EXPECT_EQ(second.serialize(), whole.serialize());
}

TEST(BootStrapperIdsTest, ReachEveryMetricOfACollection) {
  MetricCollection metrics;
  metrics.add("copies", BootStrapper(MeanSquaredError(), raw_only()));
  metrics.add("error", MeanSquaredError());
  metrics.update(
      {{"preds", values()}, {"target", targets()}, {"ids", numbers()}});
  BootStrapper alone(MeanSquaredError(), raw_only());
  alone.update(SampleIds(numbers()), values(), targets());
  EXPECT_TRUE(
      same_bits(metrics.compute()["copies.raw"], alone.compute()["raw"]));

  // And a BootStrapper in another one.
  BootStrapper nested(BootStrapper(SumMetric(), raw_only(1)), raw_only(2));
  EXPECT_EQ(nested.inputs().size(), nested.metric().inputs().size());
  nested.update({{"value", values()}, {"ids", numbers()}});
  const at::Tensor both =
      weights_of(SampleIds(numbers()), 1)
          .unsqueeze(1)
          .mul(weights_of(SampleIds(numbers()), 2).unsqueeze(2));
  EXPECT_TRUE(
      same_bits(nested.compute()["raw.raw"],
                both.mul(values().to(at::kDouble).reshape({-1, 1, 1})).sum(0)));
}

TEST(BootStrapperIdsTest, EqualIdsAreDrawnTogether) {
  BootStrapper users(SumMetric(), raw_only());
  users.update(SampleIds(at::arange(kRows).remainder(3)), at::ones({kRows}));
  EXPECT_TRUE(same_bits(users.compute()["raw"],
                        weights_of(SampleIds(at::arange(3))).sum(0).mul(20)));
}

TEST(BootStrapperIdsTest, BadIdsChangeNothing) {
  BootStrapper metric(SumMetric(), raw_only());
  metric.update(SampleIds(numbers()), values());
  const std::string before = metric.serialize();
  const auto refusal = [&](const NamedInput& ids) {
    return refusal_of<c10::Error>([&] {
      metric.update({ids, {"value", at::ones({4})}});
    });
  };
  EXPECT_THAT(
      refusal({"ids", at::arange(3)}),
      HasSubstr("BootStrapper: expected an id for each of 4 rows, got 3"));
  EXPECT_THAT(refusal({"ids", at::ones({4})}),
              HasSubstr("ids: expected integers or texts, got Float"));
  EXPECT_THAT(refusal({"ids", at::ones({4, 1}, at::kLong)}),
              HasSubstr("ids: expected sizes [N], got [4, 1]"));
  EXPECT_THAT(refusal({"ids", {"a", "b"}}), HasSubstr("4 rows, got 2"));
  const std::vector<testkit::SampleImage> images(4);
  EXPECT_THAT(
      refusal({"ids", images}),
      HasSubstr("BootStrapper: expected ids to be an at::Tensor, got a"));
  EXPECT_EQ(metric.serialize(), before);

  BootStrapper batches(SumMetric(), raw_only().sampling_strategy(
                                        SamplingStrategy::kMultinomial));
  EXPECT_THAT(
      refusal_of([&] { batches.update(SampleIds(numbers()), values()); }),
      HasSubstr(
          "BootStrapper: expected ids with sampling_strategy poisson, got "
          "multinomial"));
  EXPECT_EQ(batches.update_count(), 0);
}

}  // namespace
}  // namespace tally
