// Of single classes that accumulate rows: old files, and what is their own.

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/confusion_matrix.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/min_max_wrapper.h"
#include "tally/sync/errors.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/row_cases.h"
#include "tally/tests/testing/message_of.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using namespace row_cases;  // NOLINT(build/namespaces)
using ::testing::HasSubstr;
using testkit::message_of;
using testkit::refusal_of;
using testkit::run_thread_ranks;

// Files of the formats that each class had of its own.
std::string old_file(const std::string& name) {
  return "tests/metrics/data/" + name + ".tally";
}

at::Tensor old_scores() {
  return at::arange(12, at::kDouble).mul(7).remainder(5).div(5);
}

TEST(OldFilesTest, IntervalsAndComparisonsAreRefused) {
  // They have blocks instead of units, and no ids of the rows that repeat.
  IntervalMetric interval(
      MeanSquaredError(),
      IntervalOptions().method(IntervalMethod::kJackknife).blocks(4));
  absl::Status status = interval.load(old_file("interval_metric"));
  EXPECT_THAT(message_of(status),
              HasSubstr("holds 'MeanSquaredError' with the state Jackknife, "
                        "expected 'MeanSquaredError' with the state Units"));
  EXPECT_EQ(interval.rows(), 0);
  ModelComparison comparison{BinaryAccuracy()};
  status = comparison.load(old_file("model_comparison"));
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(comparison.rows(), 0);
}

TEST(OldFilesTest, Slices) {
  SlicedMetric sliced;
  sliced.add("accuracy", BinaryAccuracy());
  sliced.add("mse", MeanSquaredError());
  const absl::Status status = sliced.load(old_file("sliced_metric"));
  ASSERT_TRUE(status.ok()) << message_of(status);
  const std::vector<SliceResult> slices = sliced.compute();
  ASSERT_EQ(slices.size(), 4);
  EXPECT_EQ(slices[1].name(), "north, 1");
  EXPECT_EQ(slices[3].name(), "south, 1");
  EXPECT_EQ(slices[3].rows, 4);
  EXPECT_EQ(slices[3].results["accuracy"].item<double>(), 0.75);
  EXPECT_NEAR(slices[3].results["mse"].item<double>(), 0.24, 1e-12);
}

TEST(OldFilesTest, Steps) {
  MetricCollection metrics;
  metrics.add("accuracy", BinaryAccuracy());
  metrics.add("f1", BinaryF1Score());
  MetricTracker tracker(std::move(metrics));
  const absl::Status status = tracker.load(old_file("metric_tracker"));
  ASSERT_TRUE(status.ok()) << message_of(status);
  EXPECT_EQ(tracker.n_steps(), 3);
  EXPECT_EQ(tracker.update_count(), 3);
  const Results all = tracker.compute_all();
  EXPECT_TRUE(all["accuracy"].eq(0.5).all().item<bool>());
  EXPECT_NEAR(all["f1"][0].item<double>(), 0.25, 1e-12);
  EXPECT_NEAR(all["f1"][2].item<double>(), 1.0 / 7, 1e-6);
  tracker.update(old_scores(), at::full({12}, 1, at::kLong));
  EXPECT_EQ(tracker.update_count(), 4);
}

TEST(OldFilesTest, DamagedOnesAreRefused) {
  for (const char* name : {"sliced_metric", "metric_tracker"}) {
    std::ifstream file(old_file(name), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    SlicedMetric sliced;
    sliced.add("accuracy", BinaryAccuracy());
    sliced.add("mse", MeanSquaredError());
    MetricCollection metrics;
    metrics.add("accuracy", BinaryAccuracy());
    metrics.add("f1", BinaryF1Score());
    MetricTracker tracker(std::move(metrics));
    for (std::size_t i = 0; i < bytes.size(); i += 5) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x21);
      const std::string half = bytes.substr(0, i);
      for (const std::string& each : {damaged, half}) {
        EXPECT_FALSE(sliced.deserialize(each).ok()) << name << i;
        EXPECT_FALSE(tracker.deserialize(each).ok()) << name << i;
      }
    }
    EXPECT_EQ(sliced.size() + tracker.n_steps(), 0);
  }
}

// As short as a mark that makes it look like one.
TEST(OldFilesTest, ShortOnesAreRefused) {
  for (const std::string mark : {"TALLYTRK 2", "TALLYST\n"}) {
    for (const std::size_t more : {0, 7, 30}) {
      const std::string bytes =
          std::string(8, '\x0a') + mark + std::string(more, 'x');
      MetricCollection metrics;
      metrics.add("accuracy", accuracy());
      EXPECT_FALSE(metrics.deserialize(bytes).ok());
      EXPECT_FALSE(metrics.deserialize_parts(bytes).ok());
    }
  }
}

