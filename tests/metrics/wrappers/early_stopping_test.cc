#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/metric_tracker.h"
#include "tally/sync/errors.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/wrappers/helpers.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::kNaN;
using testkit::refusal_of;
using testkit::run_thread_ranks;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Warnings : public c10::WarningHandler {
 public:
  Warnings() : guard_(this) {}
  void process(const c10::Warning& warning) override {
    // Not those of the metrics inside.
    if (warning.msg().rfind(MetricTracker::kName, 0) == 0) {
      messages.push_back(warning.msg());
    }
  }
  std::vector<std::string> messages;

 private:
  c10::WarningUtils::WarningHandlerGuard guard_;
};

struct Answers {
  std::vector<bool> improved;
  std::vector<bool> stopped;
};

Answers answers_of(MetricTracker tracker, const std::vector<double>& values,
                   std::int64_t patience, double min_delta = 0) {
  Answers answers;
  for (const double value : values) {
    tracker.increment();
    tracker.update(at::tensor({value}));
    answers.improved.push_back(tracker.improved("", min_delta));
    answers.stopped.push_back(tracker.should_stop(
        EarlyStoppingOptions(patience).min_delta(min_delta)));
  }
  return answers;
}

TEST(EarlyStoppingTest, SaysWhetherTheStepIsTheBestSoFar) {
  const Answers up =
      answers_of(MetricTracker(MeanMetric(), true), {1, 3, 3, 2, 4, 4.5}, 2);
  EXPECT_THAT(up.improved, ElementsAre(true, true, false, false, true, true));
  EXPECT_THAT(up.stopped, ElementsAre(false, false, false, true, false, false));
  const Answers down =
      answers_of(MetricTracker(MeanMetric(), false), {1, 3, 0.5, 0.5}, 1);
  EXPECT_THAT(down.improved, ElementsAre(true, false, true, false));
  EXPECT_THAT(down.stopped, ElementsAre(false, true, false, true));
}

TEST(EarlyStoppingTest, SmallGainsAddUpToOne) {
  // Compared with the last improvement, not with the step before.
  const Answers answers = answers_of(MetricTracker(MeanMetric(), true),
                                     {1, 1.25, 1.5, 1.75, 2}, 2, 0.5);
  EXPECT_THAT(answers.improved, ElementsAre(true, false, false, true, false));
  EXPECT_THAT(answers.stopped, ElementsAre(false, false, true, false, false));
}

TEST(EarlyStoppingTest, NaNIsNeverBetterAndSaysSoOnce) {
  Warnings warnings;
  const Answers answers =
      answers_of(MetricTracker(MeanMetric(), true),
                 {kNaN, kNaN, -kInfinity, kNaN, 1, kInfinity, kInfinity}, 2);
  EXPECT_THAT(answers.improved,
              ElementsAre(false, false, true, false, true, true, false));
  EXPECT_THAT(answers.stopped,
              ElementsAre(false, true, false, false, false, false, false));
  EXPECT_THAT(warnings.messages,
              ElementsAre("MetricTracker: 'MeanMetric' is NaN in step 0, which "
                          "never counts as an improvement"));
}

TEST(EarlyStoppingTest, KnowsEachResultOfACollection) {
  MetricCollection metrics;
  metrics.add("mean", MeanMetric());
  metrics.add("sum", SumMetric());
  MetricTracker tracker(std::move(metrics), {{"mean", true}, {"sum", false}});
  for (const double value : {1.0, 2.0}) {
    tracker.increment();
    tracker.update(at::tensor({value}));
  }
  EXPECT_TRUE(tracker.improved("mean"));
  EXPECT_FALSE(tracker.improved("sum"));
  EXPECT_TRUE(tracker.should_stop(EarlyStoppingOptions(1).result("sum")));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.improved(); }),
              HasSubstr("expected the name of a result, got none; there "
                        "are 2: mean, sum"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.improved("median"); }),
              HasSubstr("unknown result 'median'; there are: mean, sum"));
}

TEST(EarlyStoppingTest, RefusesWhatItCannotUse) {
  MetricTracker tracker(MeanMetric(), true);
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.improved(); }),
              HasSubstr("expected increment() before compute_all()"));
  tracker.increment();
  tracker.update(1);
  EXPECT_THAT(refusal_of<c10::ValueError>([&] { tracker.improved("", -1); }),
              HasSubstr("expected min_delta to be at least 0, got -1"));
  EXPECT_THAT(refusal_of<c10::ValueError>([&] { tracker.improved("", kNaN); }),
              HasSubstr("expected min_delta to be at least 0, got nan"));
  EXPECT_THAT(refusal_of<c10::ValueError>(
                  [&] { tracker.should_stop(EarlyStoppingOptions(0)); }),
              HasSubstr("expected patience to be at least 1, got 0"));
  MetricTracker unknown{MeanMetric()};
  unknown.increment();
  unknown.update(1);
  EXPECT_THAT(refusal_of<c10::ValueError>([&] { unknown.improved(); }),
              HasSubstr("expected maximize to be given for MeanMetric("));
}

