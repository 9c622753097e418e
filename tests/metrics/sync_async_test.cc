#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "tally/metrics/collection.h"
#include "tally/metrics/compositional.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using sync::Communicator;
using tally::testkit::run_thread_ranks;
using tally::testkit::SampleMeanSquaredError;
using tally::testkit::ThreadRanksOptions;
using tally::testkit::ThreadTransport;
using ::testing::HasSubstr;

// A sum of whatever size, to be sent in one round, in two, or reduced.
struct SumOf {
  struct State {
    at::Tensor sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& value) const {
    return {value.to(at::kDouble)};
  }
};
struct Sum final : MetricOf<Sum, SumOf, at::Tensor> {
  static constexpr const char* kName = "Sum";
  at::Tensor evaluate(const State& s) const { return s.sum; }
};

at::Tensor filled(std::int64_t size, double value) {
  return at::full({size}, value, at::kDouble);
}

class SyncAsyncTest : public ::testing::TestWithParam<ThreadTransport> {
 protected:
  static ThreadRanksOptions options() {
    ThreadRanksOptions options;
    options.transport = GetParam();
    return options;
  }
};

TEST_P(SyncAsyncTest, GivesTheValueOfWhenItStarted) {
  for (const int ranks : {1, 2, 3}) {
    for (const std::int64_t size : {10, 10'000, 200'000}) {
      run_thread_ranks(
          ranks,
          [&](std::shared_ptr<Communicator> group) {
            Sum metric;
            metric.update(filled(size, group->rank() + 1.0));
            PendingValue<at::Tensor> pending = metric.sync_async();
            EXPECT_TRUE(pending.pending());
            metric.update(filled(size, 100.0));
            const double before = ranks * (ranks + 1) / 2.0;
            EXPECT_TRUE(pending.wait().equal(filled(size, before)));
            EXPECT_FALSE(pending.pending());
            EXPECT_TRUE(
                metric.compute().equal(filled(size, before + 100.0 * ranks)));
            EXPECT_EQ(metric.update_count(), 2);
          },
          options());
    }
  }
}