TEST(SlicesTest, StatesAreATable) {
  SlicedMetric sliced;
  sliced.add("accuracy", accuracy());
  sliced.add("confusion", MulticlassConfusionMatrix(3));
  for (int i = 0; i < kBatches; ++i) Sliced::update(sliced, Batch(i));
  using Key = std::vector<SliceValue>;
  EXPECT_EQ(sliced.keys(), (std::vector<Key>{{Key{std::string("north")},
                                              Key{std::string("south")},
                                              Key{std::string("west")}}}));
  // One state for both: accuracy is a part of the matrix.
  bool has_matrices = false;
  for (const auto& [name, field] : sliced.state()) {
    if (!field.defined()) continue;
    EXPECT_EQ(field.size(0), 3) << name;
    has_matrices =
        has_matrices || (field.numel() == 27 &&
                         field.sum().item<std::int64_t>() == kBatches * kRows);
  }
  EXPECT_TRUE(has_matrices);
}

TEST(SlicesTest, StatesOfSeveralShapesAreShownOneByOne) {
  SlicedMetric sliced{BinaryAUROC()};
  sliced.update(SliceKeys(std::vector<std::string>{"a", "b", "b"}),
                at::full({3}, 0.5), at::full({3}, 1, at::kLong));
  const Results state = sliced.state();
  const std::string name = state.begin()->first;
  EXPECT_THAT(name, HasSubstr(" of the slice a"));
  EXPECT_EQ(state.begin()->second.size(0), 1);
}

TEST(SlicesTest, OptionsForSyncingAreThoseOfTheFirst) {
  SlicedMetric sliced;
  sliced.add("first", MulticlassAccuracy(3));
  EXPECT_EQ(refusal_of([&] {
              sliced.add("second",
                         MulticlassAccuracy(
                             3, MetricOptions().sync_on_compute(false)));
            }),
            "SlicedMetric: expected the options for syncing and caching of the "
            "first metric, got others for 'second'");
  EXPECT_EQ(refusal_of([&] {
              sliced.set_metric_options(MetricOptions().validate_args(false));
            }),
            "SlicedMetric: expected validate_args, nan_policy and "
            "compute_on_cpu as the metrics have them");
}

TEST(SlicesTest, KeysAreCheckedBeforeStatesAreMerged) {
  const auto of = [](SlicedMetricOptions options) {
    return SlicedMetric(accuracy(), std::move(options));
  };
  SlicedMetric few = of(SlicedMetricOptions().max_slices(1));
  SlicedMetric known = of(SlicedMetricOptions().keys({{std::string("south")}}));
  SlicedMetric numbers = of({});
  numbers.update(SliceKeys(at::full({2}, 1, at::kLong))
                     .crossed_with(SliceKeys(at::full({2}, 2, at::kLong))),
                 at::full({2}, 1, at::kLong), at::full({2}, 1, at::kLong));
  SlicedMetric all = of({});
  Sliced::update(all, Batch(1));
  const std::string before = all.serialize();
  EXPECT_THAT(refusal_of([&] { few.merge_state(all); }),
              HasSubstr("at most 1 slices (max_slices), got 2"));
  EXPECT_THAT(refusal_of([&] { known.merge_state(all); }),
              HasSubstr("expected one of the known keys, got 'north'"));
  EXPECT_THAT(refusal_of([&] { all.merge_state(numbers); }),
              HasSubstr("expected keys of 1 columns, got 2"));
  EXPECT_EQ(all.serialize(), before);
  EXPECT_EQ(few.size() + known.size(), 0);
}

TEST(SlicesTest, AKnownSliceWithoutRowsStaysSo) {
  SlicedMetric known(accuracy(), SlicedMetricOptions().keys(
                                     {{std::string("a")}, {std::string("b")}}));
  const std::string before = known.serialize();
  const at::Tensor two = at::full({2}, 1, at::kLong);
  EXPECT_THROW(known.update(SliceKeys(std::vector<std::string>{"a", "b"}), two,
                            at::arange(1, 5, 3)),
               c10::IndexError);
  EXPECT_EQ(known.serialize(), before);
  known.sync();
  const std::vector<SliceResult> slices = known.compute();
  ASSERT_EQ(slices.size(), 2);
  EXPECT_EQ(slices[0].rows, 0);
  known.unsync();
  EXPECT_EQ(known.serialize(), before);
}

TEST(SlicesTest, OtherArgumentsOfASyncTogetherAreAMismatchOnEveryRank) {
  run_thread_ranks(2, [](const auto& self) {
    SlicedMetric first(accuracy()), second(accuracy());
    Sliced::update(first, Batch(self->rank()));
    Sliced::update(second, Batch(self->rank()));
    const auto code = [&] {
      try {
        if (self->rank() == 0) {
          sync_together(first, second);
        } else {
          sync_together(first);
        }
      } catch (const sync::SyncError& error) {
        return error.code();
      }
      return sync::SyncErrorCode::kInvalidUse;
    };
    EXPECT_EQ(code(), sync::SyncErrorCode::kMismatch);
    EXPECT_FALSE(first.is_synced());
    sync_together(first, second);
    EXPECT_EQ(text_of(first.compute()), text_of(second.compute()));
  });
}

TEST(StepsTest, WhatIsComputedOfASyncedStepIsKept) {
  MetricTracker tracker(MinMaxMetric{accuracy()});
  tracker.increment();
  Tracked::update(tracker, Batch(0));
  tracker.sync();
  const double value = tracker.compute()["MinMaxMetric.raw"].item<double>();
  tracker.unsync();
  Tracked::update(tracker, Batch(1));
  EXPECT_GE(tracker.compute()["MinMaxMetric.max"].item<double>(), value);
}

