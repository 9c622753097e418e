#include "tally/tests/testing/allocation_fault_check.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tally/state/joined.h"
#include "tally/sync/collectives.h"
#include "tally/testing/allocation_fault.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::testkit {
namespace {

using ::testing::HasSubstr;
using Group = std::shared_ptr<sync::Communicator>;

constexpr int kRanks = 3;
constexpr int kFaulty = 1;

struct Outcome {
  bool right = false;
  std::optional<sync::SyncErrorCode> code;
  std::string text;
  bool usable = false;
};

template <class Call>
Outcome outcome_of(const Group& group, const Call& call) {
  Outcome outcome;
  try {
    outcome.right = call();
    EXPECT_TRUE(outcome.right) << "on rank " << group->rank();
  } catch (const sync::SyncError& error) {
    outcome.code = error.code();
    outcome.text = error.message();
  } catch (const std::exception& error) {
    outcome.text = sync::describe(error);
  }
  return outcome;
}

bool is_usable(const Group& group) {
  return outcome_of(group,
                    [&] {
                      const at::Tensor sum = sync::all_reduce(
                          at::ones({}), sync::Reduction::kSum, group);
                      return sum.item<float>() == kRanks;
                    })
      .right;
}

// Whether there is an allocation with that number.
bool fail_one(const CallUnderFault& call, std::int64_t number,
              ThreadTransport transport) {
  std::vector<Outcome> outcomes(kRanks);
  bool happened = false;
  ThreadRanksOptions options;
  options.transport = transport;
  options.timeout = kLongTimeout;
  const auto start = std::chrono::steady_clock::now();
  run_thread_ranks(
      kRanks,
      [&](const Group& group) {
        Outcome& outcome = outcomes[group->rank()];
        std::optional<AllocationFault> fault;
        outcome = outcome_of(group, [&] {
          return call(group, [&] {
            if (group->rank() == kFaulty) fault.emplace(number);
          });
        });
        if (fault) happened = fault->happened();
        fault.reset();
        outcome.usable = is_usable(group);
      },
      options);
  EXPECT_LE(std::chrono::steady_clock::now() - start, kAtOnce)
      << internal::joined("\n", outcomes,
                          [](const Outcome& own) { return own.text; });

  for (int rank = 0; rank < kRanks; ++rank) {
    const Outcome& outcome = outcomes[rank];
    EXPECT_EQ(outcome.usable, outcomes[0].usable) << "on rank " << rank;
    if (rank == kFaulty || outcome.right) continue;
    EXPECT_TRUE(outcome.code) << outcome.text;
    const bool told = outcome.code == sync::SyncErrorCode::kPeerFailed;
    EXPECT_EQ(outcome.usable, told) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("injected: no memory"));
  }
  return happened;
}

}  // namespace

void check_allocation_faults(ThreadTransport transport,
                             const CallUnderFault& call) {
  std::int64_t number = 0;
  for (bool happened = true; happened; ++number) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "allocation " + std::to_string(number));
    happened = fail_one(call, number, transport);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(number, 1) << "nothing was allocated";
}

}  // namespace tally::testkit
