// What happens to ranks of which one has nearly everything when one of them
// dies, stops or comes late: real processes over Gloo.

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tally/sync/collectives.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::sync {
namespace {

using internal::sync_states;
using internal::SyncItem;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testkit::Fault;
using testkit::kAtOnce;
using testkit::Rank;

struct State {
  Rows rows;
  void fields(Fields& f) { f("rows", rows); }
  // Travels whole.
  void compact() {}
};

std::int64_t rows_of(int rank) { return rank == 1 ? 400'000 : 9 * rank; }

at::Tensor numbers(int rank) {
  return at::arange(rows_of(rank), at::kDouble).add(0.25 * rank);
}

SyncItem item(int rank) {
  State state;
  if (rows_of(rank) > 0) state.rows = Rows(numbers(rank));
  return {"rows", "Rows()", AnyState::of(std::move(state)),
          AnyState(state_ops<State>()), 1};
}

SyncError error_of(const Rank& self) {
  const auto start = steady_clock::now();
  const SyncError error = testkit::sync_error_of([&] {
                            sync_states({item(self.rank())}, self.group(), {});
                          }).value();
  EXPECT_LE(steady_clock::now() - start, self.group()->timeout() + kAtOnce);
  EXPECT_EQ(error.details().metric, "rows");
  EXPECT_SYNC_ERROR(sync_states({item(self.rank())}, self.group(), {}),
                    SyncErrorCode::kGroupBroken);
  return error;
}

RANKS_TEST(UnevenRanksTest, BringAllTheirRows, 2, 3, 5) {
  const auto result = sync_states({item(self.rank())}, self.group(), {});
  std::vector<at::Tensor> expected;
  for (int r = 0; r < self.size(); ++r) expected.push_back(numbers(r));
  const auto& merged = result.states.front().get<State>();
  EXPECT_TRUE(merged.rows.tensor().equal(at::cat(expected)));
  const auto slots = gather_all_tensors(numbers(self.rank()));
  for (int r = 0; r < self.size(); ++r) {
    EXPECT_TRUE(slots[r].equal(numbers(r)));
  }
}

// The slots, the ranks' memory, the bytes that even out, their parts.
struct Fatal {
  std::int64_t collective;
  const char* phase;
};
class UnevenFaultsTest : public ::testing::TestWithParam<Fatal> {};

RANKS_TEST_P(UnevenFaultsTest, ALostRankIsAnErrorAtOnce, 3) {
  self.inject(Fault::kill(), 2, GetParam().collective);
  const auto start = steady_clock::now();
  const SyncError error = error_of(self);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
  EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
  EXPECT_EQ(error.details().phase, GetParam().phase);
}

RANKS_TEST_P(UnevenFaultsTest, ARankThatStopsIsATimeout, 3) {
  self.group()->set_timeout(seconds(2));
  self.inject(Fault::stop(), 1, GetParam().collective);
  const SyncError error = error_of(self);
  EXPECT_EQ(error.details().phase, GetParam().phase);
  // The first to give up leaves the other.
  EXPECT_TRUE(error.code() == SyncErrorCode::kTimeout ||
              error.code() == SyncErrorCode::kPeerLost)
      << error.what();
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, UnevenFaultsTest,
    ::testing::Values(Fatal{0, "header"}, Fatal{1, "payload"},
                      Fatal{2, "payload"}, Fatal{3, "payload"}),
    [](const auto& fatal) { return std::to_string(fatal.param.collective); });

}  // namespace
}  // namespace tally::sync
