#include "tally/state/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/state/state_key.h"
#include "tally/state/state_parts.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Two states of the same fields.
struct Apples {
  std::int64_t count = 0;
  void fields(Fields& f) { f("count", count); }
};
struct Pears {
  std::int64_t count = 0;
  void fields(Fields& f) { f("count", count); }
};

const auto kBothTypes = AllOf(HasSubstr("Apples"), HasSubstr("Pears"));

TEST(AnyStateTest, GivesNoStateOfAnotherType) {
  AnyState state = AnyState::of(Apples{3});
  EXPECT_EQ(state.get<Apples>().count, 3);
  try {
    state.get<Pears>();
    FAIL() << "given";
  } catch (const c10::TypeError& error) {
    EXPECT_THAT(error.what_without_backtrace(), kBothTypes);
  }
  EXPECT_THROW(std::as_const(state).get<Pears>(), c10::TypeError);
  EXPECT_THROW(AnyState().get<Pears>(), c10::TypeError);
}

TEST(AnyStateTest, MergesNoStateOfAnotherType) {
  AnyState state = AnyState::of(Apples{3});
  try {
    merge(state, AnyState::of(Pears{4}), "Fruit");
    FAIL() << "merged";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(), kBothTypes);
  }
  EXPECT_EQ(state.get<Apples>().count, 3);
}

TEST(AnyStateTest, MergesNoPartOfAnotherType) {
  const auto basket = [](AnyState fruit) {
    return AnyState::of(StateParts({{"fruit", std::move(fruit)}}));
  };
  AnyState state = basket(AnyState::of(Apples{3}));
  EXPECT_THROW(merge(state, basket(AnyState::of(Pears{4})), "Basket"),
               c10::ValueError);
  merge(state, basket(AnyState::of(Apples{4})), "Basket");
  EXPECT_EQ(state.get<StateParts>().parts()[0].get<Apples>().count, 7);
}

TEST(StateKeyTest, IsTextAndTypes) {
  const StateKey apples("Fruit()", typeid(Apples));
  EXPECT_EQ(apples, StateKey("Fruit()", typeid(Apples)));
  EXPECT_NE(apples, StateKey("Fruit(ripe)", typeid(Apples)));
  EXPECT_NE(apples, StateKey("Fruit()", typeid(Pears)));
  EXPECT_NE(apples, StateKey("Fruit()"));
}

TEST(StateKeyTest, KeepsTheTypesOfWhatItIsMadeOf) {
  const auto basket = [](const StateKey& fruit) {
    return "Basket(" + fruit + ")";
  };
  const StateKey of_apples = basket(StateKey("Fruit()", typeid(Apples)));
  EXPECT_EQ(of_apples.text(), "Basket(Fruit())");
  EXPECT_THAT(of_apples.type_names(), HasSubstr("Apples"));
  EXPECT_NE(of_apples, basket(StateKey("Fruit()", typeid(Pears))));
}

}  // namespace
}  // namespace tally
