#include "tally/sync/paired.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tally/sync/average_gradients.h"
#include "tally/sync/average_over_ranks.h"
#include "tally/sync/collectives.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/sync/gather.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using ::tally::testkit::collect_thread_ranks;
using ::tally::testkit::run_thread_ranks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kMany = 300'000;

// Takes tensors without values instead of a GPU's, and notes what it was asked
// to do with them.
class Accelerator final : public Communicator {
 public:
  explicit Accelerator(const Communicator& like)
      : Communicator(like.rank(), like.size(), at::kMeta, like.timeout()) {}
  std::string describe() const override { return "an accelerator"; }

  std::vector<std::string> calls;
  bool fails = false;

 protected:
  void do_all_gather(const at::Tensor&, at::Tensor&, milliseconds) override {
    note("all_gather");
  }
  void do_all_reduce(at::Tensor&, ReduceOp, milliseconds) override {
    note("all_reduce");
  }
  void do_broadcast(at::Tensor&, int, milliseconds) override {
    note("broadcast");
  }
  void do_all_to_all(const at::Tensor&, const std::vector<std::int64_t>&,
                     at::Tensor&, const std::vector<std::int64_t>&,
                     milliseconds) override {
    note("all_to_all");
  }
  std::function<void()> do_start_all_gather(const at::Tensor&, at::Tensor&,
                                            milliseconds) override {
    note("start_all_gather");
    return [this] { note("wait"); };
  }
  std::function<void()> do_start_send_receive(const at::Tensor&, int,
                                              at::Tensor&, int,
                                              milliseconds) override {
    note("start_send_receive");
    return [this] { note("wait"); };
  }

 private:
  void note(const char* call) {
    if (fails) throw std::runtime_error("unplugged");
    calls.push_back(call);
  }
};

struct Pair {
  explicit Pair(const std::shared_ptr<Communicator>& main)
      : accelerator(std::make_shared<Accelerator>(*main)),
        both(pair_communicators(main, accelerator)) {}

  std::shared_ptr<Accelerator> accelerator;
  std::shared_ptr<Communicator> both;
};

at::Tensor there(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::TensorOptions().dtype(dtype).device(at::kMeta));
}

void on_two_ranks(const std::function<void(Pair&)>& test) {
  run_thread_ranks(2, [&](const std::shared_ptr<Communicator>& main) {
    Pair pair(main);
    test(pair);
  });
}

TEST(PairedTest, MovesTensorsWhereTheyAre) {
  on_two_ranks([](Pair& pair) {
    Communicator& both = *pair.both;
    EXPECT_TRUE(both.device().is_cpu());
    EXPECT_EQ(both.accelerator(), c10::Device(at::kMeta));

    at::Tensor here = at::ones({3});
    both.all_reduce(here, ReduceOp::kSum);
    EXPECT_EQ(here[0].item<double>(), 2);
    EXPECT_THAT(pair.accelerator->calls, IsEmpty());

    at::Tensor own = there({3}), all = there({6});
    both.all_reduce(own, ReduceOp::kSum);
    both.all_gather(own, all);
    both.broadcast(own, 0);
    both.all_to_all(all, {3, 3}, all, {3, 3});
    both.start_all_gather(own, all).wait();
    both.start_send_receive(own, 1 - both.rank(), own, 1 - both.rank()).wait();
    EXPECT_THAT(
        pair.accelerator->calls,
        ElementsAre("all_reduce", "all_gather", "broadcast", "all_to_all",
                    "start_all_gather", "wait", "start_send_receive", "wait"));
    EXPECT_EQ(both.collectives(), 7);
  });
}

TEST(PairedTest, MovesLargeTensorsOfTheCollectivesThere) {
  on_two_ranks([](Pair& pair) {
    all_reduce(there({kMany}), Reduction::kSum, pair.both);
    all_reduce(there({kMany}, at::kLong), Reduction::kMax, pair.both);
    broadcast(there({kMany}), 1, pair.both);
    ring_exchange(there({kMany}), 1, pair.both);
    average_over_ranks(there({kMany}), 1, GradientFlow::kDetached, pair.both);
    const auto parts =
        all_to_all({there({kMany}), there({kMany - 1})}, pair.both);
    EXPECT_EQ(parts[0].numel(), kMany - pair.both->rank());
    const auto slots = gather_all_tensors(there({kMany + pair.both->rank(), 2}),
                                          GradientFlow::kDetached, pair.both);
    EXPECT_EQ(slots[1].sizes(), at::IntArrayRef({kMany + 1, 2}));
    EXPECT_TRUE(slots[0].is_meta());
    EXPECT_THAT(pair.accelerator->calls,
                ElementsAre("all_reduce", "all_reduce", "broadcast",
                            "start_send_receive", "wait", "all_reduce",
                            "all_to_all", "start_all_gather", "wait"));
  });
}

