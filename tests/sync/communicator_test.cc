#include "tally/sync/communicator.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "tally/sync/base/transport_errors.h"
#include "tally/testing/expect_sync_error.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using ::tally::testkit::FaultyCommunicator;
using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Hook = FaultyCommunicator::Hook;

std::shared_ptr<Communicator> faulty(Hook hook) {
  return std::make_shared<FaultyCommunicator>(single_process_communicator(),
                                              std::move(hook));
}

Hook throwing(const std::string& text) {
  return [text](std::int64_t) { throw std::runtime_error(text); };
}

/// The SyncError that a gather on this communicator throws.
SyncError error_of_gather(Communicator& communicator) {
  at::Tensor input = at::ones({2});
  at::Tensor output = at::empty({2});
  return testkit::sync_error_of([&] { communicator.all_gather(input, output); })
      .value();
}

TEST(TransportErrorsTest, TellsEventsApartByText) {
  const auto lost = {
      "[pair.cc:534] Connection closed by peer [127.0.0.1]:4242",
      "Read error [127.0.0.1]:4242: Connection reset by peer",
      "writev [127.0.0.1]:4242: Broken pipe",
      "connect: Connection refused",
      "readv [127.0.0.1]:4242: Software caused connection abort",
      "Failed to recv, got 0 bytes. Connection was likely closed. Did the "
      "remote server shutdown or crash?"};
  for (const char* text : lost) {
    EXPECT_EQ(internal::classify_transport_message(text),
              SyncErrorCode::kPeerLost)
        << text;
  }
  const auto late = {"Timed out waiting 3000ms for recv operation to complete",
                     "Application timeout caused pair closure",
                     "Operation timed out!",
                     "wait timeout after 1500ms, keys: /x/0/1"};
  for (const char* text : late) {
    EXPECT_EQ(internal::classify_transport_message(text),
              SyncErrorCode::kTimeout)
        << text;
  }
  EXPECT_EQ(internal::classify_transport_message("Invalid scalar type"),
            SyncErrorCode::kTransport);
}

TEST(SyncErrorTest, MessagesOfTheTransportEndBeforeItsAdvice) {
  // As LibTorch 2.15 has it.
  EXPECT_EQ(internal::without_advice(
                "[gloo/transport/tcp/pair.cc:547] Connection closed by peer "
                "[127.0.0.1]:25911. This is typically caused by a remote "
                "worker crashing. Check the logs of the remote worker before "
                "reporting an error. GLHF!"),
            "[gloo/transport/tcp/pair.cc:547] Connection closed by peer "
            "[127.0.0.1]:25911");
  const std::string whole =
      "Failed to recv, got 0 bytes. Connection was likely closed. Did the "
      "remote server shutdown or crash?";
  EXPECT_EQ(internal::without_advice(whole), whole);
  EXPECT_EQ(internal::without_advice(" This is typically caused by x"), "");
}

TEST(SingleProcessCommunicatorTest, CollectivesAreCopies) {
  auto alone = single_process_communicator();
  EXPECT_EQ(alone->rank(), 0);
  EXPECT_EQ(alone->size(), 1);
  EXPECT_EQ(alone->device(), at::kCPU);
  EXPECT_EQ(alone->describe(), "single process");

  at::Tensor input = at::arange(6, at::kInt).view({2, 3});
  at::Tensor output = at::zeros({6}, at::kInt);
  alone->all_gather(input, output);
  EXPECT_TRUE(output.equal(at::arange(6, at::kInt)));
  alone->all_reduce(output, ReduceOp::kSum);
  alone->broadcast(output, 0);
  EXPECT_TRUE(output.equal(at::arange(6, at::kInt)));
  EXPECT_EQ(alone->collectives(), 3);

  at::Tensor copy = at::zeros({6}, at::kInt);
  alone->all_to_all(input, {6}, copy, {6});
  EXPECT_TRUE(copy.equal(output));
  copy.zero_();
  alone->start_all_gather(input, copy).wait();
  EXPECT_TRUE(copy.equal(output));
  copy.zero_();
  alone->start_send_receive(output, 0, copy, 0).wait();
  EXPECT_TRUE(copy.equal(output));
  EXPECT_EQ(alone->collectives(), 6);
}