TEST(EarlyStoppingTest, ContinuesAfterLoading) {
  MetricTracker tracker(MeanMetric(), true);
  MetricTracker resumed(MeanMetric(), true);
  for (const double value : {2.0, 1.0, 1.5, 3.0, 0.0, 0.0, 0.0}) {
    ASSERT_TRUE(resumed.deserialize(tracker.serialize()).ok());
    for (MetricTracker* each : {&tracker, &resumed}) {
      each->increment(static_cast<std::int64_t>(10 * value));
      each->update(value);
    }
    EXPECT_EQ(resumed.improved(), tracker.improved());
    EXPECT_EQ(resumed.should_stop(3), tracker.should_stop(3));
  }
  EXPECT_EQ(resumed.best_metric().label, "30");
  EXPECT_EQ(resumed.best_metric().step, 3);
  EXPECT_THAT(resumed.labels(),
              ElementsAre("20", "10", "15", "30", "0", "0", "0"));
}

TEST(EarlyStoppingTest, AllRanksGetTheSameAnswer) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      MetricTracker tracker(MeanMetric(), true);
      std::vector<bool> improved, stopped;
      for (const double value : {1.0, 2.0, 2.0, 1.0, 5.0}) {
        tracker.increment("epoch");
        // The last rank has no data.
        if (communicator->rank() + 1 < ranks || ranks == 1) {
          tracker.update(value + communicator->rank());
        }
        improved.push_back(tracker.improved());
        stopped.push_back(tracker.should_stop(2));
      }
      EXPECT_THAT(improved, ElementsAre(true, true, false, false, true));
      EXPECT_THAT(stopped, ElementsAre(false, false, false, true, false));
    });
  }
}

TEST(EarlyStoppingTest, ARankAloneAsksNoOther) {
  run_thread_ranks(2, [](const auto& communicator) {
    MetricTracker tracker(
        MeanMetric({}, MetricOptions().sync_on_compute(false)), true);
    tracker.increment();
    tracker.update(1.0 * communicator->rank());
    if (communicator->rank() == 0) {
      EXPECT_TRUE(tracker.improved());
    }
    EXPECT_EQ(communicator->collectives(), 0);
  });
}

TEST(EarlyStoppingTest, NoRankWaitsForOneThatErred) {
  for (const bool is_known : {false, true}) {
    run_thread_ranks(3, [&](const auto& communicator) {
      const bool errs = communicator->rank() == 1;
      MetricTracker tracker(MeanMetric(), true);
      tracker.increment();
      tracker.update(1.0);
      const auto call = [&] {
        if (!errs) return tracker.improved();
        return is_known ? tracker.improved("", -1) : tracker.improved("median");
      };
      if (errs) {
        EXPECT_THROW(call(), c10::Error);
      } else {
        EXPECT_THAT(refusal_of<sync::SyncError>(call), HasSubstr("rank 1"));
      }
      EXPECT_TRUE(tracker.improved());
    });
  }
}

TEST(EarlyStoppingTest, LabelsAreTheSameOnAllRanks) {
  run_thread_ranks(2, [](const auto& communicator) {
    MetricTracker tracker(MeanMetric(), true);
    tracker.increment(communicator->rank());
    tracker.update(1.0);
    EXPECT_THAT(refusal_of<sync::SyncError>([&] { tracker.compute_all(); }),
                HasSubstr("MetricTracker"));
  });
  MetricTracker first(MeanMetric(), true), second(MeanMetric(), true);
  first.increment("a");
  second.increment("b");
  second.increment("c");
  for (MetricTracker* each : {&first, &second}) each->update(1.0);
  const std::string before = first.serialize();
  EXPECT_THAT(refusal_of<c10::ValueError>([&] { first.merge_state(second); }),
              HasSubstr("expected all steps from 0 on, with the same labels, "
                        "got step 0 (b)"));
  EXPECT_EQ(first.serialize(), before);
  first.reset_all();
  first.merge_state(second);
  EXPECT_THAT(first.labels(), ElementsAre("b", "c"));
}

}  // namespace
}  // namespace tally