TEST(StepsTest, ValuesThatRanksDoNotShareAreNotSaved) {
  const std::string path = ::testing::TempDir() + "/steps";
  std::vector<std::string> alone;
  for (const int batch : {0, 1}) {
    MetricTracker tracker = Tracked::make(accuracy());
    Tracked::update(tracker, Batch(batch));
    tracker.increment();
    tracker.compute_all();
    alone.push_back(tracker.serialize());
  }
  run_thread_ranks(2, [&](const auto& self) {
    MetricTracker tracker = Tracked::make(accuracy());
    ASSERT_TRUE(tracker.deserialize(alone[self->rank()]).ok());
    const absl::Status status = tracker.save(path, CheckpointRanks::kOneFile);
    EXPECT_EQ(message_of(status), "ranks have different values of step 0");
  });
}

TEST(StepsTest, ValuesKeepWhatTheirDimensionsAre) {
  MetricTracker tracker(
      MulticlassAccuracy(MulticlassAccuracyOptions(3).average(Average::kNone)));
  for (int step = 0; step < 3; ++step) {
    tracker.increment();
    Tracked::update(tracker, Batch(step));
    EXPECT_EQ(tracker.compute_all().dimensions("MulticlassAccuracy"),
              (Dimensions{Dimension::kStep, Dimension::kClass}));
  }
}

TEST(StepsTest, OnlyAValueIsNotMerged) {
  MetricTracker finished = Tracked::make(accuracy());
  Tracked::update(finished, Batch(0));
  finished.increment();
  finished.compute_all();
  MetricTracker tracker = Tracked::make(accuracy());
  EXPECT_EQ(refusal_of([&] { tracker.merge_state(finished); }),
            "MetricTracker: merge_state expected states, of step 0 only the "
            "value is left");
  EXPECT_EQ(refusal_of([&] { finished.merge_state(tracker); }),
            "MetricTracker: merge_state expected states, of step 0 only the "
            "value is left");
  EXPECT_EQ(finished.n_steps(), 2);
  EXPECT_EQ(tracker.n_steps(), 1);
}

TEST(RowNumbersTest, AreNotMerged) {
  const auto numbered = [] {
    IntervalMetric interval = OfInterval::make(accuracy());
    const Batch batch(0);
    interval.update(batch.preds, batch.target);
    return interval;
  };
  IntervalMetric interval = OfInterval::make(accuracy());
  EXPECT_THAT(refusal_of([&] { interval.merge_state(numbered()); }),
              HasSubstr("IntervalMetric: expected ids"));
  IntervalMetric own = numbered();
  EXPECT_THAT(refusal_of([&] { own.merge_state(interval); }),
              HasSubstr("IntervalMetric: expected ids"));
}

// Numbers of rows on ranks that do not sync are each rank's own.
TEST(RowNumbersTest, AreRefusedWhereStatesAreMerged) {
  run_thread_ranks(2, [](const auto&) {
    IntervalMetric interval = OfInterval::make(MulticlassAccuracy(
        MulticlassAccuracyOptions(3).average(Average::kMicro),
        MetricOptions().sync_on_compute(false)));
    const Batch batch(0);
    interval.update(batch.preds, batch.target);
    interval.compute();
    auto pending = interval.sync_async();
    EXPECT_THAT(refusal_of([&] { pending.wait(); }),
                HasSubstr("expected ids, which a row's number cannot replace "
                          "where states were merged"));
  });
}

TEST(MinMaxMetricTest, WhatIsComputedStaysWithIt) {
  MinMaxMetric metric(accuracy());
  const auto update = [](auto& each, int batch) {
    each.update(Batch(batch).preds, Batch(batch).target);
  };
  update(metric, 0);
  const double first = metric.compute()["raw"].item<double>();
  metric.reset();
  update(metric, 1);
  const Results second = metric.compute();
  EXPECT_EQ(second["min"].item<double>(),
            std::min(first, second["raw"].item<double>()));
  // With the options that a metric inside another one is given later, too.
  metric.reset();
  metric.set_metric_options(MetricOptions().validate_args(false));
  MinMaxMetric loaded(accuracy());
  loaded.set_metric_options(MetricOptions().validate_args(false));
  ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
  loaded.merge_state(*metric.clone());
  update(loaded, 1);
  EXPECT_EQ(text_of(loaded.compute()), text_of(second));
}

TEST(SampleIdsTest, ATextThatIsAnIntegerIsThatId) {
  const SampleIds texts(
      std::vector<std::string>{"12", "-7", "012", "1.0", "+1", "a", ""});
  const auto& ids = texts.values();
  EXPECT_EQ(ids[0], 12);
  EXPECT_EQ(ids[1], -7);
  for (std::size_t i = 2; i < ids.size(); ++i) {
    EXPECT_GT(std::abs(static_cast<double>(ids[i])), 1000) << i;
  }
}

}  // namespace
}  // namespace tally
