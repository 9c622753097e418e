// One rank runs out of memory, at every allocation of a call in turn.

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tally/sync/average_gradients.h"
#include "tally/sync/average_over_ranks.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/collectives.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/testing/allocation_fault.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/allocation_fault_check.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::sync {
namespace {

using internal::PendingSync;
using internal::sync_states;
using internal::SyncItem;
using internal::SyncOptions;
using internal::SyncResult;
using testkit::ThreadTransport;
using Group = std::shared_ptr<Communicator>;

constexpr int kRanks = 3;

/// What a rank's numbers are, and whether a result is theirs: in all of these
/// calls each element is then the same.
at::Tensor numbers(int rank, std::int64_t size) {
  return at::full({size}, rank + 1.0, at::kDouble);
}
bool is(const at::Tensor& tensor, double value) {
  return tensor.eq(value).all().item<bool>();
}

struct State {
  at::Tensor sum;
  Rows rows;
  void fields(Fields& f) { f("sum", sum)("rows", rows); }
};

struct Whole {
  Rows rows;
  void fields(Fields& f) { f("rows", rows); }
  void compact() {}
};

using Arm = std::function<void()>;

bool sync_is_right(const Group& group, std::int64_t size, GradientFlow flow,
                   const Arm& arm) {
  at::Tensor own = numbers(group->rank(), size);
  if (flow != GradientFlow::kDetached) own.requires_grad_();
  State state{own, Rows(numbers(group->rank(), size + group->rank()))};
  const SyncItem item{"metric", "Metric()", AnyState::of(state),
                      AnyState(state_ops<State>()), 1};
  SyncOptions options;
  options.flow = flow;
  arm();
  const SyncResult result = sync_states({item}, group, options);
  const auto& merged = result.states.front().get<State>();
  return is(merged.sum, 6) && merged.rows.size() == 3 * size + 3;
}

bool averaged_is_right(int rank, std::int64_t size, bool everywhere,
                       const Arm& arm) {
  const at::Tensor parameter = at::ones({size}, at::kDouble).requires_grad_();
  const bool has_one = everywhere || rank == 0;
  if (has_one) parameter.mutable_grad() = at::full({size}, 3.0, at::kDouble);
  arm();
  average_gradients({parameter});
  return is(parameter.grad(), everywhere ? 3 : 1);
}

struct Case {
  const char* name;
  /// Whether the result is right. `own` are this rank's numbers, `more` as many
  /// more as its rank.
  std::function<bool(const Group&, const at::Tensor& own,
                     const at::Tensor& more, const Arm&)>
      call;
  /// Over Gloo as well, which takes its time to connect.
  bool over_gloo = false;
};

const std::vector<Case>& cases() {
  static const auto& list = *new std::vector<Case>{
      {"Gather",
       [](const Group&, const auto&, const auto& more, const Arm& arm) {
         arm();
         const auto all = gather_all_tensors(more);
         return is(all[0], 1) && is(all[1], 2) && is(all[2], 3);
       },
       true},
      {"Sum",
       [](const Group&, const auto& own, const auto&, const Arm& arm) {
         arm();
         return is(all_reduce(own), 6);
       },
       true},
      {"MaxWithGraph",
       [](const Group&, const auto& own, const auto&, const Arm& arm) {
         own.set_requires_grad(true);
         arm();
         return is(all_reduce(own, Reduction::kMax), 3);
       }},
      {"ReduceScatter",
       [](const Group&, const auto& own, const auto&, const Arm& arm) {
         arm();
         return is(reduce_scatter(own), 6);
       }},
      {"Broadcast",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         arm();
         return is(broadcast(group->rank() == 0 ? at::Tensor() : own, 1), 2);
       }},
      {"BroadcastToIt",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         arm();
         return is(broadcast(group->rank() == 0 ? own : at::Tensor(), 0), 1);
       }},
      {"AllToAll",
       [](const Group&, const auto& own, const auto&, const Arm& arm) {
         arm();
         const at::Tensor parts = all_to_all(own).view({kRanks, -1});
         return is(parts[0], 1) && is(parts[1], 2) && is(parts[2], 3);
       }},
      {"Ring",
       [](const Group& group, const auto&, const auto& more, const Arm& arm) {
         arm();
         return is(ring_exchange(more),
                   (group->rank() + kRanks - 1) % kRanks + 1);
       },
       true},
      {"Average",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         arm();
         // Weights of powers of two, whatever the order.
         return is(average_over_ranks(own, group->rank() == 2 ? 2 : 1), 2.25);
       }},
      {"Gradients",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         return averaged_is_right(group->rank(), own.numel(), true, arm);
       }},
      {"GradientsOfOneRank",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         return averaged_is_right(group->rank(), own.numel(), false, arm);
       }},
      {"Parameters",
       [](const Group&, const auto& own, const auto&, const Arm& arm) {
         arm();
         broadcast_parameters({own}, 2);
         return is(own, 3);
       }},
      {"States",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         return sync_is_right(group, own.numel(), GradientFlow::kDetached, arm);
       },
       true},
      // All numbers are on one rank, in a state that travels whole.
      {"UnevenStates",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         Whole state;
         if (group->rank() == 1) state.rows = Rows(own);
         const SyncItem item{"metric", "Metric()", AnyState::of(state),
                             AnyState(state_ops<Whole>()), 1};
         arm();
         const SyncResult result = sync_states({item}, group, {});
         const at::Tensor rows =
             result.states.front().get<Whole>().rows.tensor();
         return rows.numel() == own.numel() && is(rows, 2);
       },
       true},
      {"UnevenGather",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         arm();
         const auto all =
             gather_all_tensors(group->rank() == 1 ? own : own.narrow(0, 0, 1));
         return is(all[0], 1) && is(all[1], 2) && is(all[2], 3);
       }},
      {"StatesWithGraph",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         return sync_is_right(group, own.numel(), GradientFlow::kReplicated,
                              arm);
       }},
      {"StatesInTheBackground",
       [](const Group& group, const auto& own, const auto&, const Arm& arm) {
         const SyncItem item{"metric", "Metric()",
                             AnyState::of(State{own, Rows(own)}),
                             AnyState(state_ops<State>()), 1};
         arm();
         PendingSync pending({item}, group, {});
         all_reduce(own.narrow(0, 0, 1));
         return is(pending.wait().states.front().get<State>().sum, 6);
       }},
  };
  return list;
}

