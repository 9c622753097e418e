#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/min_max_metric.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/metric_base.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/metrics/wrappers/metric_tracker.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/row_cases.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using internal::RowBatch;
using internal::RowKeys;
using row_cases::text_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testkit::refusal_of;
using testkit::run_thread_ranks;

RowKeys day_rules(std::size_t most) {
  RowKeys rules;
  rules.owner = "Days";
  rules.name = [](const std::string& key) { return "the day " + key; };
  rules.collected = true;
  rules.check = [most](const std::vector<std::string>& keys,
                       std::size_t others) {
    TORCH_CHECK_VALUE(keys.size() + others <= most, "Days: expected at most ",
                      most, " days");
  };
  return rules;
}

/// The mean and the largest value of each day, which takes any batch.
class Days : public MetricBase {
 public:
  explicit Days(std::size_t most = 100)
      : MetricBase(MetricOptions(), day_rules(most)) {
    accumulation_.add_column({"mean", mean.state_key(), mean.make_state()});
    accumulation_.add_column({"max", max.state_key(), max.make_state()});
  }
  template <class Batch>
  void take(Batch batch) {
    update_by(std::nullopt, [&] { return std::move(batch); });
  }
  std::string spec() const override { return "Days()"; }
  std::string rows() {
    std::string text;
    compute_once(
        [&](internal::StateRows& all) {
          for (std::size_t r = 0; r < all.size(); ++r) {
            text += all.key(r) + " ";
          }
        },
        [] {});
    return text;
  }
  static RowBatch row(const std::string& key, double value) {
    RowBatch batch;
    batch.key = key;
    const at::Tensor values = at::full({1}, value, at::kDouble);
    batch.states = {AnyState::of(MeanMetric().observe(values)),
                    AnyState::of(MaxMetric().observe(values))};
    batch.counts = {1, 1};
    return batch;
  }

  MeanMetric mean;
  MaxMetric max;
};

std::string refused(Days& days, std::vector<RowBatch> batch) {
  const std::string before = days.serialize();
  const std::string text =
      refusal_of<c10::Error>([&] { days.take(std::move(batch)); });
  EXPECT_EQ(days.serialize(), before);
  return text;
}

TEST(RowMistakesTest, BatchesHaveTheStatesOfTheColumns) {
  Days days;
  days.take(std::vector<RowBatch>{Days::row("mon", 1)});
  RowBatch wrong = Days::row("mon", 2);
  std::swap(wrong.states[0], wrong.states[1]);
  EXPECT_THAT(refused(days, {wrong}),
              HasSubstr("expected a batch with the state of 'mean'"));
  RowBatch more = Days::row("tue", 2);
  more.states.push_back(more.states[0]);
  more.counts.push_back(1);
  EXPECT_THAT(refused(days, {more}), HasSubstr("expected 2 states and counts"));
  RowBatch fewer = Days::row("tue", 2);
  fewer.counts = {1};
  EXPECT_THAT(refused(days, {fewer}), HasSubstr("got 2 and 1"));
  EXPECT_THAT(refused(days, {Days::row("tue", 1), Days::row("tue", 2)}),
              HasSubstr("expected each key once in a batch, got the day tue"));
  EXPECT_THAT(refused(days, {Days::row("mon", 1), Days::row("mon", 2)}),
              HasSubstr("expected each key once in a batch, got the day mon"));
  EXPECT_EQ(days.rows(), "mon ");
}

TEST(RowMistakesTest, RowsWithKeysTakeNoBatchesWithout) {
  Days days;
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                days.take(AnyState::of(MeanMetric().observe(at::ones({1}))));
              }),
              HasSubstr("expected a batch with keys, got one without"));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { days.take(Days::row("mon", 1).states); }),
      HasSubstr("expected a batch with keys, got one without"));
  EXPECT_THAT(
      refusal_of<c10::Error>(
          [&] { days.take(MaxMetric().observe(at::ones({1}))); }),
      HasSubstr("expected a batch with the state of 'mean', got another"));
  EXPECT_EQ(days.update_count(), 0);
  days.take(std::vector<RowBatch>{Days::row("mon", 1)});
  EXPECT_THAT(refusal_of<c10::Error>(
                  [&] { days.take(MeanMetric().observe(at::ones({1}))); }),
              HasSubstr("expected a batch with keys, got one without"));
  EXPECT_EQ(days.update_count(), 1);
}

TEST(RowMistakesTest, UpdatesCheckKeys) {
  Days days(2);
  days.take(std::vector<RowBatch>{Days::row("mon", 1), Days::row("tue", 1)});
  EXPECT_THAT(refused(days, {Days::row("mon", 1), Days::row("wed", 1)}),
              HasSubstr("expected at most 2 days"));
  days.take(std::vector<RowBatch>{Days::row("mon", 3)});
  EXPECT_EQ(days.rows(), "mon tue ");
}

