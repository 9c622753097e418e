#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/state/codec.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/wrappers/helpers.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::kNaN;
using testkit::number;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using testkit::same_bits;
using testkit::SampleMeanSquaredError;

at::Tensor of(double value) { return at::tensor({value}); }

TEST(MetricTrackerTest, KeepsEveryStep) {
  MetricTracker tracker(MeanSquaredError{});
  for (const double error : {3.0, 1.0, 2.0}) {
    tracker.increment();
    tracker.update(of(error), of(0));
    EXPECT_EQ(number(tracker.forward(of(error), of(0))), error * error);
    EXPECT_EQ(number(tracker.compute()["MeanSquaredError"]), error * error);
  }
  EXPECT_EQ(tracker.n_steps(), 3);
  EXPECT_TRUE(
      same_bits(tracker.compute_all().value(), at::tensor({9.0, 1.0, 4.0})));
  const auto best = tracker.best_metric();
  EXPECT_EQ(best.value, 1);
  EXPECT_EQ(best.step, 1);
  tracker.reset();
  EXPECT_TRUE(std::isnan(number(tracker.compute())));
  EXPECT_EQ(tracker.best_metric().step, 1);
  EXPECT_THAT(tracker.repr(), HasSubstr("MetricTracker(MetricCollection("));
  EXPECT_THAT(tracker.repr(), HasSubstr("steps=3)"));
  tracker.reset_all();
  EXPECT_EQ(tracker.n_steps(), 0);
}

MetricTracker three_steps() {
  MetricCollection metrics;
  metrics.prefix("val/");
  metrics.add("mean", MeanMetric());
  metrics.add("sum", SumMetric());
  metrics.add("range", MinMaxMetric(MeanMetric()));
  MetricTracker tracker(std::move(metrics), {{"mean", false}, {"range", true}});
  for (const double value : {2.0, kNaN, 7.0, 7.0, 2.0}) {
    tracker.increment();
    if (!std::isnan(value)) tracker.update(at::tensor({value, value + 1}));
  }
  return tracker;
}

TEST(MetricTrackerTest, FindsTheBestStepOfEachResult) {
  MetricTracker tracker = three_steps();
  EXPECT_EQ(tracker.best_metric("val/mean").step, 0);
  EXPECT_EQ(tracker.best_metric("val/mean").value, 2.5);
  EXPECT_EQ(tracker.best_metric("val/range.raw").step, 2);
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.best_metric("val/sum"); }),
              HasSubstr("MetricTracker: expected maximize to be given for "
                        "SumMetric("));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.best_metric("mean"); }),
              HasSubstr("unknown result 'mean'; there are: val/mean"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.best_metric(); }),
              HasSubstr("expected the name of a result, got none; there "
                        "are 5: "));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.compute_all(); }),
              HasSubstr("nothing"));

  MetricTracker largest(MeanMetric(), true);
  for (const double value : {kNaN, 3.0, 3.0}) {
    largest.increment();
    largest.update(value);
  }
  EXPECT_EQ(largest.best_metric().step, 1);
  MetricTracker none(MeanMetric(), true);
  none.increment();
  EXPECT_TRUE(std::isnan(none.best_metric().value));
}

TEST(MetricTrackerTest, RefusesCallsBeforeTheFirstStep) {
  MetricTracker tracker(MeanMetric(), true);
  const auto refused = [](const char* verb) {
    return HasSubstr(
        std::string("MetricTracker: expected increment() before ") + verb +
        "()");
  };
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.update(1); }),
              refused("update"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.forward(1); }),
              refused("forward"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.compute(); }),
              refused("compute"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.reset(); }),
              refused("reset"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.compute_all(); }),
              refused("compute_all"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { tracker.best_metric(); }),
              refused("compute_all"));
}

TEST(MetricTrackerTest, RefusesWhatItCannotTrack) {
  MetricCollection used;
  used.add("mean", MeanMetric());
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                MetricTracker tracker(used.clone(), {{"median", true}});
              }),
              HasSubstr("expected maximize for members of the collection, got "
                        "'median'"));
  used.update(1);
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { MetricTracker tracker(std::move(used)); }),
      HasSubstr("expected a collection that has accumulated nothing, "
                "got one whose update_count is 1"));
  MetricTracker rows{CatMetric()};
  rows.increment();
  rows.update(1);
  EXPECT_THAT(refusal_of<c10::Error>([&] { rows.best_metric(); }),
              HasSubstr("expected 'CatMetric' to be one number of each step, "
                        "got sizes [1]"));
  rows.increment();
  rows.update(at::ones({3}));
  EXPECT_THAT(refusal_of<c10::Error>([&] { rows.compute_all(); }),
              HasSubstr("MetricTracker: expected results of the same sizes of "
                        "every step, got [1] and [3]"));
}

