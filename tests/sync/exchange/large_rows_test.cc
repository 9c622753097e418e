// Rows that are so large that a sync gathers them from where they are.

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/sync/exchange/state_sync.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync::internal {
namespace {

using ::testing::HasSubstr;
using testkit::run_thread_ranks;

// Rows of 3 doubles: from 43691 on they take 1 MB.
constexpr std::int64_t kLarge = 50000;

struct State {
  Rows rows;
  Number sum;
  void fields(Fields& f) { f("rows", rows)("sum", sum); }
};

SyncItem item(State state) {
  return {"cat", "Cat()", AnyState::of(std::move(state)),
          AnyState(state_ops<State>()), 1};
}

at::Tensor rows_of(std::int64_t rows, int rank) {
  return at::arange(3 * rows, at::kDouble).add(0.1 * rank).reshape({rows, 3});
}

// The collectives of a sync in which rank r brings counts[r] rows, or, where
// that is negative, nothing.
std::int64_t collectives_of(const std::vector<std::int64_t>& counts) {
  std::int64_t collectives = 0;
  run_thread_ranks(static_cast<int>(counts.size()), [&](const auto& ranks) {
    State own;
    own.sum = 1;
    const std::int64_t count = counts[ranks->rank()];
    if (count >= 0) own.rows = Rows(rows_of(count, ranks->rank()));
    const auto before = ranks->collectives();
    const SyncResult result = sync_states({item(own)}, ranks, {});
    if (ranks->rank() == 0) collectives = ranks->collectives() - before;
    const State& merged = result.states.front().template get<State>();
    std::vector<at::Tensor> expected;
    for (int r = 0; r < ranks->size(); ++r) {
      if (counts[r] >= 0) expected.push_back(rows_of(counts[r], r));
    }
    EXPECT_TRUE(merged.rows.tensor().equal(at::cat(expected)));
    EXPECT_EQ(merged.sum.value(), ranks->size());
    // A result that is a view would be copied on its way out.
    EXPECT_FALSE(merged.rows.tensor().is_view());
    // What the rank had is not what the result is made of.
    if (count > 0) {
      merged.rows.tensor().zero_();
      EXPECT_TRUE(own.rows.tensor().equal(rows_of(count, ranks->rank())));
    }
  });
  return collectives;
}

// After the slots, and after the ranks have asked each other for room.
TEST(LargeRowsTest, AreGatheredByOneCollective) {
  EXPECT_EQ(collectives_of({kLarge, kLarge}), 3);
  EXPECT_EQ(collectives_of({kLarge, kLarge, kLarge}), 3);
}

// By one collective more, which evens them out.
TEST(LargeRowsTest, MayDifferInNumber) {
  EXPECT_EQ(collectives_of({kLarge, kLarge + 7, 2 * kLarge}), 4);
}

TEST(LargeRowsTest, StandBesideFewAndNone) {
  EXPECT_EQ(collectives_of({5, kLarge, -1}), 4);
  EXPECT_EQ(collectives_of({-1, -1, kLarge, 0, 3}), 4);
  EXPECT_EQ(collectives_of({0, kLarge, -1}), 4);
  // The few do not fit into the slot, and still travel with the rest.
  EXPECT_EQ(collectives_of({1000, kLarge}), 5);
}

TEST(LargeRowsTest, OfOtherKindsAreAMismatchOnEveryRank) {
  const std::vector<at::Tensor> others = {at::ones({kLarge, 4}, at::kDouble),
                                          at::ones({kLarge * 2, 3}, at::kFloat),
                                          at::ones({5, 4}, at::kDouble)};
  for (const at::Tensor& other : others) {
    run_thread_ranks(3, [&](const auto& ranks) {
      State own;
      own.rows = Rows(ranks->rank() == 1 ? other : rows_of(kLarge, 0));
      try {
        sync_states({item(own)}, ranks, {});
        ADD_FAILURE() << "nothing was thrown";
      } catch (const SyncError& error) {
        EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
        EXPECT_EQ(error.details().peers, std::vector<int>{1});
        EXPECT_THAT(error.message(), HasSubstr("state 'rows' has rows of"));
      }
      own.rows = Rows(rows_of(1, 0));
      const SyncResult next = sync_states({item(own)}, ranks, {});
      EXPECT_EQ(next.states.front().template get<State>().rows.size(), 3);
    });
  }
}

struct Merged {
  Rows rows;
  void fields(Fields& f) { f("rows", rows); }
  static Merged merge(const Merged& a, const Merged& b) {
    return a.rows.size() > b.rows.size() ? a : b;
  }
};

TEST(LargeRowsTest, StatesThatMergeInTheirOwnWayTravelWhole) {
  run_thread_ranks(2, [](const auto& ranks) {
    Merged own{Rows(rows_of(kLarge + ranks->rank(), ranks->rank()))};
    const SyncResult result = sync_states(
        {{"own", "Own()", AnyState::of(own), AnyState(state_ops<Merged>()), 1}},
        ranks, {});
    const Merged& merged = result.states.front().template get<Merged>();
    EXPECT_TRUE(merged.rows.tensor().equal(rows_of(kLarge + 1, 1)));
  });
}

}  // namespace
}  // namespace tally::sync::internal
