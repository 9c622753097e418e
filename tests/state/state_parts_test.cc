#include "tally/state/state_parts.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tally/sync/errors.h"

namespace tally {
namespace {

struct Sum {
  at::Tensor sum;
  void fields(Fields& f) { f("sum", sum); }
};
struct All {
  Rows rows;
  void fields(Fields& f) { f("rows", rows); }
};
/// With a merge and a smaller form of its own.
struct Last {
  std::int64_t value = 0;
  std::int64_t compacted = 0;
  void fields(Fields& f) { f("value", value)("compacted", compacted); }
  static Last merge(const Last& a, const Last& b) {
    return {b.value != 0 ? b.value : a.value, a.compacted};
  }
  void compact() { ++compacted; }
};
struct Highest {
  Number value = 0;
  std::int64_t count = 0;
  void fields(Fields& f) { f("value", value, Merge::kMax)("count", count); }
};

AnyState state_of(StateParts parts) { return AnyState::of(std::move(parts)); }

std::vector<AnyState>& parts_of(AnyState& state) {
  return state.get<StateParts>().parts();
}

TEST(StatePartsTest, ListsTheFieldsOfItsParts) {
  AnyState inner = state_of(StateParts({{"c", AnyState::of(Last{4, 0})}}));
  AnyState state =
      state_of(StateParts({{"a", AnyState::of(Highest{2, 3})}, {"b", inner}}));
  EXPECT_EQ(state.fields().schema(),
            "a.value:number:max;a.count:int:sum;"
            "b.c.value:int:sum;b.c.compacted:int:sum;");
  AnyState copy = state;
  copy.fields()[1].as_int() = 7;
  EXPECT_EQ(parts_of(copy)[0].get<Highest>().count, 7);
  EXPECT_EQ(parts_of(state)[0].get<Highest>().count, 3);
  EXPECT_EQ(copy.fields().schema(), state.fields().schema());
}

TEST(StatePartsTest, MergesPartByPart) {
  AnyState state =
      state_of(StateParts({{"sum", AnyState::of(Sum{at::ones({2})})},
                           {"all", AnyState::of(All())},
                           {"last", AnyState::of(Last{4, 0})}}));
  merge(state,
        state_of(StateParts({{"sum", AnyState::of(Sum{at::ones({2})})},
                             {"all", AnyState::of(All{Rows(at::ones({3}))})},
                             {"last", AnyState::of(Last())}})),
        "test");
  const void* const sum = parts_of(state)[0].get<Sum>().sum.data_ptr();
  const void* const rows =
      parts_of(state)[1].get<All>().rows.tensor().data_ptr();
  merge(state,
        state_of(StateParts({{"sum", AnyState::of(Sum{at::ones({2})})},
                             {"all", AnyState::of(All{Rows(at::ones({3}))})},
                             {"last", AnyState::of(Last{5, 0})}})),
        "test");
  // In place, where the part alone would be.
  EXPECT_EQ(parts_of(state)[0].get<Sum>().sum.data_ptr(), sum);
  EXPECT_EQ(parts_of(state)[1].get<All>().rows.tensor().data_ptr(), rows);
  EXPECT_TRUE(parts_of(state)[0].get<Sum>().sum.equal(at::tensor({3.f, 3.f})));
  EXPECT_EQ(parts_of(state)[1].get<All>().rows.size(), 6);
  EXPECT_EQ(parts_of(state)[2].get<Last>().value, 5);
  EXPECT_EQ(parts_of(state)[2].get<Last>().compacted, 2);
}

TEST(StatePartsTest, IsAsItWasWhenAPartRefuses) {
  AnyState state =
      state_of(StateParts({{"a", AnyState::of(Sum{at::ones({2})})},
                           {"b", AnyState::of(Sum{at::ones({2})})}}));
  try {
    merge(state,
          state_of(StateParts({{"a", AnyState::of(Sum{at::ones({2})})},
                               {"b", AnyState::of(Sum{at::ones({3})})}})),
          "test");
    FAIL();
  } catch (const c10::ValueError& error) {
    EXPECT_EQ(
        sync::describe(error),
        "test: state 'sum' holds Float [2] on cpu, expected the same, got "
        "Float [3] on cpu");
  }
  EXPECT_TRUE(parts_of(state)[0].get<Sum>().sum.equal(at::ones({2})));
}

TEST(StatePartsTest, MergesALonePartAlone) {
  const auto identity = std::make_shared<const StateParts>(
      std::vector<std::pair<std::string, AnyState>>{
          {"a", AnyState::of(Highest{1, 0})}, {"b", AnyState::of(Last{5, 0})}});
  const auto batch = [&] {
    return state_of(StateParts(identity, {1, AnyState::of(Last{7, 0})}));
  };
  AnyState state = AnyState::of(*identity);
  merge(state, batch(), "Metric");
  merge(state, batch(), "Metric");
  EXPECT_EQ(parts_of(state)[1].get<Last>().value, 7);
  // Nothing was merged into the other: its fields were not even looked at.
  EXPECT_EQ(parts_of(state)[0].get<Highest>().value.value(), 1);

  AnyState whole = batch();
  const AnyState copy = whole;
  ASSERT_TRUE(whole.get<StateParts>().lone_part());
  EXPECT_EQ(whole.fields().schema(), state.fields().schema());
  EXPECT_FALSE(whole.get<StateParts>().lone_part());
  EXPECT_TRUE(copy.get<StateParts>().lone_part());
  EXPECT_EQ(parts_of(whole)[0].get<Highest>().value.value(), 1);
  EXPECT_EQ(parts_of(whole)[1].get<Last>().value, 7);
  merge(state, whole, "Metric");
  EXPECT_EQ(parts_of(state)[1].get<Last>().value, 7);
}

TEST(StatePartsTest, HasWhatAPartHas) {
  const AnyState plain = AnyState::of(Sum());
  const AnyState own_merge = AnyState::of(Last());
  const auto with = [&](const AnyState& other) {
    return state_of(StateParts(
        {{"a", plain}, {"b", state_of(StateParts({{"c", other}}))}}));
  };
  EXPECT_TRUE(merges_by_field(plain));
  EXPECT_TRUE(merges_by_field(with(AnyState::of(Highest()))));
  EXPECT_FALSE(merges_by_field(own_merge));
  EXPECT_FALSE(merges_by_field(with(own_merge)));
  EXPECT_FALSE(compacts(with(plain)));
  EXPECT_TRUE(compacts(with(own_merge)));
}

TEST(StatePartsTest, TakesABatchIn) {
  struct Kept {
    at::Tensor value;
    void fields(Fields& f) { f("value", value); }
    static Kept merge(const Kept&, const Kept& b) { return b; }
  };
  const at::Tensor given = at::ones({2});
  const auto holding = [](const at::Tensor& value) {
    return state_of(StateParts(
        {{"a", AnyState::of(Kept{value})}, {"b", AnyState::of(Sum{value})}}));
  };
  AnyState state = holding({});
  AnyState batch = holding(given);
  PendingMerge(state.ops(), state.data(), batch.data(), "Metric", BatchIntake())
      .commit();
  // Neither its own merge nor the one by field keeps what somebody else holds.
  EXPECT_FALSE(parts_of(state)[0].get<Kept>().value.is_alias_of(given));
  EXPECT_FALSE(parts_of(state)[1].get<Sum>().sum.is_alias_of(given));
  EXPECT_TRUE(parts_of(state)[0].get<Kept>().value.equal(given));

  state = holding({});
  batch = holding(at::ones({2}).requires_grad_());
  PendingMerge(state.ops(), state.data(), batch.data(), "Metric", BatchIntake())
      .commit();
  EXPECT_FALSE(parts_of(state)[0].get<Kept>().value.requires_grad());
  EXPECT_FALSE(parts_of(state)[1].get<Sum>().sum.requires_grad());
}

}  // namespace
}  // namespace tally