TEST_P(SyncAsyncTest, LetsOtherCollectivesPass) {
  run_thread_ranks(
      3,
      [&](std::shared_ptr<Communicator> group) {
        Sum small, large;
        small.update(filled(10, 1.0));
        large.update(filled(10'000, 2.0));
        auto first = small.sync_async();
        auto second = large.sync_async();
        at::Tensor gradient = at::ones({5});
        group->all_reduce(gradient, sync::ReduceOp::kSum);
        EXPECT_TRUE(gradient.equal(at::full({5}, 3.0, at::kFloat)));
        EXPECT_TRUE(small.compute().equal(filled(10, 3.0)));
        // Waited for in another order on another rank.
        if (group->rank() == 1) {
          EXPECT_TRUE(second.wait().equal(filled(10'000, 6.0)));
          EXPECT_TRUE(first.wait().equal(filled(10, 3.0)));
        } else {
          EXPECT_TRUE(first.wait().equal(filled(10, 3.0)));
          EXPECT_TRUE(second.wait().equal(filled(10'000, 6.0)));
        }
      },
      options());
}

TEST_P(SyncAsyncTest, SyncsACollectionInOneCollective) {
  run_thread_ranks(
      2,
      [&](std::shared_ptr<Communicator> group) {
        MetricCollection metrics;
        metrics.add("mse", SampleMeanSquaredError());
        metrics.add("twice", 2 * SampleMeanSquaredError());
        metrics.update(filled(4, group->rank()), filled(4, 3.0));
        const Results expected = metrics.compute();
        const auto before = group->collectives();
        auto pending = metrics.sync_async();
        const Results values = pending.wait();
        EXPECT_EQ(group->collectives() - before, 1);
        EXPECT_TRUE(values["mse"].equal(expected["mse"]));
        EXPECT_TRUE(values["twice"].equal(expected["twice"]));
      },
      options());
}

TEST_P(SyncAsyncTest, TakesPartToTheEndWhenDropped) {
  run_thread_ranks(
      2,
      [&](std::shared_ptr<Communicator> group) {
        Sum metric;
        metric.update(filled(10'000, 1.0));
        {
          auto pending = metric.sync_async();
          if (group->rank() == 0) {
            EXPECT_TRUE(pending.wait().equal(filled(10'000, 2.0)));
          }
        }
        EXPECT_TRUE(metric.compute().equal(filled(10'000, 2.0)));
      },
      options());
}

// While this one is in a collective: it waits for its turn.
TEST_P(SyncAsyncTest, MayBeDroppedByAnotherThread) {
  for (const std::int64_t size : {10, 10'000}) {
    run_thread_ranks(
        2,
        [&](const std::shared_ptr<Communicator>& ranks) {
          std::promise<void> inside, dropping;
          bool armed = false;
          const auto group =
              std::make_shared<tally::testkit::FaultyCommunicator>(
                  ranks, [&](std::int64_t) {
                    if (!std::exchange(armed, false)) return;
                    inside.set_value();
                    dropping.get_future().wait();
                  });
          const MetricOptions on_group = MetricOptions().communicator(group);
          Sum first, second;
          first.set_metric_options(on_group);
          second.set_metric_options(on_group);
          first.update(filled(size, 1.0));
          second.update(filled(3, 1.0));
          auto pending =
              std::make_unique<PendingValue<at::Tensor>>(first.sync_async());
          // Its second round, if there is one, begins here.
          EXPECT_TRUE(second.compute().equal(filled(3, 2.0)));
          armed = true;
          std::thread other([&] {
            inside.get_future().wait();
            dropping.set_value();
            pending.reset();
          });
          second.update(filled(3, 1.0));
          EXPECT_TRUE(second.compute().equal(filled(3, 4.0)));
          other.join();
          EXPECT_TRUE(first.compute().equal(filled(size, 2.0)));
        },
        options());
  }
}

// The call that goes wrong in the background is the one that errors name.
TEST_P(SyncAsyncTest, DroppedInTheBackgroundItLeavesItsReason) {
  tally::testkit::collect_thread_ranks(
      2,
      [](const std::shared_ptr<Communicator>& group) {
        Sum first, second;
        first.update(filled(3, 1.0));
        second.update(filled(3, 1.0));
        EXPECT_TRUE(first.compute().equal(filled(3, 2.0)));
        if (group->rank() == 1) return;
        {
          const sync::AskedBy asked("the first");
          first.sync_async();
        }
        for (int i = 0; i < 2; ++i) {
          try {
            second.compute();
            ADD_FAILURE() << "computed without a rank";
          } catch (const sync::SyncError& error) {
            EXPECT_EQ(error.code(), sync::SyncErrorCode::kGroupBroken);
            EXPECT_THAT(error.message(), HasSubstr("a call of the first: "));
            EXPECT_THAT(error.message(), HasSubstr(group->broken_reason()));
          }
        }
      },
      options());
}

TEST_P(SyncAsyncTest, RefusesMisuse) {
  run_thread_ranks(
      2,
      [&](std::shared_ptr<Communicator>) {
        Sum metric;
        metric.update(filled(2, 1.0));
        auto pending = metric.sync_async();
        pending.wait();
        EXPECT_THROW(pending.wait(), c10::Error);
        metric.sync();
        EXPECT_THROW(metric.sync_async(), c10::Error);
        metric.unsync();
        EXPECT_TRUE(metric.compute().equal(filled(2, 2.0)));
      },
      options());
}

TEST_P(SyncAsyncTest, SaysInWaitThatTheRanksDiffer) {
  run_thread_ranks(
      2,
      [&](std::shared_ptr<Communicator> group) {
        Sum metric;
        metric.update(filled(group->rank() + 2, 1.0));
        auto pending = metric.sync_async();
        try {
          pending.wait();
          ADD_FAILURE() << "merged sums of different sizes";
        } catch (const sync::SyncError& error) {
          EXPECT_EQ(error.code(), sync::SyncErrorCode::kMismatch);
          EXPECT_EQ(error.details().metric, "Sum");
        }
        metric.reset();
        metric.update(filled(2, 1.0));
        EXPECT_TRUE(metric.compute().equal(filled(2, 2.0)));
      },
      options());
}

INSTANTIATE_TEST_SUITE_P(Transports, SyncAsyncTest,
                         ::testing::Values(ThreadTransport::kMemory,
                                           ThreadTransport::kGloo),
                         tally::testkit::TransportName());

// Rank 1 does not start before rank 0 has started and computed something: a
// sync that waited for its peer would never get there.
TEST(SyncAsyncOverlapTest, ReturnsBeforeTheOthersArrive) {
  std::promise<void> computed;
  std::shared_future<void> rank_0_computed = computed.get_future().share();
  ThreadRanksOptions options;
  options.transport = ThreadTransport::kGloo;
  run_thread_ranks(
      2,
      [&](std::shared_ptr<Communicator> group) {
        Sum metric;
        metric.update(filled(10'000, 1.0));
        if (group->rank() == 1) rank_0_computed.wait();
        auto pending = metric.sync_async();
        metric.update(filled(10'000, 1.0));
        if (group->rank() == 0) computed.set_value();
        EXPECT_TRUE(pending.wait().equal(filled(10'000, 2.0)));
      },
      options);
}

// Rank 0 computes until rank 1 has its value, in one round of the exchange or,
// started by a collective of the steps in between, in two: what rank 0 has to
// do for that happens beside its computing.
TEST(SyncAsyncOverlapTest, MovesStatesWhileARankComputes) {
  for (const std::int64_t size : {10, 1'000'000}) {
    std::promise<void> done;
    std::shared_future<void> rank_1_is_done = done.get_future().share();
    ThreadRanksOptions options;
    options.transport = ThreadTransport::kGloo;
    run_thread_ranks(
        2,
        [&](std::shared_ptr<Communicator> group) {
          Sum metric;
          metric.update(filled(size, 1.0));
          auto pending = metric.sync_async();
          at::Tensor gradient = at::ones({5});
          group->all_reduce(gradient, sync::ReduceOp::kSum);
          if (group->rank() == 0) {
            ASSERT_EQ(rank_1_is_done.wait_for(std::chrono::seconds(20)),
                      std::future_status::ready);
          }
          EXPECT_TRUE(pending.wait().equal(filled(size, 2.0)));
          if (group->rank() == 1) done.set_value();
        },
        options);
  }
}

}  // namespace
}  // namespace tally
