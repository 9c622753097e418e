// Gathers of ranks that have different numbers of bytes, and the exchanges and
// syncs made of them.

#include "tally/sync/exchange/byte_gather.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "tally/sync/collectives.h"
#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/sync/fingerprint.h"
#include "tally/testing/expect_sync_error.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync::internal {
namespace {

using testkit::run_thread_ranks;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kMB = std::int64_t{1} << 20;

at::Tensor bytes_of(int rank, std::int64_t size) {
  return at::arange(size).add(7 * rank).remainder(251).to(at::kByte);
}

std::int64_t sum(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

// What this rank has received. What it got by an all_to_all is its own part of
// an all_gather.
std::int64_t received(const Communicator& group) {
  std::int64_t bytes = 0;
  for (const auto& entry : group.account().entries()) {
    if (entry.operation == "all_gather") bytes += group.size() * entry.bytes;
  }
  return bytes;
}

std::map<std::string, std::int64_t> calls(const Communicator& group) {
  std::map<std::string, std::int64_t> calls;
  for (const auto& entry : group.account().entries()) {
    calls[entry.operation] += entry.calls;
  }
  return calls;
}

void expect_all(Communicator& group, const Sizes& sizes,
                ByteGather::Gaps gaps) {
  const int rank = group.rank();
  const at::Tensor own =
      sizes[rank] > 0 ? bytes_of(rank, sizes[rank]) : at::Tensor();
  ByteGather gather(own, sizes, gaps, at::kCPU, rank);
  gather.start(group, {}).wait();
  const at::Tensor all = gather.take();
  std::int64_t begin = 0;
  for (int r = 0; r < group.size(); ++r) {
    if (gaps == ByteGather::Gaps::kNone) {
      EXPECT_EQ(gather.begin(r), begin);
      begin += sizes[r];
    }
    EXPECT_TRUE(
        all.narrow(0, gather.begin(r), sizes[r]).equal(bytes_of(r, sizes[r])))
        << "rank " << r << " of sizes " << c10::IntArrayRef(sizes);
  }
  if (gaps == ByteGather::Gaps::kNone) {
    EXPECT_EQ(all.numel(), begin);
  }
}

// Of `ranks`: as many, about as many, one more than the others, with nothing,
// each with more than the last, fewer bytes than ranks, nothing at all.
std::vector<Sizes> all_sizes(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<Sizes> list{Sizes(n, 1000), Sizes(n, kMB), Sizes(n, 0),
                          Sizes(n, 3 * kMB / 2)};
  for (const std::int64_t size :
       {std::int64_t{1}, std::int64_t{1000}, 2 * kMB + 1}) {
    for (const std::int64_t others : {std::int64_t{0}, std::int64_t{5}}) {
      for (std::size_t r : {std::size_t{0}, n / 2, n - 1}) {
        list.emplace_back(n, others);
        list.back()[r] = size;
      }
    }
    list.emplace_back(n, size);
    list.back().back() += 1;
    list.emplace_back();
    for (int r = 0; r < ranks; ++r) list.back().push_back(r * size);
  }
  return list;
}

THREAD_RANKS_TEST(ByteGatherTest, BringsTheBytesOfAllRanks, 1, 2, 3, 5) {
  for (const Sizes& sizes : all_sizes(self.size())) {
    expect_all(*self.group(), sizes, ByteGather::Gaps::kNone);
    expect_all(*self.group(), sizes, ByteGather::Gaps::kAllowed);
  }
}

THREAD_RANKS_TEST(ByteGatherTest, EvensOutWhereThatPays, 3) {
  Communicator& group = *self.group();
  const auto collectives_of = [&](const Sizes& sizes, ByteGather::Gaps gaps) {
    const std::int64_t before = group.collectives();
    expect_all(group, sizes, gaps);
    return group.collectives() - before;
  };
  const auto none = ByteGather::Gaps::kNone;
  const auto allowed = ByteGather::Gaps::kAllowed;
  EXPECT_EQ(collectives_of({kMB, kMB, kMB}, none), 1);
  EXPECT_EQ(collectives_of({kMB, kMB, kMB + 1}, none), 2);
  EXPECT_EQ(collectives_of({kMB, kMB, kMB + 1}, allowed), 1);
  EXPECT_EQ(collectives_of({0, 0, kMB / 2}, allowed), 1);
  EXPECT_EQ(collectives_of({0, 0, kMB / 2 + 1}, allowed), 2);
  // The padding is an eighth, and then more than that.
  EXPECT_EQ(collectives_of({4 * kMB, 6 * kMB, 6 * kMB}, allowed), 1);
  EXPECT_EQ(collectives_of({4 * kMB - 1, 6 * kMB, 6 * kMB}, allowed), 2);
}

// --- exchanges

Contributions run(Communicator& group, std::string payload) {
  const std::string schema = "rows";
  Contribution own{ExchangeKind::kStates, "rows", fingerprint(schema),
                   [schema] { return schema; }};
  own.payload = std::make_shared<const std::string>(std::move(payload));
  return Exchange::run(group, own);
}

std::string text_of(int rank, std::int64_t size) {
  const at::Tensor bytes = bytes_of(rank, size);
  return {static_cast<const char*>(bytes.const_data_ptr()),
          static_cast<std::size_t>(size)};
}

// Nine tenths of everything are on one rank.
THREAD_RANKS_TEST(ByteGatherTest, ARankReceivesThePayloadsSum, 2, 3, 5) {
  for (int most = 0; most < self.size(); ++most) {
    Sizes sizes(self.size(), kMB / (self.size() - 1) + 13);
    sizes[most] = 9 * kMB;
    const auto size_of = [&](int r) { return sizes[r]; };
    self.group()->clear_account();
    const Contributions all =
        run(*self.group(), text_of(self.rank(), size_of(self.rank())));
    for (int r = 0; r < self.size(); ++r) {
      EXPECT_EQ(all.payloads[r], text_of(r, sizes[r]));
      // Aligned, so that they can be used in place.
      const auto address =
          reinterpret_cast<std::uintptr_t>(all.payloads[r].data());
      EXPECT_EQ(address % 64, 0);
    }
    const std::int64_t slots =
        self.size() * (Exchange::slot_bytes(self.size()) + 256);
    EXPECT_GE(received(*self.group()), sum(sizes) + slots);
    EXPECT_LE(received(*self.group()), sum(sizes) + slots + 128 * self.size());
    // Slots, room for what follows, parts.
    EXPECT_EQ(calls(*self.group()), (std::map<std::string, std::int64_t>{
                                        {"all_gather", 3}, {"all_to_all", 1}}));
  }
}

TEST(ByteGatherTest, DamagedBytesAreSeenByAllRanks) {
  // Among the bytes that even out, and in their parts.
  for (const std::int64_t collective : {2, 3}) {
    run_thread_ranks(3, [&](std::shared_ptr<Communicator> ranks) {
      const int rank = ranks->rank();
      if (rank == 1) ranks = testkit::flip_bit(ranks, collective, 8 * 1000);
      const auto error = testkit::sync_error_of(
          [&] { run(*ranks, text_of(rank, rank == 1 ? 4 * kMB : 100)); });
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->code(), SyncErrorCode::kTransport);
      EXPECT_EQ(error->details().peers, std::vector<int>{1});
      EXPECT_EQ(error->details().phase, "payload");
    });
  }
}

// --- states

struct Curve {
  Rows rows;
  void fields(Fields& f) { f("rows", rows); }
  // Travels whole.
  void compact() {}
};
struct Plain {
  Rows rows;
  void fields(Fields& f) { f("rows", rows); }
};

at::Tensor rows_of(int rank, std::int64_t rows) {
  return at::arange(rows, at::kDouble).add(0.25 * rank);
}

template <class State>
SyncItem item(int rank, std::int64_t rows) {
  State state;
  if (rows > 0) state.rows = Rows(rows_of(rank, rows));
  return {"rows", "Rows()", AnyState::of(std::move(state)),
          AnyState(state_ops<State>()), 1};
}

template <class State>
void expect_rows(const SyncResult& result, const Sizes& rows) {
  std::vector<at::Tensor> expected;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    expected.push_back(rows_of(static_cast<int>(r), rows[r]));
  }
  const auto& merged = result.states.front().get<State>();
  EXPECT_TRUE(merged.rows.tensor().equal(at::cat(expected)));
}

