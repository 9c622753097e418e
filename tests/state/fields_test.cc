#include "tally/state/fields.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tally/state/state.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

struct Sums {
  Number number;
  std::int64_t count = 0;
  at::Tensor tensor;
  Rows rows;
  void fields(Fields& f) {
    f("number", number)("count", count)("tensor", tensor)("rows", rows);
  }
};

struct Bounds {
  Number low = std::numeric_limits<double>::infinity();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  at::Tensor low_each, high_each;
  void fields(Fields& f) {
    f("low", low, Merge::kMin)("most", most, Merge::kMax);
    f("low_each", low_each, Merge::kMin)("high_each", high_each, Merge::kMax);
  }
};

template <class State>
Fields fields_of(State& state) {
  Fields fields;
  state.fields(fields);
  return fields;
}

template <class State>
void merge(State& into, State from) {
  const Fields a = fields_of(into);
  const Fields b = fields_of(from);
  prepare_merge(a, b, "Metric");
  commit_merge(a, b);
}

at::Tensor pair(double a, double b) {
  at::Tensor tensor = at::full({2}, a, at::kDouble);
  tensor.select(0, 1).fill_(b);
  return tensor;
}

void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_TRUE(actual.equal(expected)) << actual << " and " << expected;
}

TEST(FieldsTest, SchemaNamesKindAndMerge) {
  Sums sums;
  Bounds bounds;
  EXPECT_EQ(fields_of(sums).schema(),
            "number:number:sum;count:int:sum;tensor:tensor:sum;rows:rows:cat;");
  EXPECT_EQ(fields_of(bounds).schema(),
            "low:number:min;most:int:max;low_each:tensor:min;"
            "high_each:tensor:max;");
}

TEST(FieldsTest, MergeEachByItsRule) {
  Sums sums{1.5, 2, pair(1, 2), Rows(pair(1, 2))};
  merge(sums, {Number(2), 3, pair(10, 20), Rows(pair(3, 4))});
  EXPECT_EQ(sums.number.value(), 3.5);
  EXPECT_EQ(sums.count, 5);
  expect_equal(sums.tensor, pair(11, 22));
  expect_equal(sums.rows.tensor(), at::arange(1, 5, at::kDouble));

  Bounds bounds{1.5, 2, pair(1, 2), pair(1, 2)};
  merge(bounds, {Number(-1), 1, pair(0, 3), pair(0, 3)});
  EXPECT_EQ(bounds.low.value(), -1);
  EXPECT_EQ(bounds.most, 2);
  expect_equal(bounds.low_each, pair(0, 2));
  expect_equal(bounds.high_each, pair(1, 3));
}

TEST(FieldsTest, AFreshStateIsTheIdentity) {
  Sums sums{1.5, 2, pair(1, 2), Rows(pair(1, 2))};
  merge(sums, Sums());
  Sums onto_fresh;
  merge(onto_fresh, sums);
  for (const Sums& state : {sums, onto_fresh}) {
    EXPECT_EQ(state.number.value(), 1.5);
    EXPECT_EQ(state.count, 2);
    expect_equal(state.tensor, pair(1, 2));
    expect_equal(state.rows.tensor(), pair(1, 2));
  }
  Bounds bounds;
  merge(bounds, Bounds());
  EXPECT_TRUE(std::isinf(bounds.low.value()));
  EXPECT_FALSE(bounds.low_each.defined());
}

TEST(FieldsTest, NaNStaysInMinimaAndMaxima) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Bounds bounds{nan, 0, pair(nan, 1), pair(1, 1)};
  merge(bounds, {Number(1), 0, pair(1, 0), pair(nan, 2)});
  EXPECT_TRUE(std::isnan(bounds.low.value()));
  EXPECT_TRUE(std::isnan(bounds.low_each.select(0, 0).item<double>()));
  EXPECT_TRUE(std::isnan(bounds.high_each.select(0, 0).item<double>()));
}

