#include "tally/sync/process_group.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "tally/port/gloo.h"
#include "tally/sync/gloo.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::kLongTimeout;
using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;
using ::testing::StartsWith;

testkit::ThreadRanksOptions gloo_ranks() {
  testkit::ThreadRanksOptions options;
  options.transport = testkit::ThreadTransport::kGloo;
  return options;
}

TEST(GlooCommunicatorTest, EveryDtypeIsGatheredAndBroadcast) {
  const auto dtypes = {at::kFloat,        at::kDouble,        at::kHalf,
                       at::kLong,         at::kInt,           at::kShort,
                       at::kChar,         at::kByte,          at::kBool,
                       at::kBFloat16,     at::kFloat8_e4m3fn, at::kFloat8_e5m2,
                       at::kComplexFloat, at::kComplexDouble};
  for (int size : {1, 2, 3}) {
    run_thread_ranks(
        size,
        [&](std::shared_ptr<Communicator> group) {
          for (at::ScalarType dtype : dtypes) {
            const auto value = [&](int rank) {
              return at::arange(rank, rank + 6).view({2, 3}).to(dtype);
            };
            at::Tensor output = at::empty({size, 2, 3}, dtype);
            group->all_gather(value(group->rank()), output);
            at::Tensor root = value(group->rank());
            group->broadcast(root, size - 1);
            for (int rank = 0; rank < size; ++rank) {
              EXPECT_TRUE(output[rank]
                              .to(at::kComplexDouble)
                              .equal(value(rank).to(at::kComplexDouble)))
                  << dtype;
            }
            EXPECT_TRUE(root.to(at::kComplexDouble)
                            .equal(value(size - 1).to(at::kComplexDouble)))
                << dtype;
          }
        },
        gloo_ranks());
  }
}

TEST(GlooCommunicatorTest, TheLongestTimeoutsDoNotOverflow) {
  run_thread_ranks(
      2,
      [](std::shared_ptr<Communicator> group) {
        const auto years = std::chrono::hours(24 * 365 * 300);
        group->set_timeout(milliseconds::max());
        for (const Timeout& timeout :
             {Timeout(), Timeout(years), Timeout(milliseconds::max())}) {
          at::Tensor tensor = at::ones({3});
          group->all_reduce(tensor, ReduceOp::kSum, timeout);
          EXPECT_EQ(tensor[0].item<double>(), 2);
          at::Tensor received = at::empty({3});
          const int peer = 1 - group->rank();
          group->start_send_receive(tensor, peer, received, peer, timeout)
              .wait();
          EXPECT_TRUE(received.equal(tensor));
        }
      },
      gloo_ranks());
}

TEST(GlooCommunicatorTest, ReducesEveryDtypeItSaysItDoes) {
  run_thread_ranks(
      3,
      [](std::shared_ptr<Communicator> group) {
        for (at::ScalarType dtype :
             {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt,
              at::kLong, at::kByte, at::kChar}) {
          const auto reduced = [&](ReduceOp op) {
            at::Tensor tensor = at::full({2, 2}, group->rank() + 1, dtype);
            group->all_reduce(tensor, op);
            return tensor.view(-1)[3].item<double>();
          };
          EXPECT_EQ(reduced(ReduceOp::kSum), 6) << dtype;
          EXPECT_EQ(reduced(ReduceOp::kMin), 1) << dtype;
          EXPECT_EQ(reduced(ReduceOp::kMax), 3) << dtype;
        }
      },
      gloo_ranks());
}

TEST(GlooCommunicatorTest, ScalarsAndEmptyTensorsWork) {
  run_thread_ranks(
      2,
      [](std::shared_ptr<Communicator> group) {
        at::Tensor both = at::empty({2}, at::kShort);
        group->all_gather(at::full({}, group->rank(), at::kShort), both);
        EXPECT_EQ(both[1].item<int>(), 1);
        at::Tensor none = at::empty({2, 0, 3});
        group->all_gather(at::empty({0, 3}), none);
        at::Tensor flags = at::empty({0}, at::kBool);
        group->broadcast(flags, 1);
        group->all_reduce(none, ReduceOp::kSum);
        EXPECT_EQ(group->describe(),
                  "gloo rank " + std::to_string(group->rank()) + " of 2");
      },
      gloo_ranks());
}

