#include "tally/sync/exchange/state_sync.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include <limits>
#include <set>
#include <stdexcept>

#include "tally/testing/expect_sync_error.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally::sync::internal {
namespace {

using ::testing::HasSubstr;
using testkit::run_thread_ranks;

// Elements of sums that are reduced instead of gathered.
constexpr std::int64_t kLarge = 200000;

struct State {
  std::int64_t count = 0;
  Number sum;
  at::Tensor totals;
  Rows rows;
  Number low = std::numeric_limits<double>::infinity();
  void fields(Fields& f) {
    f("count", count)("sum", sum)("totals", totals)("rows", rows);
    f("low", low, Merge::kMin);
  }
};

template <class S>
SyncItem item(S state, std::string label = "mean", std::string key = "Mean()") {
  return {std::move(label), std::move(key), AnyState::of(std::move(state)),
          AnyState(state_ops<S>()), 1};
}

State state_of(int rank) {
  return {rank + 1, 0.1 * (rank + 1), at::full({2}, rank, at::kDouble),
          Rows(at::full({rank}, rank, at::kDouble)), -rank};
}

SyncResult sync(std::vector<SyncItem> items,
                const std::shared_ptr<Communicator>& communicator,
                GradientFlow flow = GradientFlow::kDetached) {
  SyncOptions options;
  options.flow = flow;
  return sync_states(items, communicator, options);
}

std::exception_ptr failure(const char* text) {
  return std::make_exception_ptr(std::runtime_error(text));
}

SyncError error_of(std::vector<SyncItem> items,
                   const std::shared_ptr<Communicator>& communicator) {
  return testkit::sync_error_of([&] { sync(std::move(items), communicator); })
      .value();
}

THREAD_RANKS_TEST(StateSyncTest, MergesEveryKindOfFieldInRankOrder, 1, 2, 3,
                  5) {
  const SyncItem own = item(state_of(self.rank()));
  const SyncResult result = sync({own}, self.group());
  const auto& merged = result.states.front().get<State>();
  State expected;
  std::int64_t rows = 0;
  for (int r = 0; r < self.size(); ++r) {
    expected.count += r + 1;
    expected.sum += 0.1 * (r + 1);
    for (int i = 0; i < r; ++i) {
      EXPECT_EQ(merged.rows.tensor().select(0, rows++).item<double>(), r);
    }
  }
  EXPECT_EQ(merged.count, expected.count);
  EXPECT_EQ(merged.sum.value(), expected.sum.value());
  EXPECT_EQ(merged.rows.size(), rows);
  EXPECT_EQ(merged.low.value(), 1 - self.size());
  EXPECT_TRUE(merged.totals.equal(
      at::full({2}, self.size() * (self.size() - 1) / 2, at::kDouble)));
  EXPECT_EQ(result.update_counts, std::vector<std::int64_t>{self.size()});
  EXPECT_EQ(own.state.get<State>().count, self.rank() + 1);
  EXPECT_TRUE(own.state.get<State>().totals.equal(
      at::full({2}, self.rank(), at::kDouble)));
}

THREAD_RANKS_TEST(StateSyncTest, RanksWithoutDataAreNoObstacle, 3) {
  SyncItem own = item(self.rank() == 1 ? state_of(2) : State());
  own.update_count = self.rank() == 1 ? 4 : 0;
  const SyncResult result = sync({own}, self.group());
  const auto& merged = result.states.front().get<State>();
  EXPECT_EQ(merged.count, 3);
  EXPECT_EQ(merged.rows.size(), 2);
  EXPECT_TRUE(merged.totals.equal(at::full({2}, 2, at::kDouble)));
  EXPECT_EQ(result.update_counts.front(), 4);
  const SyncResult nothing = sync({item(State())}, self.group());
  EXPECT_FALSE(nothing.states.front().get<State>().totals.defined());
}

THREAD_RANKS_TEST(StateSyncTest, AllStatesTravelTogether, 3) {
  std::vector<SyncItem> items;
  for (int i = 0; i < 10; ++i) {
    items.push_back(item(state_of(i), "metric " + std::to_string(i)));
  }
  const auto before = self.group()->collectives();
  const SyncResult result = sync(items, self.group());
  EXPECT_EQ(self.group()->collectives(), before + 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(result.states[i].get<State>().count, 3 * (i + 1));
  }
  State large = state_of(0);
  large.rows = Rows(at::zeros({10000}, at::kDouble));
  sync({item(large)}, self.group());
  EXPECT_EQ(self.group()->collectives(), before + 3);
}

THREAD_RANKS_TEST(StateSyncTest, LargeSumsAreBitEqualOnAllRanks, 3) {
  State state;
  state.totals = at::arange(kLarge, at::kDouble).add(self.rank()).sin();
  state.sum = self.rank();
  const SyncResult result = sync({item(state)}, self.group());
  const auto& merged = result.states.front().get<State>();
  at::Tensor expected = at::zeros({kLarge}, at::kDouble);
  for (int r = 0; r < 3; ++r) {
    expected = expected.add(at::arange(kLarge, at::kDouble).add(r).sin());
  }
  EXPECT_LE(merged.totals.sub(expected).abs().max().item<double>(), 1e-15);
  EXPECT_EQ(merged.sum.value(), 3);
  // What they hold, each rank tells the others.
  State bits;
  bits.rows = Rows(merged.totals);
  const SyncResult all = sync({item(bits)}, self.group());
  const at::Tensor rows = all.states.front().get<State>().rows.tensor();
  EXPECT_TRUE(
      rows.narrow(0, 0, kLarge).equal(rows.narrow(0, 2 * kLarge, kLarge)));
  EXPECT_TRUE(rows.narrow(0, 0, kLarge).equal(merged.totals));
}

THREAD_RANKS_TEST(StateSyncTest, SumsAreReducedFromFewerBytesOnMoreRanks, 2,
                  4) {
  State state;
  state.totals = at::ones({65536}, at::kDouble);
  state.rows = Rows(at::zeros({5000}, at::kDouble));
  const auto before = self.group()->collectives();
  const SyncResult result = sync({item(state)}, self.group());
  EXPECT_EQ(self.group()->collectives() - before, self.size() == 2 ? 2 : 4);
  const at::Tensor& totals = result.states.front().get<State>().totals;
  EXPECT_TRUE(totals.equal(at::full({65536}, self.size(), at::kDouble)));
}

THREAD_RANKS_TEST(StateSyncTest, NothingIsMergedIfAllRanksHaveAValue, 2) {
  SyncOptions options;
  options.cached = true;
  EXPECT_TRUE(
      sync_states({item(state_of(0))}, self.group(), options).all_cached);
  options.cached = self.rank() == 0;
  const SyncResult result =
      sync_states({item(state_of(0))}, self.group(), options);
  EXPECT_FALSE(result.all_cached);
  EXPECT_EQ(result.states.front().get<State>().count, 2);
}

THREAD_RANKS_TEST(StateSyncTest, OtherKeysAreAMismatchThatNamesThem, 3) {
  const bool odd = self.rank() == 2;
  SyncError error =
      error_of({item(state_of(0), "a"),
                item(state_of(0), "b", odd ? "Mean(k=2)" : "Mean(k=1)")},
               self.group());
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.details().peers, std::vector<int>{2});
  EXPECT_THAT(error.message(), HasSubstr("rank 2: b = Mean(k=2)"));
  std::vector<SyncItem> items = {item(state_of(0), "a")};
  if (odd) items.push_back(item(state_of(0), "b"));
  EXPECT_EQ(error_of(items, self.group()).code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(sync({item(state_of(0))}, self.group()).states.size(), 1);
}

TEST(StateSyncTest, ShapesThatDoNotFitAreAMismatchOnEveryRank) {
  for (const bool large : {false, true}) {
    run_thread_ranks(3, [&](const auto& communicator) {
      const std::int64_t n = large ? kLarge : 3;
      const bool odd = communicator->rank() == 1;
      State state;
      state.totals = odd ? at::ones({n, 2}) : at::ones({2, n});
      SyncError error = error_of({item(state)}, communicator);
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_EQ(error.details().metric, "mean");
      EXPECT_THAT(error.message(), HasSubstr("'totals'"));
      State rows;
      rows.rows = Rows(at::ones({2, odd ? n : 2}));
      error = error_of({item(rows)}, communicator);
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_EQ(error.details().peers, std::vector<int>{1});
      State dtype;
      dtype.totals = at::ones({n}, odd ? at::kFloat : at::kDouble);
      EXPECT_EQ(error_of({item(dtype)}, communicator).code(),
                SyncErrorCode::kMismatch);
      EXPECT_EQ(sync({item(state_of(0))}, communicator).states.size(), 1);
    });
  }
}

THREAD_RANKS_TEST(StateSyncTest, AStateThatCannotTravelIsReported, 2) {
  State state = state_of(0);
  if (self.rank() == 0) {
    state.totals = at::ones({2, 2}).to_sparse();
    EXPECT_THROW(sync({item(state)}, self.group()), c10::ValueError);
  } else {
    const SyncError error = error_of({item(state)}, self.group());
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
    EXPECT_THAT(error.message(), HasSubstr("expected a dense tensor"));
  }
  EXPECT_EQ(sync({item(state_of(0))}, self.group()).states.size(), 1);
}

THREAD_RANKS_TEST(StateSyncTest, AFailureIsReportedInPlaceOfASync, 3) {
  if (self.rank() == 0) {
    report_failure("mean", failure(""), *self.group());
    report_failure("mean", failure("a reason"), *self.group());
  } else {
    EXPECT_THAT(error_of({item(state_of(0))}, self.group()).message(),
                HasSubstr("unknown reason"));
    EXPECT_THAT(error_of({item(state_of(0))}, self.group()).message(),
                HasSubstr("rank 0 failed: a reason"));
  }
  EXPECT_EQ(sync({item(state_of(0))}, self.group()).states.size(), 1);
}

// --- graphs

using Moments = testkit::SampleMoments;

at::Tensor samples(int rank, int column) {
  return at::arange(4, at::kDouble).add(rank * 5 + column * 3).sin();
}

at::Tensor correlation(const AnyState& state) {
  return testkit::SampleCorrelation().evaluate(state.get<Moments::State>());
}

std::size_t nodes_behind(const at::Tensor& tensor) {
  std::set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open;
  if (tensor.grad_fn()) open.push_back(tensor.grad_fn().get());
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const auto& edge : node->next_edges()) {
      if (edge.function) open.push_back(edge.function.get());
    }
  }
  return seen.size();
}