TEST(FieldsTest, TheFirstTensorIsNotAdoptedWhileOthersHoldIt) {
  const at::Tensor first = pair(1, 2);
  const at::Tensor second = pair(10, 20);
  Sums sums;
  merge(sums, {0, 0, first, Rows()});
  merge(sums, {0, 0, second, Rows()});
  expect_equal(first, pair(1, 2));
  expect_equal(second, pair(10, 20));
  first.zero_();
  expect_equal(sums.tensor, pair(11, 22));

  // A view shares memory, though it is a tensor of its own.
  const at::Tensor base = at::ones({2, 2}, at::kDouble);
  Sums of_view;
  merge(of_view, {0, 0, base.select(0, 0), Rows()});
  merge(of_view, {0, 0, pair(1, 1), Rows()});
  expect_equal(base, at::ones({2, 2}, at::kDouble));
}

TEST(FieldsTest, SumsInPlaceOnlyWhatNobodyElseHolds) {
  Sums sums;
  merge(sums, {0, 0, pair(1, 2), Rows()});
  const void* memory = sums.tensor.const_data_ptr();
  merge(sums, {0, 0, pair(1, 2), Rows()});
  EXPECT_EQ(sums.tensor.const_data_ptr(), memory);

  const at::Tensor value = sums.tensor;
  merge(sums, {0, 0, pair(1, 2), Rows()});
  expect_equal(value, pair(2, 4));
  expect_equal(sums.tensor, pair(3, 6));

  const at::Tensor view = sums.tensor.narrow(0, 0, 1);
  merge(sums, {0, 0, pair(1, 2), Rows()});
  EXPECT_EQ(view.item<double>(), 3);
  expect_equal(sums.tensor, pair(4, 8));
}

TEST(FieldsTest, SumsOfEveryLayoutAndDtype) {
  for (const auto dtype : {at::kLong, at::kDouble, at::kFloat, at::kInt}) {
    const at::Tensor ones = at::ones({3, 2}, dtype);
    Sums sums;
    merge(sums, {0, 0, at::ones({2, 3}, dtype).t(), Rows()});
    merge(sums, {0, 0, ones.clone(), Rows()});
    merge(sums, {0, 0, at::ones({2, 3}, dtype).t(), Rows()});
    expect_equal(sums.tensor, ones.mul(3));
  }
}

TEST(FieldsTest, SumsIntoAnExpandedTensor) {
  Sums sums;
  merge(sums, {0, 0, at::ones({1}, at::kDouble).expand({3}), Rows()});
  merge(sums, {0, 0, at::arange(3, at::kDouble), Rows()});
  expect_equal(sums.tensor, at::arange(1, 4, at::kDouble));
}

TEST(FieldsTest, SumsInAndAfterInferenceMode) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    Sums sums;
    {
      const c10::InferenceMode inference;
      merge(sums, {0, 0, at::ones({2}, dtype), Rows()});
      merge(sums, {0, 0, at::ones({2}, dtype), Rows()});
    }
    merge(sums, {0, 0, at::ones({2}, dtype), Rows()});
    merge(sums, {0, 0, at::ones({2}, dtype), Rows()});
    {
      const c10::InferenceMode inference;
      merge(sums, {0, 0, at::ones({2}, dtype), Rows()});
    }
    expect_equal(sums.tensor, at::full({2}, 5, dtype));
  }
}