template <class State>
class UnevenStatesTest : public ::testing::Test {};
using States = ::testing::Types<Curve, Plain>;
TYPED_TEST_SUITE(UnevenStatesTest, States);

TYPED_THREAD_RANKS_TEST(UnevenStatesTest, AreReceivedOnce, 2, 3, 5) {
  const int ranks = self.size();
  Sizes idle(ranks, 0);
  idle.back() = 500'000;
  Sizes uneven(ranks, 50'000 / (ranks - 1));
  uneven.front() = 450'000;
  for (const Sizes& rows : {idle, uneven}) {
    self.group()->clear_account();
    const SyncResult result = sync_states(
        {item<TypeParam>(self.rank(), rows[self.rank()])}, self.group(), {});
    expect_rows<TypeParam>(result, rows);
    // What is few is padded to the longest of the few, or nearly nothing.
    EXPECT_GE(received(*self.group()), 8 * sum(rows));
    EXPECT_LE(received(*self.group()), 8 * sum(rows) * 3 / 2);
    EXPECT_EQ(calls(*self.group()).at("all_to_all"), 1);
  }
}

TYPED_THREAD_RANKS_TEST(UnevenStatesTest, AreReceivedInTheBackground, 3) {
  const Sizes rows{10, 400'000, 0};
  PendingSync pending({item<TypeParam>(self.rank(), rows[self.rank()])},
                      self.group(), {});
  // Another collective, before which round 2 begins.
  EXPECT_EQ(all_reduce(at::ones({}), Reduction::kSum, self.group())
                .template item<float>(),
            3);
  expect_rows<TypeParam>(pending.wait(), rows);
}

}  // namespace
}  // namespace tally::sync::internal
