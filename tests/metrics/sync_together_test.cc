#include "tally/metrics/sync_together.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/collection.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/three_metrics.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::batch;
using testkit::collect_thread_ranks;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using testkit::SampleCat;
using testkit::SampleTensorSum;
using testkit::three_metrics;

at::Tensor number(double value) { return at::full({}, value, at::kDouble); }

double value_of(const at::Tensor& tensor) { return tensor.item<double>(); }

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Each rank has another number of rows, the last one none.
THREAD_RANKS_TEST(SyncTogetherTest, GivesWhatSyncsOneByOneDoInOneCollective, 1,
                  2, 3, 5) {
  const int rank = self.rank();
  const bool idle = rank + 1 == self.size() && rank > 0;
  MetricCollection metrics = three_metrics();
  SampleTensorSum sum;
  SampleCat rows;
  at::Tensor loss = number(idle ? kNan : rank + 1);
  const double count = idle ? 0 : rank + 2;
  if (!idle) {
    testkit::update(metrics, batch(rank + 2, 7));
    sum.update(number(rank));
    rows.update(at::full({rank + 1}, 1.0 * rank, at::kDouble));
  }
  MetricCollection other_metrics = metrics.clone();
  const auto other_sum = sum.clone();
  const auto other_rows = rows.clone();
  other_metrics.sync();
  other_sum->sync();
  other_rows->sync();
  double mean = 0, samples = 0;
  for (int r = 0; r < self.size(); ++r) {
    if (r > 0 && r + 1 == self.size()) continue;
    mean += (r + 2) * (r + 1);
    samples += r + 2;
  }

  const std::int64_t before = self.group()->collectives();
  sync_together(metrics, SampleMean(loss, count), sum, rows);
  EXPECT_EQ(self.group()->collectives() - before, self.size() > 1 ? 1 : 0);
  EXPECT_EQ(value_of(loss), mean / samples);
  EXPECT_EQ(sum.update_count(), other_sum->update_count());
  EXPECT_EQ(metrics.update_count(), other_metrics.update_count());
  const Results expected = other_metrics.compute();
  const Results results = metrics.compute();
  for (const auto& [name, value] : expected) {
    EXPECT_TRUE(results[name].equal(value)) << name;
  }
  EXPECT_TRUE(sum.compute().equal(other_sum->compute_results().value()));
  EXPECT_TRUE(rows.compute().equal(other_rows->compute_results().value()));
  metrics.unsync();
  sum.unsync();
  rows.unsync();
  EXPECT_EQ(sum.update_count(), idle ? 0 : 1);
}

THREAD_RANKS_TEST(SyncTogetherTest, APlainTensorIsAveragedOverTheRanks, 1, 2, 3,
                  5) {
  const double last = self.size() - 1;
  at::Tensor loss = number(self.rank()).requires_grad_();
  at::Tensor halves = at::full({2, 3}, 1.0 + self.rank(), at::kHalf);
  sync_together(loss, halves);
  EXPECT_EQ(value_of(loss), last / 2);
  EXPECT_FALSE(loss.requires_grad());
  EXPECT_EQ(halves.scalar_type(), at::kHalf);
  EXPECT_TRUE(halves.equal(at::full({2, 3}, 1 + last / 2, at::kHalf)));
}

THREAD_RANKS_TEST(SyncTogetherTest, MeansOverNothingAreNan, 1, 2, 3, 5) {
  at::Tensor loss = number(3);
  sync_together(SampleMean(loss, 0));
  EXPECT_TRUE(std::isnan(value_of(loss)));
}

THREAD_RANKS_TEST(SyncTogetherTest, AScopeSyncsSeveral, 1, 2, 3, 5) {
  SampleTensorSum a, b;
  a.update(number(1));
  const std::int64_t before = self.group()->collectives();
  {
    const SyncScope scope(a, b);
    EXPECT_TRUE(a.is_synced() && b.is_synced());
    EXPECT_EQ(value_of(a.compute()), self.size());
  }
  EXPECT_FALSE(a.is_synced() || b.is_synced());
  EXPECT_LE(self.group()->collectives() - before, 1);
}

