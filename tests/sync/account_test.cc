#include "tally/sync/account.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/collection.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/collectives.h"
#include "tally/sync/exchange/exchange.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::run_thread_ranks;

// "operation for asker" -> calls
std::map<std::string, std::int64_t> calls_of(const Communicator& ranks) {
  std::map<std::string, std::int64_t> calls;
  for (const auto& entry : ranks.account().entries()) {
    calls[entry.operation + " for " + entry.asker] = entry.calls;
  }
  return calls;
}

THREAD_RANKS_TEST(CommunicationAccountTest, TellsWhoAskedForWhat, 2) {
  MetricCollection metrics;
  metrics.add("mean", MeanMetric());
  metrics.add("sum", SumMetric());
  metrics.update(at::ones({3}));
  metrics.compute();
  metrics.compute();

  at::Tensor leaf = at::ones({100000}).set_requires_grad(true);
  const at::Tensor sum = all_reduce(leaf);
  sum.sum().backward();
  average_gradients({leaf});

  at::Tensor own = at::zeros({4}), all = at::empty({8});
  self.group()->all_gather(own, all);
  {
    const AskedBy asked("validation");
    const AskedBy within("not the outermost");
    all_reduce(at::ones({1}));
  }
  const std::map<std::string, std::int64_t> expected = {
      {"all_gather for mean, sum", 2},
      {"all_gather for all_reduce", 1},
      {"all_reduce for all_reduce", 1},
      {"all_gather for backward of all_reduce", 1},
      {"all_reduce for backward of all_reduce", 1},
      {"all_gather for average_gradients", 1},
      {"all_reduce for average_gradients", 1},
      {"all_gather for ", 1},
      {"all_gather for validation", 1}};
  EXPECT_EQ(calls_of(*self.group()), expected);
  EXPECT_EQ(self.group()->account().total().calls, self.group()->collectives());
  self.group()->clear_account();
  EXPECT_TRUE(self.group()->account().entries().empty());
  EXPECT_EQ(self.group()->collectives(), 10);
}

THREAD_RANKS_TEST(CommunicationAccountTest, CountsBytesAndTime, 2) {
  at::Tensor tensor = at::ones({1000}, at::kDouble);
  const auto start = std::chrono::steady_clock::now();
  self.group()->all_reduce(tensor, ReduceOp::kSum);
  at::Tensor received = at::empty({1000}, at::kDouble);
  const int other = 1 - self.rank();
  Transfer transfer =
      self.group()->start_send_receive(tensor, other, received, other);
  transfer.wait();
  const auto took = std::chrono::steady_clock::now() - start;
  const auto& entries = self.group()->account().entries();
  ASSERT_EQ(entries.size(), 2);
  for (const auto& entry : entries) {
    EXPECT_EQ(entry.calls, 1) << entry.operation;
    EXPECT_EQ(entry.bytes, 8000) << entry.operation;
    EXPECT_GT(entry.waited.count(), 0) << entry.operation;
  }
  EXPECT_LE(self.group()->account().total().waited, took);
}

TEST(CommunicationAccountTest, CountsCallsThatFailed) {
  const auto errors = testkit::collect_thread_ranks(2, [](const auto& ranks) {
    at::Tensor tensor = at::ones({1});
    if (ranks->rank() == 1) return;
    EXPECT_THROW(ranks->all_reduce(tensor, ReduceOp::kSum), SyncError);
    EXPECT_EQ(ranks->account().total().calls, 1);
  });
  EXPECT_EQ(errors[0], nullptr);
}

TEST(CommunicationAccountTest, IsATable) {
  CommunicationAccount account;
  account.add("all_gather", "accuracy, f1", 3, 3 * 16384,
              std::chrono::microseconds(1500));
  account.add("all_reduce", std::string(50, 'x'), 1, 100,
              std::chrono::milliseconds(2));
  account.add("all_gather", "accuracy, f1", 1, 16384,
              std::chrono::microseconds(100));
  std::ostringstream stream;
  stream << account;
  EXPECT_EQ(stream.str(),
            "operation     asked by                                 calls     "
            " KB sent    ms waited\n"
            "all_reduce    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...         1     "
            "     0.1        2.000\n"
            "all_gather    accuracy, f1                                 4     "
            "    64.0        1.600\n"
            "total                                                      5     "
            "    64.1        3.600\n");
}

TEST(CommunicationAccountTest, CollectivesAreRangesInTheProfiler) {
  static std::mutex mutex;
  static std::set<std::string> names;
  names.clear();
  const auto handle = at::addGlobalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction& function)
                                     -> std::unique_ptr<at::ObserverContext> {
        const std::lock_guard<std::mutex> lock(mutex);
        names.insert(function.name());
        return nullptr;
      }).scopes({at::RecordScope::USER_SCOPE}));
  run_thread_ranks(2, [](const auto& ranks) {
    MeanMetric mean;
    mean.update(at::ones({2}));
    mean.compute();
    at::Tensor own = at::zeros({4});
    ranks->all_reduce(own, ReduceOp::kSum);
  });
  at::removeCallback(handle);
  EXPECT_THAT(names, ElementsAre("tally::all_gather for MeanMetric",
                                 "tally::all_reduce"));
}

}  // namespace
}  // namespace tally::sync