TEST(StateSyncTest, GraphsAreExactAndDoNotGrowWithTheRanks) {
  std::set<std::size_t> sizes;
  for (const int ranks : {2, 8, 64}) {
    std::vector<at::Tensor> x;
    std::vector<at::Tensor> y;
    for (int r = 0; r < ranks; ++r) {
      x.push_back(samples(r, 0));
      y.push_back(samples(r, 1));
    }
    at::Tensor all_x = at::stack(x).reshape({-1}).set_requires_grad(true);
    const at::Tensor all_y = at::stack(y).reshape({-1});
    const AnyState whole = AnyState::of(Moments().observe(all_x, all_y));
    const at::Tensor expected = correlation(whole);
    expected.backward();

    std::vector<at::Tensor> values(ranks);
    std::vector<std::size_t> nodes(ranks);
    run_thread_ranks(ranks, [&](const auto& communicator) {
      const int rank = communicator->rank();
      for (const GradientFlow flow :
           {GradientFlow::kLocal, GradientFlow::kReplicated}) {
        at::Tensor own = samples(rank, 0).set_requires_grad(true);
        const SyncResult result =
            sync({item(Moments().observe(own, samples(rank, 1)))}, communicator,
                 flow);
        const at::Tensor value = correlation(result.states.front());
        value.backward();
        const double factor = flow == GradientFlow::kLocal ? 1 : ranks;
        const at::Tensor error =
            own.grad().div(factor).sub(all_x.grad().narrow(0, 4 * rank, 4));
        EXPECT_LT(error.abs().max().template item<double>(), 1e-14);
        values[rank] = value.detach();
        nodes[rank] = nodes_behind(value);
      }
    });
    for (int r = 0; r < ranks; ++r) {
      EXPECT_TRUE(values[r].equal(values[0])) << "rank " << r;
      // The first and the last rank have nothing before or behind them.
      if (r > 0 && r < ranks - 1) sizes.insert(nodes[r]);
    }
    EXPECT_NEAR(values[0].item<double>(), expected.item<double>(), 1e-13);
  }
  EXPECT_EQ(sizes.size(), 1) << "graphs of several sizes";
}