struct Param {
  ThreadTransport transport;
  std::size_t subject;
};

class AllocationFaultsTest : public ::testing::TestWithParam<Param> {};

// Of those that travel in the slot, those that follow, and those before which
// the ranks ask each other.
TEST_P(AllocationFaultsTest, EndTheCallOnAllRanks) {
  const Case& subject = cases()[GetParam().subject];
  for (const std::int64_t size : {6, 6'000, 300'000}) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       std::to_string(size) + " elements");
    testkit::check_allocation_faults(
        GetParam().transport, [&](const Group& group, const auto& arm) {
          const int rank = group->rank();
          return subject.call(group, numbers(rank, size),
                              numbers(rank, size + rank), arm);
        });
    if (HasFailure()) return;
  }
}

std::vector<Param> params() {
  std::vector<Param> list;
  for (const auto transport :
       {ThreadTransport::kMemory, ThreadTransport::kGloo}) {
    for (std::size_t i = 0; i < cases().size(); ++i) {
      if (transport == ThreadTransport::kGloo && !cases()[i].over_gloo)
        continue;
      list.push_back({transport, i});
    }
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Calls, AllocationFaultsTest,
                         ::testing::ValuesIn(params()), [](const auto& test) {
                           const bool memory =
                               test.param.transport == ThreadTransport::kMemory;
                           return std::string(
                                      cases()[test.param.subject].name) +
                                  (memory ? "InMemory" : "OverGloo");
                         });

// Later than the others begin to ask whether a rank is still there.
constexpr std::chrono::milliseconds kLateness{800};

TEST(LateRankTest, IsWaitedForWithoutMemory) {
  testkit::ThreadRanksOptions options;
  options.transport = ThreadTransport::kGloo;
  options.timeout = testkit::kLongTimeout;
  testkit::run_thread_ranks(
      kRanks,
      [](const Group& group) {
        at::Tensor sum = numbers(group->rank(), 2);
        std::optional<testkit::AllocationFault> fault;
        if (group->rank() == 2) {
          std::this_thread::sleep_for(kLateness);
        } else {
          fault.emplace(0);
        }
        group->all_reduce(sum, ReduceOp::kSum);
        const bool allocated = fault && fault->happened();
        fault.reset();
        EXPECT_FALSE(allocated) << "on rank " << group->rank();
        EXPECT_TRUE(is(sum, 6));
      },
      options);
}

}  // namespace
}  // namespace tally::sync
