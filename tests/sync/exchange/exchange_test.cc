#include "tally/sync/exchange/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/sync/exchange/state_sync.h"
#include "tally/sync/fingerprint.h"
#include "tally/testing/expect_sync_error.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync::internal {
namespace {

using ::testing::HasSubstr;
using testkit::run_thread_ranks;

constexpr auto kEager = static_cast<std::size_t>(Exchange::eager_bytes(2));

// What a rank brings, and how the exchange ends for it.
struct Part {
  std::string payload;
  std::string schema = "accuracy = StatScores(num_classes=5)\n";
  ExchangeKind kind = ExchangeKind::kStates;
  std::string failure = {};
  std::uint32_t flags = 0;
  std::string label = "accuracy";
  MetricCall call = MetricCall::kNone;
  GradientFlow flow = GradientFlow::kDetached;
  std::uint32_t uses = 0;
};

Contributions run(Communicator& communicator, const Part& part,
                  Timeout timeout = {}) {
  Contribution own{part.kind, part.label, fingerprint(part.schema),
                   [&] { return part.schema; }};
  own.call = part.call;
  own.flow = part.flow;
  own.uses = part.uses;
  own.flags = part.flags;
  own.payload = std::make_shared<const std::string>(part.payload);
  own.failure = part.failure;
  return Exchange::run(communicator, own, timeout);
}

SyncError error_of(Communicator& communicator, const Part& part) {
  return testkit::sync_error_of([&] { run(communicator, part); }).value();
}

void expect_usable(Communicator& communicator) {
  const Contributions all =
      run(communicator, {std::to_string(communicator.rank())});
  for (int r = 0; r < communicator.size(); ++r) {
    EXPECT_EQ(all.payloads[r], std::to_string(r));
  }
}

std::string bytes(std::size_t size, int rank) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(rank));
  }
  return text;
}

THREAD_RANKS_TEST(ExchangeTest, PayloadsOfEverySizeArrive, 1, 2, 3, 5) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kEager - 1,
                                 kEager, kEager + 1, std::size_t{100000}}) {
    // The others' are shorter, down to nothing.
    const auto size_of = [&](int rank) {
      return rank == 0 ? size : size / (static_cast<std::size_t>(rank) * 7);
    };
    const auto before = self.group()->collectives();
    const Contributions all =
        run(*self.group(), {bytes(size_of(self.rank()), self.rank())});
    EXPECT_EQ(self.group()->collectives() - before, size <= kEager ? 1 : 2);
    ASSERT_EQ(all.payloads.size(), self.size());
    for (int r = 0; r < self.size(); ++r) {
      EXPECT_EQ(all.payloads[r], bytes(size_of(r), r)) << size;
    }
  }
}

THREAD_RANKS_TEST(ExchangeTest, PayloadsOutliveLaterExchanges, 2) {
  const std::string other = 1 - self.rank() == 0 ? "a" : "b";
  const Contributions first =
      run(*self.group(), {self.rank() == 0 ? "a" : "b"});
  run(*self.group(), {"x"});
  run(*self.group(), {"y"});
  EXPECT_EQ(first.payloads[1 - self.rank()], other);
}

THREAD_RANKS_TEST(ExchangeTest, EveryRankSeesAllFlags, 3) {
  Part part{"payload"};
  part.flags = flags::kFirstOwn * (self.rank() + 5);
  EXPECT_EQ(run(*self.group(), part).flags,
            (std::vector<std::uint32_t>{0x500, 0x600, 0x700}));
}

THREAD_RANKS_TEST(ExchangeTest, PayloadsAreSkippedIfAllRanksAllow, 2) {
  Part part{bytes(2 * kEager, 0)};
  part.flags = flags::kCached;
  auto before = self.group()->collectives();
  EXPECT_TRUE(run(*self.group(), part).payloads_skipped);
  EXPECT_EQ(self.group()->collectives(), before + 1);
  part.flags = self.rank() == 0 ? flags::kCached : 0;
  before = self.group()->collectives();
  const Contributions all = run(*self.group(), part);
  EXPECT_FALSE(all.payloads_skipped);
  EXPECT_EQ(all.payloads[1], part.payload);
  EXPECT_EQ(self.group()->collectives(), before + 2);
}

THREAD_RANKS_TEST(ExchangeTest, DifferentCallsAreAMismatchOnAllRanks, 3) {
  Part part{"payload"};
  if (self.rank() == 2) {
    part.kind = ExchangeKind::kGradients;
    part.label = "average_gradients";
  }
  const SyncError error = error_of(*self.group(), part);
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.details().peers, std::vector<int>{2});
  EXPECT_EQ(error.message(),
            "the ranks are in different calls: rank 0: a sync of accuracy, "
            "rank 1: a sync of accuracy, rank 2: average_gradients; a rank "
            "that runs out of batches before the others takes part in their "
            "steps by training::join");
  expect_usable(*self.group());
}

