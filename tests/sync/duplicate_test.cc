#include "tally/sync/duplicate.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "tally/port/gloo.h"
#include "tally/sync/agree.h"
#include "tally/sync/process_group.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::sync {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::run_thread_ranks;

testkit::ThreadRanksOptions over_gloo() {
  testkit::ThreadRanksOptions options;
  options.transport = testkit::ThreadTransport::kGloo;
  return options;
}

double sum_over(Communicator& ranks, double value) {
  at::Tensor tensor = at::full({1}, value, at::kDouble);
  ranks.all_reduce(tensor, ReduceOp::kSum);
  return tensor.item<double>();
}

class DuplicateTest : public ::testing::TestWithParam<int> {};

// In opposite orders on odd and even ranks, at the same time.
TEST_P(DuplicateTest, CallsOfTwoGroupsDoNotMeet) {
  run_thread_ranks(
      GetParam(),
      [](const auto& first) {
        first->set_timeout(std::chrono::seconds(7));
        const auto second = duplicate();
        const auto third = duplicate(second);
        EXPECT_EQ(second->timeout(), first->timeout());
        EXPECT_EQ(second->rank(), first->rank());
        EXPECT_EQ(second->size(), first->size());
        const double ranks = first->size();
        std::thread other([&] {
          for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(sum_over(*second, i), i * ranks);
          }
        });
        for (int i = 0; i < 50; ++i) {
          EXPECT_EQ(sum_over(*third, 2 * i), 2 * i * ranks);
          EXPECT_EQ(sum_over(*first, 3 * i), 3 * i * ranks);
        }
        other.join();
      },
      over_gloo());
}

INSTANTIATE_TEST_SUITE_P(Ranks, DuplicateTest, ::testing::Values(1, 2, 3, 5),
                         ::testing::PrintToStringParamName());

TEST(DuplicateErrorsTest, OneGroupMayEndAndTheOtherGoesOn) {
  run_thread_ranks(
      2,
      [](const auto& first) {
        const auto second = duplicate();
        second->give_up(std::make_exception_ptr(std::runtime_error("enough")));
        EXPECT_THAT(refusal_of<SyncError>([&] { sum_over(*second, 1); }),
                    HasSubstr("enough"));
        EXPECT_EQ(sum_over(*first, 1), 2);
      },
      over_gloo());
}

TEST(DuplicateErrorsTest, OthersThanTallysOwnAreRefused) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  run_thread_ranks(2, [&](const auto& memory) {
    const auto group = make_communicator(
        port::make_gloo_backend(store, memory->rank(), memory->size(),
                                std::chrono::seconds(20), {"127.0.0.1", ""}));
    EXPECT_THAT(refusal_of([&] { duplicate(group); }),
                HasSubstr("expected a communicator that Tally connected, got"));
    EXPECT_EQ(sum_over(*group, 1), 2);
  });
}

TEST(DuplicateErrorsTest, AnotherCallOnSomeRankIsAMismatch) {
  run_thread_ranks(
      2,
      [](const auto& group) {
        try {
          if (group->rank() == 0) {
            duplicate();
          } else {
            duplicate(duplicate(single_process_communicator()));
            sync::Call call("something else");
            sync::agree(call, [] { return Offer(); });
          }
          ADD_FAILURE() << "duplicated by one rank";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
        }
        EXPECT_EQ(sum_over(*duplicate(), 1), 2);
      },
      over_gloo());
}

}  // namespace
}  // namespace tally::sync