TEST(StateSyncTest, InfinitiesDoNotSpoilGradients) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const GradientFlow flow :
       {GradientFlow::kLocal, GradientFlow::kReplicated,
        GradientFlow::kAllRanks}) {
    run_thread_ranks(3, [&](const auto& communicator) {
      at::Tensor own =
          at::full({2}, communicator->rank() == 1 ? inf : 1, at::kDouble);
      own.set_requires_grad(true);
      State state;
      state.sum = Number(own.sum());
      state.totals = own.mul(1);
      state.rows = Rows(own.mul(1));
      const SyncResult result = sync({item(state)}, communicator, flow);
      const auto& merged = result.states.front().get<State>();
      const at::Tensor value = merged.sum.tensor()
                                   .add(merged.totals.sum())
                                   .add(merged.rows.tensor().sum());
      EXPECT_EQ(value.item<double>(), inf);
      value.backward();
      const double factor = flow == GradientFlow::kLocal ? 1 : 3;
      EXPECT_TRUE(own.grad().equal(at::full({2}, 3 * factor, at::kDouble)))
          << own.grad();
    });
  }
}

THREAD_RANKS_TEST(StateSyncTest, NoGraphWithoutAFlowOrWhereNoneIsRecorded, 2) {
  const at::Tensor x = at::ones({2}).set_requires_grad(true);
  const auto graph_in = [&](GradientFlow flow) {
    State state;
    state.sum = Number(x.sum());
    state.totals = x.mul(1);
    const SyncResult result = sync({item(state)}, self.group(), flow);
    return requires_grad(result.states.front().fields());
  };
  EXPECT_TRUE(graph_in(GradientFlow::kLocal));
  EXPECT_FALSE(graph_in(GradientFlow::kDetached));
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(graph_in(GradientFlow::kLocal));
  EXPECT_FALSE(graph_in(GradientFlow::kAllRanks));
}

THREAD_RANKS_TEST(StateSyncTest, AnIdleRankTakesPartInTheGradientsOfAllRanks,
                  3) {
  const bool idle = self.rank() == 0;
  at::Tensor x = at::ones({2}, at::kDouble).set_requires_grad(true);
  State state;
  if (!idle) state = {1, Number(x.sum()), x.mul(1), Rows(x.mul(1)), 0};
  const SyncResult result =
      sync({item(state)}, self.group(), GradientFlow::kAllRanks);
  const auto& merged = result.states.front().get<State>();
  merged.sum.tensor()
      .add(merged.totals.sum())
      .add(merged.rows.tensor().sum())
      .mul(self.rank() + 1)
      .backward();
  EXPECT_EQ(x.grad().defined(), !idle);
  if (!idle) {
    EXPECT_TRUE(x.grad().equal(at::full({2}, 18, at::kDouble)));
  }
}

}  // namespace
}  // namespace tally::sync::internal