TEST(CommunicatorTest, BadArgumentsAreValueErrorsAndHarmless) {
  auto alone = single_process_communicator();
  at::Tensor good = at::ones({2, 3});
  at::Tensor output = at::empty({6});
  at::Tensor undefined;
  at::Tensor transposed = good.t();
  at::Tensor with_graph = at::ones({6}).requires_grad_();
  at::Tensor other_dtype = at::empty({6}, at::kLong);
  at::Tensor too_small = at::empty({5});
  at::Tensor elsewhere = at::empty({6}, at::TensorOptions().device(at::kMeta));
  at::Tensor int16 = at::ones({2}, at::kShort);

  EXPECT_THROW(alone->all_gather(undefined, output), c10::ValueError);
  EXPECT_THROW(alone->all_gather(transposed, output), c10::ValueError);
  EXPECT_THROW(alone->all_gather(with_graph, output), c10::ValueError);
  EXPECT_THROW(alone->all_gather(good, with_graph), c10::ValueError);
  EXPECT_THROW(alone->all_gather(good, other_dtype), c10::ValueError);
  EXPECT_THROW(alone->all_gather(good, too_small), c10::ValueError);
  EXPECT_THROW(alone->all_gather(good, elsewhere), c10::ValueError);
  EXPECT_THROW(alone->broadcast(good, 1), c10::ValueError);
  EXPECT_THROW(alone->broadcast(good, -1), c10::ValueError);
  EXPECT_THROW(alone->all_to_all(good, {5}, output, {6}), c10::ValueError);
  EXPECT_THROW(alone->all_to_all(good, {6}, output, {3, 3}), c10::ValueError);
  EXPECT_THROW(alone->all_to_all(good, {6}, output, {}), c10::ValueError);
  EXPECT_THROW(alone->all_to_all(good, {6}, other_dtype, {6}), c10::ValueError);
  EXPECT_THROW(alone->all_to_all(transposed, {6}, output, {6}),
               c10::ValueError);
  EXPECT_THROW(alone->start_all_gather(good, too_small), c10::ValueError);
  EXPECT_THROW(alone->start_send_receive(good, 1, output, 0), c10::ValueError);
  EXPECT_THROW(alone->start_send_receive(good, 0, output, -1), c10::ValueError);
  EXPECT_THROW(alone->start_send_receive(with_graph, 0, output, 0),
               c10::ValueError);
  EXPECT_THROW(alone->set_timeout(std::chrono::milliseconds(0)),
               c10::ValueError);
  EXPECT_THROW(alone->all_gather(good, output, std::chrono::milliseconds(-1)),
               c10::ValueError);
  try {
    alone->all_reduce(int16, ReduceOp::kSum);
    FAIL() << "int16 was reduced";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr("Short"));
  }

  EXPECT_EQ(alone->collectives(), 0);
  EXPECT_EQ(alone->broken_reason(), "");
  alone->all_gather(good, output);
}

TEST(CommunicatorTest, TimeoutsAreCheckedWhereTheyAreMade) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  EXPECT_THROW(Timeout(milliseconds(0)), c10::ValueError);
  EXPECT_THROW(Timeout(hours(-1)), c10::ValueError);
  EXPECT_THROW(Timeout(std::chrono::microseconds(999)), c10::ValueError);
  EXPECT_EQ(Timeout(seconds(2)), Timeout(milliseconds(2000)));
  EXPECT_NE(Timeout(seconds(2)), Timeout());
  EXPECT_EQ(*Timeout(hours::max()), milliseconds::max());
  EXPECT_FALSE(Timeout(std::nullopt));
}

TEST(CommunicatorTest, TransportExceptionBecomesSyncErrorAndBreaksTheGroup) {
  auto broken = faulty(throwing("Connection closed by peer [::1]:1\nat x.cc"));
  const SyncError first = error_of_gather(*broken);
  EXPECT_EQ(first.code(), SyncErrorCode::kPeerLost);
  EXPECT_EQ(first.details().phase, "all_gather");
  EXPECT_EQ(first.details().rank, 0);
  EXPECT_EQ(first.message(),
            "all_gather failed on single process: Connection closed by "
            "peer [::1]:1");

  const SyncError second = error_of_gather(*broken);
  EXPECT_EQ(second.code(), SyncErrorCode::kGroupBroken);
  EXPECT_THAT(second.message(), HasSubstr(first.message()));
  EXPECT_EQ(broken->broken_reason(), first.message());
  EXPECT_EQ(broken->collectives(), 1);
}