TEST(FieldsTest, RefuseOtherShapesBeforeAnythingChanges) {
  const auto refuses = [](Sums from) {
    Sums sums{1, 1, at::ones({2, 3}), Rows(at::ones({2, 3}))};
    const std::string message =
        testkit::refusal_of([&] { merge(sums, std::move(from)); });
    EXPECT_EQ(sums.number.value(), 1);
    EXPECT_EQ(sums.count, 1);
    expect_equal(sums.tensor, at::ones({2, 3}));
    expect_equal(sums.rows.tensor(), at::ones({2, 3}));
    return message;
  };
  EXPECT_EQ(refuses({1, 1, at::ones({3, 2}), Rows()}),
            "Metric: state 'tensor' holds Float [2, 3] on cpu, expected the "
            "same, got Float [3, 2] on cpu");
  EXPECT_THAT(refuses({1, 1, at::ones({2, 3}, at::kDouble), Rows()}),
              HasSubstr("got Double [2, 3]"));
  // They broadcast, and still are no sum of the same thing.
  EXPECT_THAT(refuses({1, 1, at::ones({3}), Rows()}), HasSubstr("got Float"));
  EXPECT_THAT(refuses({1, 1, at::ones({2, 3}), Rows(at::ones({3, 2}))}),
              HasSubstr("state 'rows' holds rows"));
}

TEST(FieldsTest, GraphsAreSeenAndDropped) {
  at::Tensor x = pair(1, 2).set_requires_grad(true);
  for (int which = 0; which < 3; ++which) {
    Sums sums{1, 1, pair(1, 2), Rows(pair(1, 2))};
    EXPECT_FALSE(requires_grad(fields_of(sums)));
    if (which == 0) sums.number = Number(x.sum());
    if (which == 1) sums.tensor = x.mul(1);
    if (which == 2) sums.rows = Rows(x);
    EXPECT_TRUE(requires_grad(fields_of(sums))) << which;
    detach(fields_of(sums));
    EXPECT_FALSE(requires_grad(fields_of(sums))) << which;
  }
}

TEST(FieldsTest, MergesKeepGraphs) {
  at::Tensor x = pair(1, 2).set_requires_grad(true);
  Sums sums{1, 1, pair(1, 2), Rows(pair(1, 2))};
  merge(sums, {Number(x.sum()), 1, x.mul(1), Rows(x.mul(1))});
  sums.number.tensor()
      .add(sums.tensor.sum())
      .add(sums.rows.tensor().sum())
      .backward();
  expect_equal(x.grad(), pair(3, 3));
}

TEST(FieldsTest, UnshareCopiesWhatOthersHold) {
  const at::Tensor tensor = pair(1, 2);
  Sums sums{1, 1, tensor, Rows(tensor)};
  unshare(fields_of(sums));
  tensor.zero_();
  expect_equal(sums.tensor, pair(1, 2));
  expect_equal(sums.rows.tensor(), pair(1, 2));
  const void* memory = sums.tensor.const_data_ptr();
  unshare(fields_of(sums));
  EXPECT_EQ(sums.tensor.const_data_ptr(), memory);
  Sums empty;
  unshare(fields_of(empty));
  EXPECT_FALSE(empty.rows.defined());
}

// Merged by a rule of its own, which refuses.
struct Picky {
  std::int64_t value = 0;
  void fields(Fields& f) { f("value", value); }
  static Picky merge(const Picky& a, const Picky& b) {
    TORCH_CHECK_VALUE(b.value >= 0, "expected no negative value, got ",
                      b.value);
    return {std::max(a.value, b.value) * 2};
  }
};

TEST(AnyStateTest, MergesByTheStatesOwnRule) {
  AnyState state = AnyState::of(Picky{3});
  merge(state, AnyState::of(Picky{2}), "Metric");
  EXPECT_EQ(state.get<Picky>().value, 6);
  EXPECT_THROW(merge(state, AnyState::of(Picky{-2}), "Metric"),
               c10::ValueError);
  EXPECT_EQ(state.get<Picky>().value, 6);
}

TEST(AnyStateTest, CopiesAreApart) {
  AnyState state = AnyState::of(Sums{1, 1, pair(1, 2), Rows(pair(1, 2))});
  const AnyState copy = state;
  merge(state, AnyState::of(Sums{1, 1, pair(1, 2), Rows(pair(3, 4))}), "");
  expect_equal(copy.get<Sums>().tensor, pair(1, 2));
  expect_equal(copy.get<Sums>().rows.tensor(), pair(1, 2));
  EXPECT_EQ(copy.fields().size(), 4);
  EXPECT_FALSE(AnyState().defined());
}

