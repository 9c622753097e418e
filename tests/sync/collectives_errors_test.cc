#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tally/sync/collectives.h"
#include "tally/testing/allocation_fault.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;
using Group = std::shared_ptr<Communicator>;
using Counts = std::vector<std::int64_t>;

at::Tensor leaf(double value) {
  return at::full({1}, value, at::kDouble).set_requires_grad(true);
}

/// Nothing that went wrong before is in the way.
void expect_usable(const Group& group) {
  EXPECT_EQ(all_reduce(at::ones({})).item<double>(), group->size());
}

/// Every rank throws the same SyncError, and the group goes on.
void expect_error(int ranks, SyncErrorCode code, const std::string& text,
                  const std::function<void(const Group&)>& call) {
  std::vector<std::string> messages(ranks);
  run_thread_ranks(ranks, [&](Group group) {
    try {
      call(group);
      ADD_FAILURE() << "rank " << group->rank() << " did not throw";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), code) << describe(error);
      messages[group->rank()] = error.message();
    }
    expect_usable(group);
  });
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr(text));
    EXPECT_EQ(message, messages[0]);
  }
}

/// Rank `bad` throws a c10::ValueError, the others kPeerFailed with its text.
void expect_refused(int bad, const std::string& text,
                    const std::function<void(const Group&)>& call) {
  run_thread_ranks(3, [&](Group group) {
    try {
      call(group);
      ADD_FAILURE() << "rank " << group->rank() << " did not throw";
    } catch (const SyncError& error) {
      EXPECT_NE(group->rank(), bad);
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
      EXPECT_THAT(error.message(), HasSubstr(text));
    } catch (const c10::ValueError& error) {
      EXPECT_TRUE(bad < 0 || group->rank() == bad);
      EXPECT_THAT(describe(error), HasSubstr(text));
    }
    expect_usable(group);
  });
}

// A rank under a NoGradGuard will have no backward pass; others would wait.
TEST(CollectivesErrorsTest, RanksThatRecordNoGradientsAreAMismatch) {
  for (const auto& call : std::vector<std::function<void(at::Tensor)>>{
           [](at::Tensor x) { all_gather(x); },
           [](at::Tensor x) { all_reduce(x); },
           [](at::Tensor x) { ring_exchange(x); }}) {
    expect_error(3, SyncErrorCode::kMismatch,
                 "rank 0 would wait for ranks that record no gradients: 2",
                 [&](const Group& group) {
                   const at::AutoGradMode mode(group->rank() != 2);
                   call(leaf(1));
                 });
  }
}

TEST(CollectivesErrorsTest, RanksInInferenceModeRecordNoGradientsEither) {
  expect_error(2, SyncErrorCode::kMismatch,
               "rank 0 would wait for ranks that record no gradients: 1",
               [&](const Group& group) {
                 std::optional<c10::InferenceMode> inference;
                 const at::Tensor x = leaf(1);
                 if (group->rank() == 1) inference.emplace();
                 all_reduce(x);
               });
}

TEST(CollectivesErrorsTest, DifferentCallsOptionsAndTensorsAreAMismatch) {
  const auto mismatch = [](const std::string& text,
                           const std::function<void(int)>& call) {
    expect_error(3, SyncErrorCode::kMismatch, text,
                 [&](const Group& group) { call(group->rank()); });
  };
  const at::Tensor x = at::ones({6}, at::kDouble);
  mismatch("rank 2: broadcast from 0",
           [&](int rank) { rank == 2 ? broadcast(x, 0) : all_reduce(x); });
  mismatch("sum of Double [6], rank 1: all_reduce, max of Double [6]",
           [&](int rank) {
             all_reduce(x, rank == 1 ? Reduction::kMax : Reduction::kSum);
           });
  mismatch("rank 2: all_reduce, sum of Float [6]",
           [&](int rank) { all_reduce(rank == 2 ? x.to(at::kFloat) : x); });
  mismatch("rank 1: all_reduce, sum of Double [2, 3]", [&](int rank) {
    all_reduce(rank == 1 ? x.view({2, 3}) : x);
  });
  mismatch("broadcast from 1", [&](int rank) { broadcast(x, rank == 0); });
  mismatch("rank 0: Double [6], rank 1: nothing, rank 2: Double [2, 3]",
           [&](int rank) {
             const at::Tensor of[] = {x, at::Tensor(), x.view({2, 3})};
             broadcast(of[rank], 0);
           });
  mismatch("rank 1: ring_exchange, shift 2",
           [&](int rank) { ring_exchange(x, rank == 1 ? 2 : 1); });
  mismatch("rank 1: reduce_scatter (sum), Double [1] [2] [3]", [&](int rank) {
    reduce_scatter(x, Reduction::kSum, rank == 1 ? Counts{1, 2, 3} : Counts());
  });
  mismatch("rank 0: Double rows of [2], rank 1: Double rows of [1]",
           [&](int rank) {
             all_gather(rank == 1 ? x.view({6, 1}) : x.view({3, 2}));
           });
  mismatch("rank 2: all_to_all, Double, rows of [2]", [&](int rank) {
    all_to_all(rank == 2 ? x.view({3, 2}) : x.view({6, 1}));
  });
}

