#include "tally/testing/thread_ranks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "tally/testing/faulty_communicator.h"

namespace tally::testkit {
namespace {

using sync::Communicator;
using sync::ReduceOp;
using sync::SyncError;
using sync::SyncErrorCode;

SyncErrorCode code_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const SyncError& sync_error) {
    return sync_error.code();
  }
}

at::Tensor gathered(Communicator& communicator, const at::Tensor& input) {
  at::Tensor output =
      at::empty({communicator.size() * input.numel()}, input.options());
  communicator.all_gather(input, output);
  return output;
}

TEST(ThreadRanksTest, CollectivesGiveTheirValues) {
  for (int size : {1, 2, 3, 5}) {
    run_thread_ranks(size, [&](std::shared_ptr<Communicator> group) {
      EXPECT_EQ(sync::default_communicator(), group);
      const int rank = group->rank();
      for (int round = 0; round < 20; ++round) {
        EXPECT_TRUE(gathered(*group, at::full({1}, rank + round, at::kShort))
                        .equal(at::arange(round, round + size, at::kShort)));
        at::Tensor sum = at::full({2}, rank + 1, at::kLong);
        group->all_reduce(sum, ReduceOp::kSum);
        EXPECT_EQ(sum[1].item<int>(), size * (size + 1) / 2);
        at::Tensor least = at::full({}, rank + 1.5);
        group->all_reduce(least, ReduceOp::kMin);
        EXPECT_EQ(least.item<double>(), 1.5);
        at::Tensor most = at::full({}, rank + 1.5);
        group->all_reduce(most, ReduceOp::kMax);
        EXPECT_EQ(most.item<double>(), size + 0.5);
        at::Tensor root = at::full({3}, rank == size - 1);
        group->broadcast(root, size - 1);
        EXPECT_TRUE(root.all().item<bool>());
        EXPECT_EQ(gathered(*group, at::empty({0})).numel(), 0);
      }
    });
  }
}

TEST(ThreadRanksTest, RankThatLeavesIsLostAtOnce) {
  for (bool throws : {false, true}) {
    const auto errors =
        collect_thread_ranks(3, [&](std::shared_ptr<Communicator> group) {
          if (group->rank() == 1) {
            if (throws) throw std::logic_error("rank 1 gave up");
            return;
          }
          gathered(*group, at::arange(2));
        });
    EXPECT_EQ(code_of(errors[0]), SyncErrorCode::kPeerLost);
    EXPECT_EQ(code_of(errors[2]), SyncErrorCode::kPeerLost);
    EXPECT_EQ(errors[1] != nullptr, throws);
  }
}

TEST(ThreadRanksTest, LateRankIsATimeoutThatNamesIt) {
  std::atomic<bool> timed_out{false};
  ThreadRanksOptions options;
  options.timeout = std::chrono::milliseconds(50);
  const auto errors = collect_thread_ranks(
      2,
      [&](std::shared_ptr<Communicator> group) {
        if (group->rank() == 0) {
          try {
            gathered(*group, at::arange(2));
          } catch (const SyncError& error) {
            EXPECT_EQ(error.details().peers, std::vector<int>{1});
            timed_out = true;
            throw;
          }
        }
        while (!timed_out) std::this_thread::yield();
        gathered(*group, at::arange(2));
      },
      options);
  EXPECT_EQ(code_of(errors[0]), SyncErrorCode::kTimeout);
  EXPECT_EQ(code_of(errors[1]), SyncErrorCode::kPeerLost);
}

TEST(ThreadRanksTest, DifferentCollectivesFailOnEveryRank) {
  const auto errors =
      collect_thread_ranks(2, [](std::shared_ptr<Communicator> group) {
        gathered(*group, at::arange(2 + group->rank()));
      });
  EXPECT_EQ(code_of(errors[0]), SyncErrorCode::kTransport);
  EXPECT_EQ(code_of(errors[1]), SyncErrorCode::kTransport);
}

TEST(ThreadRanksTest, RethrowsTheCauseRatherThanItsConsequence) {
  ::testing::internal::CaptureStderr();
  EXPECT_THROW(run_thread_ranks(2,
                                [](std::shared_ptr<Communicator> group) {
                                  if (group->rank() == 1) throw 42;
                                  gathered(*group, at::arange(2));
                                }),
               int);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("rank 0 threw: SyncError kPeerLost"), std::string::npos);
  EXPECT_NE(text.find("rank 1 threw: not a std::exception"), std::string::npos);
}

TEST(FaultyCommunicatorTest, FailsAtTheChosenCollectiveOnly) {
  run_thread_ranks(2, [](std::shared_ptr<Communicator> group) {
    FaultyCommunicator faulty(group, fail_at(1, SyncErrorCode::kMismatch));
    at::Tensor tensor = at::arange(2);
    faulty.all_reduce(tensor, ReduceOp::kSum);
    EXPECT_THROW(faulty.broadcast(tensor, 0), SyncError);
    EXPECT_TRUE(gathered(faulty, at::arange(1)).equal(at::arange(1).repeat(2)));
    faulty.broadcast(tensor, 1);
    EXPECT_EQ(faulty.describe(), group->describe());
  });
}

}  // namespace
}  // namespace tally::testkit