// Collects, and sums up in its own time; from 9 on it refuses to.
struct Pile {
  std::int64_t summed = 0;
  std::int64_t collected = 0;
  void fields(Fields& f) { f("summed", summed)("collected", collected); }
  void compact() {
    TORCH_CHECK_VALUE(collected < 9, "expected less, got ", collected);
    if (collected < 3) return;
    summed += std::exchange(collected, 0);
  }
};

TEST(AnyStateTest, CompactsBeforeAMerge) {
  AnyState state = AnyState::of(Pile{0, 2});
  merge(state, AnyState::of(Pile{0, 5}), "");
  EXPECT_EQ(state.get<Pile>().summed, 0);
  EXPECT_EQ(state.get<Pile>().collected, 7);
  merge(state, AnyState::of(Pile{0, 9}), "");
  EXPECT_EQ(state.get<Pile>().summed, 7);
  EXPECT_EQ(state.get<Pile>().collected, 9);
  EXPECT_THROW(merge(state, AnyState::of(Pile{0, 1}), ""), c10::ValueError);
  EXPECT_EQ(state.get<Pile>().summed, 7);
  EXPECT_EQ(state.get<Pile>().collected, 9);
}

TEST(AnyStateTest, NothingChangesBeforeTheCommit) {
  AnyState into = AnyState::of(Sums{1, 1, pair(1, 2), Rows(pair(1, 2))});
  AnyState from = AnyState::of(Sums{1, 1, pair(1, 2), Rows(pair(1, 2))});
  PendingMerge pending(into.ops(), into.data(), from.data(), "Metric");
  EXPECT_EQ(into.get<Sums>().count, 1);
  expect_equal(into.get<Sums>().tensor, pair(1, 2));
  expect_equal(into.get<Sums>().rows.tensor(), pair(1, 2));
  pending.commit();
  EXPECT_EQ(into.get<Sums>().count, 2);
  EXPECT_EQ(into.get<Sums>().rows.size(), 4);
}

constexpr NoteKind kKind{"noted", "something is odd", "do otherwise"};

struct Noted {
  Note note{kKind};
  void fields(Fields& f) { f(note); }
};

Noted noted(std::int64_t rows, std::initializer_list<std::int64_t> marks) {
  Noted state;
  state.note.add_rows(rows);
  for (const std::int64_t row : marks) state.note.mark(row);
  return state;
}

void expect_note(const Note& note, std::int64_t rows, std::int64_t count,
                 std::int64_t first) {
  EXPECT_EQ(note.rows(), rows);
  EXPECT_EQ(note.count(), count);
  EXPECT_EQ(note.first(), first);
}

TEST(NoteTest, CountsRowsAndKeepsTheFirst) {
  expect_note(noted(5, {3, 3, 1}).note, 5, 2, 1);
  Note parts(kKind);
  parts.add_rows(5);
  parts.add_marks(noted(0, {4}).note);
  parts.add_marks(noted(0, {}).note);
  parts.add_marks(2, 1);
  expect_note(parts, 5, 3, 1);
}

TEST(NoteTest, MergesInOrderAndAssociatively) {
  const Noted a = noted(2, {}), b = noted(3, {1, 2}), c = noted(1, {0});
  EXPECT_EQ(fields_of(const_cast<Noted&>(a)).schema(), "noted:note:cat;");
  Noted left = a, right = b, identity;
  merge(left, b);
  merge(left, c);
  merge(right, c);
  Noted all = a;
  merge(all, right);
  for (Noted* state : {&left, &all}) {
    merge(*state, Noted());
    merge(identity, *state);
    expect_note(state->note, 6, 3, 3);
  }
  expect_note(identity.note, 12, 6, 3);
}

}  // namespace
}  // namespace tally
