#include "tally/tests/metrics/same_name.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/metrics/collection.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/wrappers/running.h"
#include "tally/sync/errors.h"
#include "tally/testing/thread_ranks.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

double number(const Results& results, const std::string& name) {
  return results.at(name).item<double>();
}

const at::Tensor& seen() {
  static const at::Tensor values = at::tensor({1., 2., 4.}, at::kDouble);
  return values;
}

// Two observers of one name in two files: texts are equal, keys are not.
TEST(SameNameTest, KeysDifferByTheObserversType) {
  EXPECT_EQ(make_sum_of_seen()->state_key().text(),
            make_squares_of_seen()->state_key().text());
  EXPECT_NE(make_sum_of_seen()->state_key(),
            make_squares_of_seen()->state_key());
  EXPECT_EQ(make_sum_of_seen()->state_key(), make_sum_of_seen()->state_key());
}

TEST(SameNameTest, ACollectionGivesEachItsState) {
  MetricCollection metrics;
  metrics.add("sum", make_sum_of_seen());
  metrics.add("largest", make_largest_seen());
  metrics.add("squares", make_squares_of_seen());
  metrics.add("last", Running(make_sum_of_seen(), 2));
  metrics.add("last_largest", Running(make_largest_seen(), 2));
  metrics.update(seen());
  metrics.update(seen());
  const Results results = metrics.compute();
  EXPECT_EQ(number(results, "sum"), 14);
  EXPECT_EQ(number(results, "largest"), 4);
  EXPECT_EQ(number(results, "squares"), 42);
  EXPECT_EQ(number(results, "last"), 14);
  EXPECT_EQ(number(results, "last_largest"), 4);
}

TEST(SameNameTest, ArithmeticGivesEachItsState) {
  const auto sum = make_sum_of_seen();
  const auto squares = make_squares_of_seen();
  auto both = *sum + 2 * *squares;
  both.update(seen());
  EXPECT_EQ(both.compute().item<double>(), 7 + 2 * 21);
  EXPECT_NE((*sum + 1).state_key(), (*squares + 1).state_key());
}

TEST(SameNameTest, StatesAreNotMerged) {
  const auto sum = make_sum_of_seen();
  const auto squares = make_squares_of_seen();
  sum->update(seen());
  squares->update(seen());
  try {
    sum->merge_state(*squares);
    FAIL() << "merged";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                AllOf(HasSubstr("SumSeen"), HasSubstr("SquaresSeen")));
  }
  EXPECT_EQ(number(sum->compute_results(), ""), 7);
}

TEST(SameNameTest, OtherFieldsAreNotLoaded) {
  const auto largest = make_largest_seen();
  largest->update(seen());
  const auto sum = make_sum_of_seen();
  EXPECT_FALSE(sum->deserialize(largest->serialize()).ok());
  EXPECT_EQ(sum->update_count(), 0);
}

TEST(SameNameTest, RanksWithOneOfEachSaySo) {
  for (const auto other : {make_largest_seen, make_squares_of_seen}) {
    testkit::run_thread_ranks(2, [&](const auto& communicator) {
      const sync::CommunicatorGuard guard(communicator);
      const auto metric =
          communicator->rank() == 0 ? make_sum_of_seen() : other();
      metric->update(seen());
      try {
        metric->compute_results();
        ADD_FAILURE() << "synced";
      } catch (const sync::SyncError& error) {
        EXPECT_EQ(error.code(), sync::SyncErrorCode::kMismatch);
        EXPECT_THAT(error.message(), HasSubstr("SumSeen"));
      }
    });
  }
}

}  // namespace

}  // namespace tally