TEST(RowMistakesTest, RulesAreComplete) {
  RowKeys rules = day_rules(1);
  rules.check = nullptr;
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                internal::Accumulation(MetricOptions(), std::move(rules));
              }),
              HasSubstr("expected an owner, a name and a check"));
}

TEST(RowMistakesTest, KeysOfOneNameAreShownBoth) {
  SlicedMetric slices{BinaryAUROC()};
  slices.update(SliceKeys(std::vector<SliceValue>{
                    std::int64_t{3}, std::string("3"), std::string("3")}),
                at::tensor({.1, .2, .3}), at::tensor({0, 1, 1}, at::kLong));
  const Results state = slices.state();
  EXPECT_TRUE(state.contains("preds of the slice 3"));
  EXPECT_TRUE(state.contains("preds of the slice 3 (2)"));
}

MetricTracker steps_of(int rank) {
  MetricTracker tracker{MeanMetric(), true};
  for (int step = 0; step < 3; ++step) {
    tracker.increment();
    tracker.update(at::full({1}, rank * 10.0 + step, at::kDouble));
  }
  return tracker;
}

TEST(RowMistakesTest, AValueOfOneRankAloneReplacesNoState) {
  run_thread_ranks(2, [](const std::shared_ptr<sync::Communicator>& self) {
    MetricTracker tracker = steps_of(self->rank());
    {
      const sync::CommunicatorGuard alone(sync::single_process_communicator());
      EXPECT_EQ(tracker.compute_all().value()[2].item<double>(),
                self->rank() * 10.0 + 2);
    }
    tracker.set_metric_options(MetricOptions().sync_on_compute(false));
    EXPECT_EQ(tracker.best_metric().value, self->rank() * 10.0 + 2);
    tracker.set_metric_options(MetricOptions());
    EXPECT_EQ(text_of(tracker.compute_all()), "MeanMetric: 5 6 7 \n");
    EXPECT_EQ(text_of(tracker.compute_all()), "MeanMetric: 5 6 7 \n");
  });
}

TEST(RowMistakesTest, ARankThatIsStillSyncedKeepsNobodyWaiting) {
  for (const bool async : {false, true}) {
    run_thread_ranks(3, [&](const std::shared_ptr<sync::Communicator>& self) {
      MeanMetric mean;
      mean.update(1.0);
      mean.sync();
      if (self->rank() != 1) mean.unsync();
      const std::string text = refusal_of<c10::Error>([&] {
        if (async) {
          mean.sync_async().wait();
        } else {
          mean.sync();
        }
      });
      EXPECT_THAT(text, HasSubstr(async ? "is not possible while synced"
                                        : "sync() was called twice"));
      EXPECT_THAT(text, Not(HasSubstr("waited for")));
    });
  }
}

TEST(RowMistakesTest, MessagesNameTheCallAndNotEachSlice) {
  run_thread_ranks(2, [](const std::shared_ptr<sync::Communicator>& self) {
    std::vector<std::string> keys;
    for (int i = 0; i < 1000; ++i) keys.push_back("slice " + std::to_string(i));
    SlicedMetric slices{MeanMetric()};
    slices.update(SliceKeys(keys), at::ones({1000}));
    const std::string calls = refusal_of<c10::Error>([&] {
      if (self->rank() == 0) {
        slices.compute();
      } else {
        slices.sync();
      }
    });
    EXPECT_THAT(calls,
                AllOf(HasSubstr("the keys of SlicedMetric for compute()"),
                      HasSubstr("the keys of SlicedMetric for sync()")));
    EXPECT_LT(calls.size(), 1000u);
    MeanMetric mean;
    mean.update(1.0);
    const std::string metrics = refusal_of<c10::Error>([&] {
      if (self->rank() == 0) {
        slices.compute();
      } else {
        mean.compute();
      }
    });
    EXPECT_THAT(metrics,
                AllOf(HasSubstr("the keys of SlicedMetric for compute()"),
                      HasSubstr("compute() of MeanMetric")));
    SliceComparison compared{row_cases::accuracy()};
    const std::string owners = refusal_of<c10::Error>([&] {
      if (self->rank() == 0) {
        slices.compute();
      } else {
        compared.compute();
      }
    });
    EXPECT_THAT(owners,
                AllOf(HasSubstr("SlicedMetric"), HasSubstr("SliceComparison")));
  });
}

}  // namespace
}  // namespace tally