TEST(GlooCommunicatorTest, PerCallTimeoutIsHonoured) {
  run_thread_ranks(
      2,
      [](std::shared_ptr<Communicator> group) {
        at::Tensor tensor = at::ones({4});
        if (group->rank() == 1) {
          // Takes part in one collective less, and stays until it is missed.
          EXPECT_THROW(group->broadcast(tensor, 0), SyncError);
          return;
        }
        const auto start = std::chrono::steady_clock::now();
        at::Tensor both = at::empty({8});
        try {
          group->all_gather(tensor, both, milliseconds(300));
          FAIL() << "nobody else was there";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kTimeout) << error.what();
        }
        const auto took = std::chrono::steady_clock::now() - start;
        EXPECT_GE(took, milliseconds(290));
        EXPECT_LE(took, kAtOnce);
      },
      gloo_ranks());
}

TEST(GlooCommunicatorTest, BadArgumentsAreValueErrors) {
  auto store = c10::make_intrusive<c10d::HashStore>();
  GlooOptions no_time;
  no_time.timeout = milliseconds(0);
  EXPECT_THROW(make_gloo_communicator(nullptr, 0, 1), c10::ValueError);
  EXPECT_THROW(make_gloo_communicator(store, 2, 2), c10::ValueError);
  EXPECT_THROW(make_gloo_communicator(store, -1, 2), c10::ValueError);
  EXPECT_THROW(make_gloo_communicator(store, 0, 1, no_time), c10::ValueError);
}

TEST(GlooCommunicatorTest, UnknownInterfaceIsATransportError) {
  GlooOptions options;
  options.interface = "no-such-interface";
  try {
    make_gloo_communicator(c10::make_intrusive<c10d::HashStore>(), 0, 1,
                           options);
    FAIL() << "connected over an interface that does not exist";
  } catch (const SyncError& error) {
    EXPECT_EQ(error.code(), SyncErrorCode::kTransport);
    EXPECT_EQ(error.details().phase, "init");
  }
}

TEST(GlooCommunicatorTest, OwnInterfaceAndDefaultDeviceWork) {
  GlooOptions loopback;
  loopback.interface = "lo";
  for (const GlooOptions& options : {loopback, GlooOptions()}) {
    auto alone = make_gloo_communicator(c10::make_intrusive<c10d::HashStore>(),
                                        0, 1, options);
    at::Tensor tensor = at::ones({2});
    alone->all_reduce(tensor, ReduceOp::kSum);
    EXPECT_TRUE(tensor.equal(at::ones({2})));
  }
}

/// Like ranks that got these numbers from their environment.
std::vector<std::exception_ptr> rendezvous(std::vector<int> ranks,
                                           std::vector<int> sizes,
                                           milliseconds timeout) {
  auto store = c10::make_intrusive<c10d::HashStore>();
  return testkit::collect_thread_ranks(
      ranks.size(), [&](std::shared_ptr<Communicator> self) {
        GlooOptions options;
        options.hostname = "127.0.0.1";
        options.timeout = timeout;
        make_gloo_communicator(store, ranks[self->rank()], sizes[self->rank()],
                               options);
      });
}

SyncError as_sync_error(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const SyncError& sync_error) {
    return sync_error;
  }
  throw std::logic_error("expected a SyncError");
}

TEST(RendezvousTest, MissingRanksAreNamedWithinTheTimeout) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto& thrown : rendezvous({0, 2}, {4, 4}, milliseconds(400))) {
    const SyncError error = as_sync_error(thrown);
    EXPECT_EQ(error.code(), SyncErrorCode::kTimeout);
    EXPECT_EQ(error.details().peers, (std::vector<int>{1, 3}));
  }
  EXPECT_LE(std::chrono::steady_clock::now() - start, kAtOnce);
}

TEST(RendezvousTest, DuplicateRankFailsEveryRankAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto& thrown : rendezvous({0, 1, 1}, {3, 3, 3}, kLongTimeout)) {
    const SyncError error = as_sync_error(thrown);
    EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
    EXPECT_THAT(error.message(), StartsWith("two processes have rank 1"));
  }
  EXPECT_LE(std::chrono::steady_clock::now() - start, kAtOnce);
}

