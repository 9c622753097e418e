#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <stdexcept>

#include "tally/sync/exchange/exchange.h"
#include "tally/sync/gather.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/storm/calls.h"

// What ranks make of a header or state that does not arrive as it was sent:
// every rank the same error, and never another value.

namespace tally::sync::internal {
namespace {

using storm::Call;
using ::testing::HasSubstr;
using testkit::collect_thread_ranks;
using testkit::flip_bit;

constexpr int kRanks = 3;
constexpr int kDamaged = 1;

std::vector<Call> all_calls() {
  std::vector<Call> calls = storm::collective_calls();
  for (Call& call : storm::metric_calls()) calls.push_back(std::move(call));
  return calls;
}

Call call_named(const std::string& name) {
  for (Call& call : all_calls()) {
    if (call.name == name) return call;
  }
  throw std::out_of_range(name);
}

struct Flip {
  std::int64_t collective;
  std::int64_t bit;
};

/// What the ranks threw when one bit of what one of them sent was another, and
/// what they got.
struct Ending {
  std::vector<std::exception_ptr> errors;
  std::vector<std::string> values;
};
Ending ending_of(const Call& call, unsigned seed,
                 const std::optional<Flip>& flip) {
  Ending ending;
  ending.values.resize(kRanks);
  ending.errors =
      collect_thread_ranks(kRanks, [&](std::shared_ptr<Communicator> ranks) {
        const int rank = ranks->rank();
        if (flip && rank == kDamaged) {
          ranks = flip_bit(ranks, flip->collective, flip->bit);
        }
        const CommunicatorGuard guard(ranks);
        ending.values[rank] = call.run(seed);
      });
  return ending;
}
std::vector<std::exception_ptr> errors_of(const Call& call, unsigned seed,
                                          const Flip& flip) {
  return ending_of(call, seed, flip).errors;
}

/// Fails unless all ranks threw one of these, and the same.
void expect_one_error(const std::vector<std::exception_ptr>& errors,
                      const std::set<SyncErrorCode>& codes) {
  std::set<SyncErrorCode> seen;
  for (const std::exception_ptr& error : errors) {
    ASSERT_TRUE(error) << "a rank took it for what was sent";
    try {
      std::rethrow_exception(error);
    } catch (const SyncError& thrown) {
      seen.insert(thrown.code());
      EXPECT_THAT(thrown.details().peers, ::testing::Contains(kDamaged));
    } catch (const std::exception& thrown) {
      FAIL() << thrown.what();
    }
  }
  ASSERT_EQ(seen.size(), 1);
  EXPECT_TRUE(codes.count(*seen.begin()) == 1);
}

TEST(MalformedTest, EveryBitOfAHeaderCounts) {
  for (const char* name : {"gather_all_tensors", "compute of BinaryAUROC"}) {
    const Call call = call_named(name);
    for (std::int64_t bit = 0; bit < 8 * Exchange::kHeaderBytes; ++bit) {
      SCOPED_TRACE(std::string(name) + ", bit " + std::to_string(bit));
      // The first two fields are magic and version.
      const bool is_version = bit < 8 * 6;
      expect_one_error(
          errors_of(call, 1, {0, bit}),
          {is_version ? SyncErrorCode::kMismatch : SyncErrorCode::kTransport});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MalformedTest, EveryCallRefusesWhatWasNotSent) {
  for (const Call& call : all_calls()) {
    if (!call.ends_at_once) continue;
    const Ending sent = ending_of(call, 2, std::nullopt);
    for (const std::int64_t bit : {40, 300, 8 * 64, 8 * 64 + 13}) {
      SCOPED_TRACE(call.name + ", bit " + std::to_string(bit));
      const Ending ending = ending_of(call, 2, Flip{0, bit});
      // Nobody reads what is behind a header whose payload comes later.
      if (bit >= 8 * 64 && ending.values == sent.values) continue;
      expect_one_error(ending.errors,
                       {SyncErrorCode::kMismatch, SyncErrorCode::kTransport});
      if (HasFatalFailure()) return;
    }
  }
}

// Sends rows that do not fit behind the header.
TEST(MalformedTest, EveryByteOfALongStateCounts) {
  const Call call{
      "rows", [](unsigned seed) {
        storm::Draw draw(seed);
        std::string bytes;
        for (const at::Tensor& slot : gather_all_tensors(draw.values({5000}))) {
          storm::append(bytes, slot);
        }
        return bytes;
      }};
  const std::int64_t bytes = 5000 * 8;
  for (std::int64_t byte = 0; byte < bytes; byte += 97) {
    SCOPED_TRACE(byte);
    expect_one_error(errors_of(call, 3, {1, 8 * byte + byte % 8}),
                     {SyncErrorCode::kTransport});
    if (HasFatalFailure()) return;
  }
}

TEST(MalformedTest, TheGroupIsNotUsedAgain) {
  const Call call = call_named("all_gather");
  const auto errors =
      collect_thread_ranks(kRanks, [&](std::shared_ptr<Communicator> ranks) {
        if (ranks->rank() == kDamaged) ranks = flip_bit(ranks, 0, 8 * 30);
        const CommunicatorGuard guard(ranks);
        EXPECT_THROW(call.run(1), SyncError);
        EXPECT_THAT(ranks->broken_reason(), HasSubstr("from rank 1"));
        try {
          call.run(1);
          ADD_FAILURE() << "used again";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kGroupBroken);
          EXPECT_THAT(error.message(), HasSubstr(ranks->broken_reason()));
        }
      });
  for (const auto& error : errors) EXPECT_FALSE(error);
}

}  // namespace
}  // namespace tally::sync::internal