THREAD_RANKS_TEST(ExchangeTest, DifferentSchemasNameTheItem, 3) {
  Part part{"payload"};
  part.schema = "accuracy = A\nauroc = B(10)\nmse = C\n";
  if (self.rank() == 1) {
    part.schema = "accuracy = A\nauroc = B(11)\nmse = C\n";
  }
  const SyncError error = error_of(*self.group(), part);
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.details().peers, std::vector<int>{1});
  EXPECT_THAT(error.message(),
              HasSubstr("rank 0: auroc = B(10), rank 1: auroc = B(11), "
                        "rank 2: auroc = B(10)"));
  expect_usable(*self.group());
  // One has an item less.
  part.schema = self.rank() == 0 ? "accuracy = A\n" : "accuracy = A\nmse = C\n";
  EXPECT_THAT(error_of(*self.group(), part).message(),
              HasSubstr("rank 0: nothing, rank 1: mse = C"));
  expect_usable(*self.group());
}

THREAD_RANKS_TEST(ExchangeTest,
                  DifferentCallsOfAMetricAreAMismatchThatNamesThem, 2) {
  const bool odd = self.rank() == 1;
  Part part{"payload"};
  part.call = odd ? MetricCall::kCompute : MetricCall::kForward;
  if (!odd) part.flow = GradientFlow::kLocal;
  SyncError error = error_of(*self.group(), part);
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.message(),
            "the ranks are in different calls: rank 0: forward() of accuracy "
            "with gradient flow kLocal, rank 1: compute() of accuracy; to "
            "evaluate on one rank only, use MetricOptions()."
            "sync_on_compute(false), or a CommunicatorGuard with "
            "single_process_communicator(); a rank that runs out of batches "
            "before the others takes part in their steps by training::join");
  part.call = MetricCall::kMetricLoss;
  part.flow = odd ? GradientFlow::kReplicated : GradientFlow::kAllRanks;
  error = error_of(*self.group(), part);
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_THAT(error.message(), HasSubstr("gradient flow kReplicated"));
  expect_usable(*self.group());
}

THREAD_RANKS_TEST(ExchangeTest, NumbersOfUsesMustAgreeWhereTheyAreKnown, 3) {
  const int rank = self.rank();
  Part part{"payload"};
  part.uses = rank == 1 ? 0 : 4;
  EXPECT_EQ(run(*self.group(), part).uses, 4);
  part.uses = static_cast<std::uint32_t>(rank == 2 ? 3 : rank * 4);
  const SyncError error = error_of(*self.group(), part);
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.details().peers, std::vector<int>{2});
  EXPECT_THAT(error.message(), HasSubstr("rank 1: 4 times, rank 2: 3 times"));
  expect_usable(*self.group());
}

THREAD_RANKS_TEST(ExchangeTest, RanksThatDriftedApartFindTogetherAgain, 3) {
  expect_usable(*self.group());
  // On one rank as if it had missed an exchange.
  testkit::FaultyCommunicator fresh(self.group(), [](std::int64_t) {});
  Communicator& own = self.rank() == 1 ? fresh : *self.group();
  const SyncError error = error_of(own, {"payload"});
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.message(),
            "the ranks are at different syncs (one has synchronized more "
            "often): rank 0: 1, rank 1: 0, rank 2: 1");
  expect_usable(own);
  expect_usable(own);
}

THREAD_RANKS_TEST(ExchangeTest, AFailedRankTellsTheOthers, 3) {
  Part part{"payload"};
  if (self.rank() == 1) {
    part.failure = "preds: expected floats";
    const Contributions all = run(*self.group(), part);
    EXPECT_TRUE(all.payloads.empty());
  } else {
    const SyncError error = error_of(*self.group(), part);
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
    EXPECT_EQ(error.details().peers, std::vector<int>{1});
    EXPECT_EQ(error.message(), "rank 1 failed: preds: expected floats");
  }
  expect_usable(*self.group());
}

THREAD_RANKS_TEST(ExchangeTest, SeveralFailedRanksAreAllNamed, 3) {
  Part part{bytes(2 * kEager, 0)};
  if (self.rank() != 1) {
    part.failure = std::string(2 * kEager, 'x');
    run(*self.group(), part);
  } else {
    const SyncError error = error_of(*self.group(), part);
    EXPECT_EQ(error.details().peers, (std::vector<int>{0, 2}));
    EXPECT_THAT(error.message(), HasSubstr("; rank 2 failed: xxx"));
  }
  expect_usable(*self.group());
}

TEST(ExchangeTest, TransportErrorsNameWhatWasExchanged) {
  for (const int call : {0, 1}) {
    run_thread_ranks(2, [&](const auto& communicator) {
      testkit::FaultyCommunicator faulty(
          communicator, testkit::fail_at(call, SyncErrorCode::kTimeout));
      const Part part{bytes(2 * kEager, 0)};
      if (communicator->rank() == 0) {
        const SyncError error = error_of(faulty, part);
        EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
        EXPECT_EQ(error.details().metric, "accuracy");
        EXPECT_EQ(error.details().phase, call == 0 ? "header" : "payload");
        EXPECT_EQ(error_of(faulty, part).code(), SyncErrorCode::kGroupBroken);
      } else {
        EXPECT_EQ(error_of(*communicator, part).code(),
                  SyncErrorCode::kPeerLost);
      }
    });
  }
}

}  // namespace
}  // namespace tally::sync::internal