// Large ones take the ways of every sync.
THREAD_RANKS_TEST(SyncTogetherTest, LargeTensorsAndRowsFit, 1, 2, 3, 5) {
  SampleCat rows;
  rows.update(at::full({1000 * self.rank(), 40}, 1.0, at::kDouble));
  at::Tensor large = at::full({300'000}, self.rank(), at::kFloat);
  sync_together(rows, large);
  const double ranks = self.size();
  EXPECT_TRUE(large.equal(at::full({300'000}, (ranks - 1) / 2, at::kFloat)));
  EXPECT_EQ(rows.compute().size(0), 1000 * ranks * (ranks - 1) / 2);
}

THREAD_RANKS_TEST(SyncTogetherErrorsTest, SyncingTwiceIsRefusedOnAllRanks, 3) {
  SampleTensorSum metric, second;
  metric.update(number(1));
  second.update(number(1));
  if (self.rank() == 1) {
    const sync::CommunicatorGuard alone(sync::single_process_communicator());
    metric.sync();
  }
  const std::string refusal =
      refusal_of<c10::Error>([&] { sync_together(second, metric); });
  EXPECT_THAT(refusal, HasSubstr("SampleTensorSum: sync() was called twice"));
  EXPECT_EQ(metric.is_synced(), self.rank() == 1);
  EXPECT_FALSE(second.is_synced());
  EXPECT_EQ(value_of(second.compute()), 3);
}

TEST(SyncTogetherErrorsTest, WhatCannotBeSyncedIsRefused) {
  const auto check = [](const char* text, const auto& call) {
    run_thread_ranks(2, [&](const auto& communicator) {
      SampleTensorSum metric;
      metric.update(number(1));
      at::Tensor loss = number(2);
      const bool odd = communicator->rank() == 1;
      try {
        odd ? call(metric, loss) : sync_together(metric, loss);
        ADD_FAILURE() << text;
      } catch (const SyncError& error) {
        EXPECT_FALSE(odd) << error.message();
        EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
        EXPECT_THAT(error.message(), HasSubstr(text));
      } catch (const c10::ValueError& error) {
        EXPECT_TRUE(odd);
        EXPECT_THAT(error.what_without_backtrace(), HasSubstr(text));
      }
      EXPECT_FALSE(metric.is_synced());
      EXPECT_EQ(value_of(loss), 2);
      EXPECT_EQ(value_of(metric.compute()), 2);
    });
  };
  check("expected each metric once, got SampleTensorSum twice",
        [](auto& metric, auto&) { sync_together(metric, metric); });
  check("tensor 1 is undefined", [](auto& metric, auto& loss) {
    at::Tensor undefined;
    sync_together(metric, loss, undefined);
  });
  check("expected a floating-point dtype, got Long of tensor 0",
        [](auto& metric, auto&) {
          at::Tensor counts = at::full({}, 1, at::kLong);
          sync_together(counts, metric);
        });
  for (const double count :
       {-1.0, kNan, std::numeric_limits<double>::infinity()}) {
    check("expected a count that is finite and not negative",
          [=](auto& metric, auto& loss) {
            sync_together(metric, SampleMean(loss, count));
          });
  }
  check("expected metrics of one communicator", [](auto& metric, auto&) {
    SampleTensorSum alone(
        NoOptions(),
        MetricOptions().communicator(sync::single_process_communicator()));
    sync_together(metric, alone);
  });
}

TEST(SyncTogetherErrorsTest, OtherThingsOnSomeRankAreAMismatch) {
  const auto check = [](const char* text, const auto& call) {
    run_thread_ranks(3, [&](const auto& communicator) {
      SampleTensorSum metric, second;
      metric.update(number(1));
      at::Tensor loss = number(2);
      try {
        call(communicator->rank() == 2, metric, second, loss);
        ADD_FAILURE() << text;
      } catch (const SyncError& error) {
        EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
        EXPECT_THAT(error.message(), HasSubstr(text));
      }
      EXPECT_FALSE(metric.is_synced());
      EXPECT_EQ(value_of(loss), 2);
      EXPECT_EQ(value_of(metric.compute()), 3);
    });
  };
  check("rank 2: sync() of SampleTensorSum after 1 update",
        [](bool odd, auto& metric, auto&, auto& loss) {
          odd ? metric.sync() : sync_together(metric, loss);
        });
  check("rank 0: sync_together() of SampleTensorSum, tensor 0",
        [](bool odd, auto& metric, auto&, auto& loss) {
          odd ? void(metric.compute()) : sync_together(metric, loss);
        });
  check("rank 2: nothing", [](bool odd, auto& metric, auto& second, auto&) {
    odd ? sync_together(metric) : sync_together(metric, second);
  });
  check("rank 2: tensor 0 = mean of Double [3]",
        [](bool odd, auto& metric, auto&, auto& loss) {
          at::Tensor rows = at::full({3}, 1.0, at::kDouble);
          odd ? sync_together(metric, rows) : sync_together(metric, loss);
        });
}

TEST(SyncTogetherErrorsTest, ARankThatFailsLeavesAllAsTheyWere) {
  const auto errors = collect_thread_ranks(3, [](const auto& communicator) {
    if (communicator->rank() == 2) return;
    SampleTensorSum metric;
    metric.update(number(1));
    at::Tensor loss = number(2);
    EXPECT_THAT(
        refusal_of<SyncError>([&] { sync_together(metric, loss); }),
        HasSubstr("this rank was in sync_together() of SampleTensorSum, "
                  "tensor 0 after 1 update; to evaluate on one rank"));
    EXPECT_FALSE(metric.is_synced());
    EXPECT_EQ(value_of(loss), 2);
  });
  for (const auto& error : errors) EXPECT_EQ(error, nullptr);
}

}  // namespace
}  // namespace tally
