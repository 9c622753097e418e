#include "tally/metrics/warnings.h"

#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/log_loss.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/metrics/text/rouge_score.h"
#include "tally/metrics/text/translation_edit_rate.h"
#include "tally/metrics/wrappers/boot_strapper.h"
#include "tally/metrics/wrappers/metric_tracker.h"
#include "tally/metrics/wrappers/running.h"
#include "tally/testing/thread_ranks.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The warnings that `work` gives on this thread.
template <class Work>
std::vector<MetricWarning> warnings_of(const Work& work) {
  std::vector<MetricWarning> warnings;
  const WarningGuard guard(
      [&](const MetricWarning& warning) { warnings.push_back(warning); });
  work();
  return warnings;
}

void expect_rows(const MetricWarning& warning, std::int64_t count,
                 std::int64_t rows, std::int64_t first) {
  EXPECT_EQ(warning.count, count);
  EXPECT_EQ(warning.rows, rows);
  EXPECT_EQ(warning.first, first);
}

at::Tensor values(std::vector<double> numbers) {
  return at::tensor(numbers, at::kDouble);
}

TEST(WarningsTest, AreGivenOnceOverAllBatches) {
  MeanMetric mean;
  mean.update(values({1, 2}));
  mean.update(values({3, kNaN, kNaN}));
  mean.update(kNaN);
  const auto given = warnings_of([&] {
    mean.compute();
    mean.update(kNaN);
    mean.compute();
  });
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].metric, "MeanMetric");
  EXPECT_EQ(given[0].name, "nan");
  expect_rows(given[0], 3, 6, 3);
  EXPECT_THAT(given[0].message(),
              HasSubstr("MeanMetric: NaN was ignored in 3 of 6 rows, first row "
                        "3; choose"));
  EXPECT_THAT(given[0].message("x.csv, line 5"),
              HasSubstr("6 rows, first x.csv, line 5; choose"));
}

TEST(WarningsTest, AreGivenByTorchWarn) {
  MeanMetric mean;
  mean.update(kNaN);
  struct Handler final : c10::WarningHandler {
    void process(const c10::Warning& warning) override {
      texts.push_back(warning.msg());
    }
    std::vector<std::string> texts;
  } handler;
  {
    const c10::WarningUtils::WarningHandlerGuard guard(&handler);
    mean.compute();
  }
  EXPECT_THAT(handler.texts,
              ElementsAre(HasSubstr("NaN was ignored in 1 of 1 row,")));
}

TEST(WarningsTest, AreForgottenByReset) {
  MeanMetric mean;
  const auto run = [&](double value) {
    return warnings_of([&] {
      mean.update(value);
      mean.compute();
    });
  };
  EXPECT_THAT(run(kNaN), SizeIs(1));
  mean.reset();
  EXPECT_THAT(run(1), IsEmpty());
  mean.reset();
  EXPECT_THAT(run(kNaN), SizeIs(1));
}

TEST(WarningsTest, AreSavedMergedAndCloned) {
  MeanMetric first, second;
  first.update(values({1, 2}));
  second.update(values({3, kNaN}));
  MeanMetric loaded;
  ASSERT_TRUE(loaded.deserialize(first.serialize()).ok());
  loaded.merge_state(second);
  const auto copy = loaded.clone();
  for (Metric* metric : std::vector<Metric*>{&loaded, copy.get()}) {
    const auto given = warnings_of([&] { metric->compute_results(); });
    ASSERT_THAT(given, SizeIs(1));
    expect_rows(given[0], 1, 4, 3);
  }
}

TEST(WarningsTest, AreGivenByForward) {
  MeanMetric mean;
  const auto given = warnings_of([&] {
    mean.forward(values({1, kNaN}));
    mean.forward(values({kNaN, kNaN}));
    mean.compute();
  });
  ASSERT_THAT(given, SizeIs(1));
  expect_rows(given[0], 1, 2, 1);
}

TEST(WarningsTest, AreThoseOfAllRanksOnTheFirst) {
  for (const int ranks : {1, 2, 3, 5}) {
    testkit::run_thread_ranks(
        ranks, [&](std::shared_ptr<sync::Communicator> group) {
          MeanMetric mean;
          // The last rank has the first NaN, and rank 1 of 5 has no data.
          if (group->rank() != 1 || ranks < 3) mean.update(values({1, 2}));
          if (group->rank() == ranks - 1) mean.update(values({3, kNaN}));
          for (const bool is_async : {false, true}) {
            const auto copy = mean.clone();
            auto& metric = static_cast<MeanMetric&>(*copy);
            const auto given = warnings_of([&] {
              if (is_async) metric.sync_async().wait();
              metric.compute();
            });
            if (group->rank() != 0) {
              EXPECT_THAT(given, IsEmpty());
              continue;
            }
            ASSERT_THAT(given, SizeIs(1));
            const std::int64_t with_data = ranks < 3 ? ranks : ranks - 1;
            expect_rows(given[0], 1, 2 * with_data + 2, 2 * with_data + 1);
          }
        });
  }
}