TEST(CommunicatorTest, CodeFollowsWhatHappened) {
  EXPECT_EQ(error_of_gather(*faulty(throwing("Timed out waiting 9ms"))).code(),
            SyncErrorCode::kTimeout);
  EXPECT_EQ(error_of_gather(*faulty(throwing("something else"))).code(),
            SyncErrorCode::kTransport);
  EXPECT_EQ(error_of_gather(*faulty([](std::int64_t) {
              TORCH_CHECK(false, "Invalid scalar type");
            })).message(),
            "all_gather failed on single process: Invalid scalar type");
}

TEST(CommunicatorTest, OnlyLossTimeoutAndTransportBreakTheGroup) {
  for (auto code : {SyncErrorCode::kPeerLost, SyncErrorCode::kTimeout,
                    SyncErrorCode::kTransport}) {
    auto broken = faulty(tally::testkit::fail_at(0, code));
    EXPECT_EQ(error_of_gather(*broken).code(), code);
    EXPECT_EQ(error_of_gather(*broken).code(), SyncErrorCode::kGroupBroken);
  }
  for (auto code : {SyncErrorCode::kMismatch, SyncErrorCode::kPeerFailed,
                    SyncErrorCode::kInvalidUse}) {
    auto usable = faulty(tally::testkit::fail_at(0, code));
    EXPECT_EQ(error_of_gather(*usable).code(), code);
    at::Tensor tensor = at::ones({2});
    usable->all_reduce(tensor, ReduceOp::kSum);
    EXPECT_EQ(usable->broken_reason(), "");
  }
}

TEST(CommunicatorTest, SecondThreadIsRefusedAndFirstGoesOn) {
  std::promise<void> inside, leave;
  auto shared = faulty([&](std::int64_t) {
    inside.set_value();
    leave.get_future().wait();
  });
  std::thread first([&] {
    at::Tensor tensor = at::ones({2});
    shared->all_reduce(tensor, ReduceOp::kSum);
  });
  inside.get_future().wait();
  EXPECT_EQ(error_of_gather(*shared).code(), SyncErrorCode::kInvalidUse);
  leave.set_value();
  first.join();
  EXPECT_EQ(shared->collectives(), 1);
  EXPECT_EQ(shared->broken_reason(), "");
}

class TransfersTest
    : public ::testing::TestWithParam<testkit::ThreadTransport> {
 protected:
  void on_ranks(int ranks, const testkit::RankFunction& function) const {
    testkit::ThreadRanksOptions options;
    options.transport = GetParam();
    run_thread_ranks(ranks, function, options);
  }
};

/// What rank r gives to rank q: no element at all for some.
at::Tensor part(int r, int q, at::ScalarType dtype) {
  return at::full({(r + 2 * q) % 4}, 10 * r + q, at::kDouble).to(dtype);
}

TEST_P(TransfersTest, AllToAllGivesEachRankItsParts) {
  for (int size : {1, 2, 3}) {
    on_ranks(size, [&](std::shared_ptr<Communicator> group) {
      for (at::ScalarType dtype :
           {at::kFloat, at::kDouble, at::kBFloat16, at::kLong, at::kShort,
            at::kBool, at::kComplexDouble, at::kFloat8_e4m3fn}) {
        std::vector<at::Tensor> sent, received;
        std::vector<std::int64_t> sent_counts, received_counts;
        for (int r = 0; r < size; ++r) {
          sent.push_back(part(group->rank(), r, dtype));
          received.push_back(part(r, group->rank(), dtype));
          sent_counts.push_back(sent.back().numel());
          received_counts.push_back(received.back().numel());
        }
        const at::Tensor expected = at::cat(received);
        at::Tensor output = at::zeros(expected.sizes(), dtype);
        const auto counts = sent_counts;
        group->all_to_all(at::cat(sent), sent_counts, output, received_counts);
        EXPECT_TRUE(output.to(at::kComplexDouble)
                        .equal(expected.to(at::kComplexDouble)))
            << dtype;
        EXPECT_EQ(sent_counts, counts);
      }
    });
  }
}

TEST_P(TransfersTest, GathersGoOnBehindOtherCollectives) {
  on_ranks(3, [](std::shared_ptr<Communicator> group) {
    const at::Tensor input = at::full({1000}, group->rank());
    at::Tensor output = at::zeros({3000}, input.options());
    const auto before = group->collectives();
    Transfer transfer = group->start_all_gather(input, output);
    EXPECT_TRUE(transfer.pending());
    at::Tensor sum = at::ones({2});
    group->all_reduce(sum, ReduceOp::kSum);
    EXPECT_TRUE(sum.equal(at::full({2}, 3.0f)));
    transfer.wait();
    EXPECT_FALSE(transfer.pending());
    EXPECT_TRUE(output.equal(
        at::arange(3).to(input.options()).repeat_interleave(1000)));
    transfer.wait();
    EXPECT_EQ(group->collectives(), before + 2);
  });
}