TEST(MetricTrackerTest, SyncsAllStepsAtOnce) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      const int rank = communicator->rank();
      MetricTracker tracker(SampleMeanSquaredError{});
      for (int step = 0; step < 3; ++step) {
        tracker.increment();
        // Rank 0 is idle in the last step, if there are others.
        if (ranks > 1 && rank == 0 && step == 2) continue;
        tracker.update(of(rank + step), of(0));
      }
      const at::Tensor all = tracker.compute_all().value();
      EXPECT_EQ(communicator->collectives(), ranks > 1 ? 1 : 0);
      for (int step = 0; step < 3; ++step) {
        const int first = ranks > 1 && step == 2 ? 1 : 0;
        double sum = 0;
        for (int r = first; r < ranks; ++r) sum += (r + step) * (r + step);
        EXPECT_DOUBLE_EQ(number(all[step]), sum / (ranks - first));
      }
      EXPECT_EQ(tracker.best_metric().step, 0);
      EXPECT_TRUE(same_bits(tracker.compute().value(), all[2]));
    });
  }
  run_thread_ranks(2, [](const auto& communicator) {
    MetricTracker tracker(
        MeanMetric({}, MetricOptions().sync_on_compute(false)), true);
    tracker.increment();
    tracker.update(1.0 * communicator->rank());
    EXPECT_EQ(tracker.best_metric().value, communicator->rank());
    EXPECT_EQ(communicator->collectives(), 0);
  });
}

TEST(MetricTrackerTest, KeepsValuesInPlaceOfStates) {
  for (const int ranks : {1, 3}) {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      MetricTracker tracker(CatMetric(), true);
      std::string one_step;
      for (int step = 0; step < 4; ++step) {
        tracker.increment();
        tracker.update(at::ones({1000}).mul(step));
        const std::int64_t before = communicator->collectives();
        const at::Tensor all = tracker.compute_all().value();
        EXPECT_LE(communicator->collectives() - before, ranks > 1 ? 2 : 0);
        ASSERT_EQ(all.sizes(), at::IntArrayRef({step + 1, 1000 * ranks}));
        for (int s = 0; s <= step; ++s) {
          EXPECT_TRUE(same_bits(all[s], at::ones({1000 * ranks}).mul(s)));
        }
        // The caller's tensor is his own.
        all.fill_(-1);
      }
      MetricTracker loaded(CatMetric(), true);
      ASSERT_TRUE(loaded.deserialize(tracker.serialize()).ok());
      EXPECT_TRUE(
          same_bits(loaded.compute_all(), tracker.clone().compute_all()));
    });
  }
  MetricTracker tracker(MeanMetric(), true);
  for (int step = 0; step < 3; ++step) {
    tracker.increment();
    tracker.update(at::ones({100}).mul(step));
  }
  EXPECT_EQ(tracker.best_metric().step, 2);
  std::string bytes = tracker.serialize();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 1;
    EXPECT_FALSE(MetricTracker(MeanMetric(), true).deserialize(bytes).ok())
        << i;
    bytes[i] ^= 1;
  }
  EXPECT_TRUE(MetricTracker(MeanMetric(), true).deserialize(bytes).ok());
}

// As they were written at first.
TEST(MetricTrackerTest, LoadsCheckpointsWithoutValues) {
  MetricTracker tracker(MeanMetric(), true);
  tracker.increment();
  tracker.update(3);
  MetricCollection step;
  step.add("MeanMetric", MeanMetric());
  step.update(3);
  std::string bytes;
  Encoder encoder(bytes);
  encoder.text("TALLYTRK 1");
  encoder.integer(1);
  encoder.text(step.serialize());
  MetricTracker loaded(MeanMetric(), true);
  ASSERT_TRUE(loaded.deserialize(bytes).ok());
  EXPECT_EQ(loaded.serialize(), tracker.serialize());
}

TEST(MetricTrackerTest, IsSavedAndCopied) {
  MetricTracker tracker = three_steps();
  const std::string bytes = tracker.serialize();
  MetricTracker loaded = three_steps();
  loaded.reset_all();
  ASSERT_TRUE(loaded.deserialize(bytes).ok());
  EXPECT_EQ(loaded.serialize(), bytes);
  EXPECT_TRUE(same_bits(loaded.compute_all(), tracker.clone().compute_all()));
  EXPECT_NE(loaded.serialize(), bytes);
  ASSERT_TRUE(loaded.deserialize(bytes).ok());
  MetricTracker copy = tracker.clone();
  copy.increment();
  copy.update(1);
  EXPECT_EQ(copy.n_steps(), 6);
  EXPECT_EQ(tracker.serialize(), bytes);

  for (std::size_t cut = 0; cut < bytes.size(); cut += 7) {
    EXPECT_FALSE(loaded.deserialize(bytes.substr(0, cut)).ok()) << cut;
  }
  EXPECT_EQ(loaded.deserialize(bytes + "x").code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(loaded.deserialize(MeanMetric().serialize()).code(),
            absl::StatusCode::kFailedPrecondition);
  MetricTracker other(MeanMetric(), true);
  EXPECT_EQ(other.deserialize(bytes).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(other.n_steps(), 0);
  EXPECT_EQ(loaded.serialize(), bytes);

  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path =
      std::string(folder ? folder : "/tmp") + "/tracker.tally";
  ASSERT_TRUE(tracker.save(path).ok());
  loaded.reset_all();
  ASSERT_TRUE(loaded.load(path).ok());
  EXPECT_EQ(loaded.serialize(), bytes);
  EXPECT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(loaded.load(path).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tally