TEST(WarningsTest, AreGivenOnTheRankThatEvaluatesAlone) {
  testkit::run_thread_ranks(2, [&](std::shared_ptr<sync::Communicator> group) {
    MeanMetric mean({}, MetricOptions().sync_on_compute(false));
    if (group->rank() == 1) mean.update(kNaN);
    EXPECT_THAT(warnings_of([&] { mean.compute(); }),
                SizeIs(group->rank() == 1 ? 1 : 0));
  });
}

TEST(WarningsTest, NameTheMembersOfACollection) {
  MetricCollection metrics;
  metrics.add("a", MeanMetric());
  metrics.add("b", MeanMetric());
  metrics.update(values({kNaN, 1}));
  const auto given = warnings_of([&] { metrics.compute(); });
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_EQ(given[0].metric, "a+b");
}

TEST(WarningsTest, AreThoseOfTheMetricInside) {
  const auto batch = values({1, kNaN, 2});
  const auto check = [&](Metric& metric, std::int64_t first) {
    metric.update(batch);
    const auto given = warnings_of([&] { metric.compute_results(); });
    ASSERT_THAT(given, SizeIs(1)) << metric.repr();
    EXPECT_EQ(given[0].first, first) << metric.repr();
  };
  Running running(MeanMetric(), RunningOptions(2));
  check(running, 1);
  auto twice = 2 * MeanMetric();
  check(twice, 1);
  BootStrapper copies(MeanMetric(), BootStrapperOptions().num_bootstraps(20));
  check(copies, -1);

  MetricTracker tracker{MeanMetric()};
  tracker.increment();
  tracker.update(batch);
  EXPECT_THAT(warnings_of([&] {
                tracker.compute();
                tracker.compute_all();
              }),
              SizeIs(1));
}

TEST(WarningsTest, AreSumsOverSlices) {
  SlicedMetric slices{MeanMetric()};
  const std::vector<std::string> keys = {"x", "y", "x", "y"};
  slices.update(SliceKeys(keys), values({kNaN, kNaN, 1, 2}));
  const auto given = warnings_of([&] {
    slices.compute();
    slices.compute();
  });
  ASSERT_THAT(given, SizeIs(1));
  expect_rows(given[0], 2, 4, -1);
  slices.reset();
  slices.update(SliceKeys(keys), values({kNaN, 3, 1, 2}));
  EXPECT_THAT(warnings_of([&] { slices.compute(); }), SizeIs(1));
}

TEST(WarningsTest, AreThoseOfIntervals) {
  IntervalMetric interval{MeanMetric(),
                          IntervalOptions().method(IntervalMethod::kJackknife)};
  interval.update(values({1, 2, kNaN, 4}));
  const auto given = warnings_of([&] {
    interval.compute();
    interval.compute();
  });
  ASSERT_THAT(given, SizeIs(2));
  expect_rows(given[0], 1, 4, 2);
  EXPECT_EQ(given[1].name, "few_units");

  IntervalMetric whole{MeanMetric(),
                       IntervalOptions().method(IntervalMethod::kPoisson)};
  whole.update(values({1, 2, kNaN, 4}));
  const auto others = warnings_of([&] { whole.compute(); });
  ASSERT_THAT(others, SizeIs(2));
  expect_rows(others[0], 1, 4, 2);
}

TEST(WarningsTest, TellOfOptionsWithoutEffect) {
  TranslationEditRate rate(TranslationEditRateOptions().asian_support(true));
  rate.update(std::vector<std::string>{"a b"}, std::vector<std::string>{"a"});
  const auto given = warnings_of([&] {
    rate.compute();
    rate.update(std::vector<std::string>{"b"}, std::vector<std::string>{"a"});
    rate.compute();
  });
  ASSERT_THAT(given, SizeIs(1));
  EXPECT_THAT(given[0].message(),
              HasSubstr("TranslationEditRate: asian_support has no effect "
                        "without normalize"));

  MetricCollection metrics;
  metrics.add("ter", TranslationEditRate(
                         TranslationEditRateOptions().asian_support(true)));
  EXPECT_THAT(warnings_of([&] { metrics.compute(); }), SizeIs(1));
}

TEST(WarningsTest, ReachTheInnermostGuard) {
  MeanMetric mean;
  mean.update(kNaN);
  std::vector<MetricWarning> inner;
  EXPECT_THAT(
      warnings_of([&] { inner = warnings_of([&] { mean.compute(); }); }),
      IsEmpty());
  EXPECT_THAT(inner, SizeIs(1));
}

}  // namespace
}  // namespace tally