TEST(CollectivesErrorsTest, BackwardPassesOfDifferentCallsAreAMismatch) {
  expect_error(2, SyncErrorCode::kMismatch,
               "rank 0: backward of exchange 0, all_gather",
               [](const Group& g) {
                 const at::Tensor x = leaf(1);
                 const at::Tensor first = all_gather(x);
                 const at::Tensor second = all_gather(x);
                 (g->rank() == 0 ? first : second).sum().backward();
               });
}

// Without the tie, ranks end up in different calls; nobody waits in vain.
TEST(CollectivesErrorsTest, UntiedRanksAreAMismatchInTheNextCall) {
  run_thread_ranks(2, [](Group group) {
    const at::Tensor x = leaf(1);
    const at::Tensor y = all_gather(x);
    try {
      if (group->rank() == 0) y.sum().backward();
      all_reduce(at::ones({1}));
      ADD_FAILURE() << "rank " << group->rank();
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_THAT(error.message(), HasSubstr("a backward pass"));
    }
    expect_usable(group);
  });
}

TEST(CollectivesErrorsTest, BadArgumentsOnOneRankAreRefusedOnEveryRank) {
  const auto refused = [](const std::string& text,
                          const std::function<void(bool)>& call) {
    expect_refused(1, text,
                   [&](const Group& group) { call(group->rank() == 1); });
  };
  const at::Tensor x = at::ones({6}, at::kDouble);
  refused("got an undefined one",
          [&](bool bad) { all_reduce(bad ? at::Tensor() : x); });
  refused("got an undefined one",
          [&](bool bad) { ring_exchange(bad ? at::Tensor() : x); });
  refused("expected a dense tensor",
          [&](bool bad) { all_gather(bad ? x.to_sparse() : x); });
  for (const std::int64_t size : {2, 1 << 20}) {
    const at::Tensor meta =
        at::empty({size}, at::TensorOptions().device(at::kMeta));
    refused("got one of the meta device",
            [&](bool bad) { gather_all_tensors(bad ? meta : x); });
    refused("got one of the meta device",
            [&](bool bad) { all_reduce(bad ? meta : x); });
    refused("got one of the meta device",
            [&](bool bad) { broadcast(bad ? meta : x, 1); });
  }
  refused("expected a dense tensor",
          [&](bool bad) { all_reduce(bad ? x.to_sparse() : x); });
  refused("multiple of 3 ranks", [&](bool bad) {
    reduce_scatter(bad ? at::ones({7}, at::kDouble) : x);
  });
  refused("numbers of rows that add up to 6", [&](bool bad) {
    all_to_all(x, bad ? Counts{1, 2} : Counts{2, 2, 2});
  });
  refused("numbers of rows that add up to 6", [&](bool bad) {
    all_to_all(x, bad ? Counts{7, -1, 0} : Counts{2, 2, 2});
  });
  refused("got a 0-dim tensor",
          [&](bool bad) { all_to_all(bad ? at::ones({}) : x); });
  refused("one for each rank, got 2", [&](bool bad) {
    all_to_all(std::vector<at::Tensor>(bad ? 2 : 3, x));
  });
  refused("expected tensors of one dtype", [&](bool bad) {
    all_to_all({x, x, bad ? x.to(at::kInt) : x});
  });
  refused("got an undefined one",
          [&](bool bad) { broadcast(bad ? at::Tensor() : x, 1); });
  expect_refused(-1, "expected a root below 3, got 3",
                 [&](const Group&) { broadcast(x, 3); });
  expect_refused(-1, "multiply the results of gather_all_tensors",
                 [&](const Group&) { all_reduce(x, Reduction::kProduct); });
  expect_refused(-1, "expected sum or mean",
                 [&](const Group&) { reduce_scatter(x, Reduction::kMax); });
  expect_refused(-1, "have no order", [](const Group&) {
    all_reduce(at::ones({1}, at::kComplexFloat), Reduction::kMax);
  });
  expect_refused(-1, "cannot reduce dtype", [&](const Group&) {
    all_reduce(at::ones({1}).to(at::kUInt64));
  });
}

// Which rank brings what nobody has room for.
TEST(CollectivesErrorsTest, TensorsBeyondAnyMemoryNameTheirRank) {
  const at::Tensor huge = at::ones({1}).expand({std::int64_t{1} << 40});
  run_thread_ranks(3, [&](Group group) {
    try {
      const testkit::AllocationFault nobody_has_that(0, std::size_t{1} << 40);
      gather_all_tensors(group->rank() == 1 ? huge : at::ones({4}));
      ADD_FAILURE() << "rank " << group->rank() << " did not throw";
    } catch (const c10::Error& error) {
      EXPECT_THAT(describe(error),
                  HasSubstr("(for rank 1's Float [1099511627776])"));
    }
    expect_usable(group);
  });
}

// Gloo refuses an average of integers on a thread of its own, others round.
TEST(CollectivesErrorsTest, MeansOfIntegersAreRefusedOnEveryRank) {
  expect_refused(-1, "the mean of integers", [](const Group&) {
    all_reduce(at::ones({2}, at::kLong), Reduction::kMean);
  });
  expect_refused(-1, "the mean of integers", [](const Group&) {
    reduce_scatter(at::ones({3}, at::kInt), Reduction::kMean);
  });
}

}  // namespace
}  // namespace tally::sync
