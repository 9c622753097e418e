#include "tally/sync/communicator.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "tally/sync/transport_errors.h"
#include "tally/tests/testing/faulty_communicator.h"

namespace tally::sync {
namespace {

using ::tally::testing::FaultyCommunicator;
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
  try {
    communicator.all_gather(input, output);
  } catch (const SyncError& error) {
    return error;
  }
  throw std::logic_error("all_gather succeeded");
}

TEST(TransportErrorsTest, TellsEventsApartByText) {
  const auto lost = {"[pair.cc:534] Connection closed by peer [127.0.0.1]:4242",
                     "Read error [127.0.0.1]:4242: Connection reset by peer",
                     "writev [127.0.0.1]:4242: Broken pipe",
                     "connect: Connection refused"};
  for (const char* text : lost) {
    EXPECT_EQ(classify_transport_message(text), SyncErrorCode::kPeerLost)
        << text;
  }
  const auto late = {"Timed out waiting 3000ms for recv operation to complete",
                     "Application timeout caused pair closure",
                     "Operation timed out!",
                     "wait timeout after 1500ms, keys: /x/0/1"};
  for (const char* text : late) {
    EXPECT_EQ(classify_transport_message(text), SyncErrorCode::kTimeout)
        << text;
  }
  EXPECT_EQ(classify_transport_message("Invalid scalar type"),
            SyncErrorCode::kTransport);
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

TEST(CommunicatorTest, TransportExceptionBecomesSyncErrorAndBreaksTheGroup) {
  auto broken = faulty(throwing("Connection closed by peer [::1]:1\nat x.cc"));
  const SyncError first = error_of_gather(*broken);
  EXPECT_EQ(first.code(), SyncErrorCode::kPeerLost);
  EXPECT_EQ(first.details().phase, "all_gather");
  EXPECT_EQ(first.details().rank, 0);
  EXPECT_EQ(first.message(),
            "all_gather failed on faulty single process: Connection closed by "
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
            "all_gather failed on faulty single process: Invalid scalar type");
}

TEST(CommunicatorTest, OnlyLossTimeoutAndTransportBreakTheGroup) {
  for (auto code : {SyncErrorCode::kPeerLost, SyncErrorCode::kTimeout,
                    SyncErrorCode::kTransport}) {
    auto broken = faulty(tally::testing::fail_at(0, code));
    EXPECT_EQ(error_of_gather(*broken).code(), code);
    EXPECT_EQ(error_of_gather(*broken).code(), SyncErrorCode::kGroupBroken);
  }
  for (auto code : {SyncErrorCode::kMismatch, SyncErrorCode::kPeerFailed,
                    SyncErrorCode::kInvalidUse}) {
    auto usable = faulty(tally::testing::fail_at(0, code));
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