TEST_P(TransfersTest, TensorsOfAnySizePassAroundTheRing) {
  for (int size : {1, 2, 3}) {
    on_ranks(size, [&](std::shared_ptr<Communicator> group) {
      const auto of = [](int rank) {
        return at::full({rank * 700}, rank, at::kShort);
      };
      const int rank = group->rank();
      const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
      at::Tensor received = at::empty({previous * 700}, at::kShort);
      for (int i = 0; i < 3; ++i) {
        received.fill_(-1);
        Transfer transfer =
            group->start_send_receive(of(rank), next, received, previous);
        transfer.wait();
        EXPECT_TRUE(received.equal(of(previous)));
      }
    });
  }
}

TEST_P(TransfersTest, TransfersAreFinishedWhenDropped) {
  on_ranks(2, [](std::shared_ptr<Communicator> group) {
    const at::Tensor input = at::full({4}, group->rank() + 1);
    at::Tensor output = at::zeros({8}, input.options());
    {
      Transfer first = group->start_all_gather(input, output);
      const Transfer second = std::move(first);
      EXPECT_FALSE(first.pending());
      EXPECT_TRUE(second.pending());
    }
    EXPECT_EQ(output.sum().item<double>(), 12);
    at::Tensor other = at::zeros({4}, input.options());
    const int peer = 1 - group->rank();
    group->start_send_receive(input, peer, other, peer);
    EXPECT_EQ(other[0].item<double>(), peer + 1);
  });
}

TEST_P(TransfersTest, LostPeersAreSeenByThoseWhoWait) {
  testkit::ThreadRanksOptions options;
  options.transport = GetParam();
  const auto errors = testkit::collect_thread_ranks(
      2,
      [](std::shared_ptr<Communicator> group) {
        if (group->rank() == 1) return;
        at::Tensor output = at::zeros({4});
        Transfer transfer;
        try {
          transfer = group->start_send_receive(at::ones({4}), 1, output, 1);
          transfer.wait();
          ADD_FAILURE() << "nobody was there";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
        }
        try {
          group->all_reduce(output, ReduceOp::kSum);
          ADD_FAILURE() << "the group goes on";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kGroupBroken);
        }
      },
      options);
  for (const auto& error : errors) EXPECT_FALSE(error);
}

INSTANTIATE_TEST_SUITE_P(Transports, TransfersTest,
                         ::testing::Values(testkit::ThreadTransport::kMemory,
                                           testkit::ThreadTransport::kGloo),
                         testkit::TransportName());

TEST(CommunicatorTest, TransfersThatFailBreakTheGroup) {
  auto broken = faulty(throwing("Broken pipe"));
  at::Tensor output = at::empty({2});
  EXPECT_THROW(broken->start_all_gather(at::ones({2}), output), SyncError);
  EXPECT_EQ(error_of_gather(*broken).code(), SyncErrorCode::kGroupBroken);
  auto other = faulty(throwing("Broken pipe"));
  EXPECT_THROW(other->start_send_receive(at::ones({2}), 0, output, 0),
               SyncError);
  EXPECT_THROW(other->all_to_all(at::ones({2}), {2}, output, {2}), SyncError);
}

TEST(DefaultCommunicatorTest, GuardThenProcessThenAlone) {
  EXPECT_EQ(default_communicator()->describe(), "single process");
  auto process = faulty([](std::int64_t) {});
  auto outer = faulty([](std::int64_t) {});
  auto inner = faulty([](std::int64_t) {});
  set_default_communicator(process);
  {
    CommunicatorGuard outer_guard(outer);
    {
      CommunicatorGuard inner_guard(inner);
      EXPECT_EQ(default_communicator(), inner);
      std::thread([&] { EXPECT_EQ(default_communicator(), process); }).join();
    }
    EXPECT_EQ(default_communicator(), outer);
  }
  EXPECT_EQ(default_communicator(), process);
  set_default_communicator(nullptr);
  EXPECT_EQ(default_communicator()->describe(), "single process");
}

TEST(DefaultCommunicatorTest, ThreadsWithoutAGroupDoNotExcludeEachOther) {
  const auto here = default_communicator();
  std::thread([&] { EXPECT_NE(default_communicator(), here); }).join();
  EXPECT_EQ(default_communicator(), here);
}

}  // namespace
}  // namespace tally::sync