TEST(PairedTest, AveragesGradientsWhereTheyAre) {
  on_two_ranks([](Pair& pair) {
    at::Tensor parameter = there({4}).requires_grad_();
    parameter.mutable_grad() = there({4});
    average_gradients({parameter}, pair.both);
    EXPECT_THAT(pair.accelerator->calls, ElementsAre("all_reduce"));
  });
}

struct State {
  Rows rows;
  at::Tensor sum;
  void fields(Fields& f) { f("rows", rows)("sum", sum); }
};

internal::SyncItem item(const char* label, at::Tensor rows, at::Tensor sum) {
  return {label, "key",
          AnyState::of(State{Rows(std::move(rows)), std::move(sum)}),
          AnyState(state_ops<State>()), 1};
}

TEST(PairedTest, ReducesAndGathersLargeStatesWhereTheyAre) {
  on_two_ranks([](Pair& pair) {
    const std::vector<internal::SyncItem> items{
        item("here", at::ones({kMany}), at::ones({kMany}, at::kLong)),
        item("there", there({kMany}), there({kMany}, at::kLong))};
    const internal::SyncResult result =
        internal::sync_states(items, pair.both, {});
    // Two more: the ranks' slots, and what they say of their memory.
    EXPECT_EQ(pair.both->collectives(), 6);
    EXPECT_THAT(pair.accelerator->calls,
                UnorderedElementsAre("start_all_gather", "wait", "all_reduce"));
    const auto& here = result.states[0].get<State>();
    EXPECT_EQ(here.rows.tensor().numel(), 2 * kMany);
    EXPECT_EQ(here.sum.sum().item<std::int64_t>(), 2 * kMany);
    const auto& far = result.states[1].get<State>();
    EXPECT_EQ(far.rows.tensor().numel(), 2 * kMany);
    EXPECT_TRUE(far.rows.tensor().is_meta());
    EXPECT_TRUE(far.sum.is_meta());
  });
}

TEST(PairedTest, AnErrorOfOneEndsBoth) {
  on_two_ranks([](Pair& pair) {
    pair.accelerator->fails = true;
    at::Tensor tensor = there({3});
    EXPECT_THROW(pair.both->all_reduce(tensor, ReduceOp::kSum), SyncError);
    at::Tensor here = at::ones({3});
    try {
      pair.both->all_reduce(here, ReduceOp::kSum);
      FAIL();
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kGroupBroken);
      EXPECT_THAT(error.message(), HasSubstr("unplugged"));
    }
  });
}

TEST(PairedTest, RanksWithoutAnAcceleratorAreAMismatch) {
  const auto errors =
      collect_thread_ranks(2, [](const std::shared_ptr<Communicator>& main) {
        Pair pair(main);
        gather_all_tensors(at::ones({1}), GradientFlow::kDetached,
                           main->rank() == 0 ? main : pair.both);
      });
  for (const auto& error : errors) {
    try {
      ASSERT_TRUE(error);
      std::rethrow_exception(error);
    } catch (const SyncError& e) {
      EXPECT_EQ(e.code(), SyncErrorCode::kMismatch);
      EXPECT_THAT(e.message(), HasSubstr("rank 0: without one, rank 1: with "
                                         "an accelerator"));
    }
  }
}

TEST(PairedTest, RefusesCommunicatorsThatDoNotGoTogether) {
  const auto alone = single_process_communicator();
  EXPECT_THROW(pair_communicators(alone, nullptr), c10::ValueError);
  EXPECT_THROW(pair_communicators(nullptr, alone), c10::ValueError);
  EXPECT_THROW(pair_communicators(alone, alone), c10::ValueError);
  on_two_ranks([&](Pair& pair) {
    EXPECT_THROW(pair_communicators(alone, pair.accelerator), c10::ValueError);
    at::Tensor here = at::ones({3});
    at::Tensor all = there({6});
    EXPECT_THROW(pair.both->all_gather(here, all), c10::ValueError);
  });
}

}  // namespace
}  // namespace tally::sync