TEST(RendezvousTest, DifferentWorldSizesFailEveryRankAtOnce) {
  for (const auto& thrown : rendezvous({0, 1, 2}, {3, 4, 4}, kLongTimeout)) {
    const SyncError error = as_sync_error(thrown);
    EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
    EXPECT_THAT(error.message(), HasSubstr("world size"));
  }
}

c10::intrusive_ptr<c10d::Backend> gloo_backend(
    const c10::intrusive_ptr<c10d::Store>& store, const std::string& prefix,
    int rank, int size) {
  return port::make_gloo_backend(
      c10::make_intrusive<c10d::PrefixStore>(prefix, store), rank, size,
      kLongTimeout, {"127.0.0.1", ""});
}

int sum_of_ranks(Communicator& communicator, int rank) {
  at::Tensor tensor = at::full({1}, rank);
  communicator.all_reduce(tensor, ReduceOp::kSum);
  return tensor.item<int>();
}

TEST(ProcessGroupTest, ExistingBackendGroupAndSubgroupWork) {
  auto store = c10::make_intrusive<c10d::HashStore>();
  run_thread_ranks(3, [&](std::shared_ptr<Communicator> self) {
    const int rank = self->rank();
    auto backend = gloo_backend(store, "all", rank, 3);
    auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, 3);
    group->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO, backend);
    EXPECT_EQ(sum_of_ranks(*make_communicator(group), rank), 3);
    EXPECT_EQ(sum_of_ranks(*make_communicator(backend), rank), 3);
    if (rank == 1) return;
    c10::intrusive_ptr<c10d::Backend> ends =
        gloo_backend(store, "ends", rank / 2, 2);
    EXPECT_EQ(sum_of_ranks(*make_communicator(ends), rank), 2);
  });
}

TEST(ProcessGroupTest, SigpipeIsIgnoredUnlessTheProgramHandlesIt) {
  const auto connect = [] {
    GlooOptions loopback;
    loopback.hostname = "127.0.0.1";
    make_gloo_communicator(c10::make_intrusive<c10d::HashStore>(), 0, 1,
                           loopback);
  };
  const auto previous = std::signal(SIGPIPE, SIG_DFL);
  connect();
  const auto own = [](int) {};
  EXPECT_EQ(std::signal(SIGPIPE, own), SIG_IGN);
  connect();
  EXPECT_EQ(std::signal(SIGPIPE, previous), static_cast<void (*)(int)>(own));
}

TEST(ProcessGroupTest, NonMemberIsRefusedWithoutACollective) {
  const auto refused = [](auto group) {
    try {
      make_communicator(group);
      ADD_FAILURE() << "a non-member got a communicator";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kInvalidUse);
    }
  };
  auto store = c10::make_intrusive<c10d::HashStore>();
  refused(c10::make_intrusive<c10d::ProcessGroup>(store, -1, 2));
}

class OwnBackend : public c10d::Backend {
 public:
  using c10d::Backend::Backend;
  const std::string getBackendName() const override { return "own"; }
};

class OwnGroup : public c10d::ProcessGroup {
 public:
  using c10d::ProcessGroup::ProcessGroup;
};

TEST(ProcessGroupTest, GroupsAndBackendsOfADerivedClassWork) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto own = c10::make_intrusive<OwnGroup>(store, 0, 1);
  own->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO,
                  gloo_backend(store, "own", 0, 1));
  EXPECT_EQ(make_communicator(own, kLongTimeout)->size(), 1);
  const auto backend = c10::make_intrusive<OwnBackend>(0, 1);
  EXPECT_EQ(make_communicator(backend, kLongTimeout)->size(), 1);
}

TEST(ProcessGroupTest, NullAndBackendlessGroupsAreValueErrors) {
  EXPECT_THROW(make_communicator(c10::intrusive_ptr<c10d::Backend>()),
               c10::ValueError);
  EXPECT_THROW(make_communicator(c10::intrusive_ptr<c10d::ProcessGroup>()),
               c10::ValueError);
  EXPECT_THROW(make_communicator(c10::intrusive_ptr<OwnBackend>()),
               c10::ValueError);
  auto store = c10::make_intrusive<c10d::HashStore>();
  EXPECT_THROW(
      make_communicator(c10::make_intrusive<c10d::ProcessGroup>(store, 0, 1)),
      c10::ValueError);
}

}  // namespace
}  // namespace tally::sync
