#include "tally/sync/gather.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/real.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <limits>

#include "tally/testing/expect_sync_error.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using ::testing::HasSubstr;
using testkit::run_thread_ranks;
using Sizes = std::vector<std::int64_t>;

constexpr GradientFlow kFlows[] = {
    GradientFlow::kDetached, GradientFlow::kLocal, GradientFlow::kReplicated,
    GradientFlow::kAllRanks};

// Other numbers for every rank and place; exact in every dtype.
at::Tensor values(const Sizes& sizes, int rank,
                  at::ScalarType dtype = at::kDouble) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return at::arange(count, at::kDouble)
      .remainder(7)
      .add(rank)
      .reshape(sizes)
      .to(dtype);
}

struct Shapes {
  const char* name;
  Sizes (*of)(int rank);
};
const Shapes kShapes[] = {
    {"equal",
     [](int) {
       return Sizes{2, 3};
     }},
    {"0-dim", [](int) { return Sizes{}; }},
    {"uneven in every dimension",
     [](int r) {
       return Sizes{r + 1, 3 - r % 3, 1 + r * r % 4};
     }},
    {"empty on some ranks",
     [](int r) {
       return Sizes{r % 2 * 3, 2};
     }},
    {"empty everywhere",
     [](int) {
       return Sizes{0, 2};
     }},
    {"large on one rank",
     [](int r) {
       return Sizes{r == 1 ? 900 : 2, 2};
     }},
};

// The gradient of rank r's tensor is that of sum over ranks s of c_s *
// sum(weights(r) * tensor), with c_s the factor of rank s's loss.
at::Tensor loss_of(const std::vector<at::Tensor>& slots, double factor) {
  at::Tensor loss;
  for (size_t r = 0; r < slots.size(); ++r) {
    const at::Tensor weights = values(slots[r].sizes().vec(), 2);
    const at::Tensor part = slots[r].mul(weights).sum().mul(
        factor * (1.0 + static_cast<double>(r)));
    loss = loss.defined() ? loss.add(part) : part;
  }
  return loss;
}

void check_flow(const Shapes& shapes, GradientFlow flow, int ranks) {
  SCOPED_TRACE(
      c10::str(shapes.name, ", ", to_string(flow), ", ", ranks, " ranks"));
  run_thread_ranks(ranks, [&](const auto& communicator) {
    const int rank = communicator->rank();
    at::Tensor leaf = values(shapes.of(rank), rank).set_requires_grad(true);
    const at::Tensor own = leaf.mul(1);
    const auto slots = gather_all_tensors(own, flow);
    ASSERT_EQ(slots.size(), ranks);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_TRUE(slots[r].equal(values(shapes.of(r), r))) << r;
      const bool graph = flow == GradientFlow::kAllRanks ||
                         (flow != GradientFlow::kDetached && r == rank);
      EXPECT_EQ(slots[r].requires_grad(), graph) << r;
    }
    EXPECT_EQ(slots[rank].is_same(own), flow == GradientFlow::kLocal);
    if (flow == GradientFlow::kDetached) return;
    // With kAllRanks each rank's loss is another; else all have the same.
    const bool all = flow == GradientFlow::kAllRanks;
    loss_of(slots, all ? rank + 1 : 1).backward();
    double factor = 1.0 + rank;
    if (flow == GradientFlow::kReplicated) factor *= ranks;
    if (all) factor *= ranks * (ranks + 1) / 2;
    const at::Tensor expected = values(shapes.of(rank), 2).mul(factor);
    ASSERT_TRUE(leaf.grad().defined());
    EXPECT_TRUE(leaf.grad().equal(expected)) << leaf.grad() << expected;
  });
}

TEST(GatherTest, ValuesAndGradientsOfEveryFlow) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const Shapes& shapes : kShapes) {
      for (const GradientFlow flow : kFlows) check_flow(shapes, flow, ranks);
    }
  }
}

TEST(GatherTest, EveryDtypeArrives) {
  using S = at::ScalarType;
  run_thread_ranks(3, [](const auto& communicator) {
    const int rank = communicator->rank();
    for (const S dtype :
         {S::Byte, S::Char, S::Short, S::Int, S::Long, S::Half, S::Float,
          S::Double, S::ComplexFloat, S::ComplexDouble, S::Bool, S::BFloat16,
          S::Float8_e5m2, S::Float8_e4m3fn, S::UInt16, S::UInt32, S::UInt64}) {
      for (const GradientFlow flow : kFlows) {
        const auto slots =
            gather_all_tensors(values({rank + 1, 2}, rank, dtype), flow);
        for (int r = 0; r < 3; ++r) {
          ASSERT_EQ(slots[r].scalar_type(), dtype);
          EXPECT_TRUE(
              slots[r]
                  .to(at::kComplexDouble)
                  .equal(values({r + 1, 2}, r, dtype).to(at::kComplexDouble)))
              << dtype;
          EXPECT_FALSE(slots[r].requires_grad());
        }
      }
    }
  });
}

TEST(GatherTest, GradientsOfEveryDtype) {
  using S = at::ScalarType;
  run_thread_ranks(3, [](const auto& communicator) {
    const int rank = communicator->rank();
    for (const S dtype : {S::Half, S::BFloat16, S::Float, S::Double,
                          S::ComplexFloat, S::ComplexDouble}) {
      for (const GradientFlow flow : kFlows) {
        if (flow == GradientFlow::kDetached) continue;
        at::Tensor leaf =
            values({rank + 1, 2}, rank, dtype).set_requires_grad(true);
        const c10::complex<double> turn(1, leaf.is_complex() ? 2 : 0);
        at::Tensor loss;
        for (const at::Tensor& slot : gather_all_tensors(leaf, flow)) {
          at::Tensor part = slot.sum();
          if (slot.is_complex()) part = part.mul(c10::Scalar(turn));
          loss = loss.defined() ? loss.add(part) : part;
        }
        // The gradient of the real part of c * x is the conjugate of c.
        if (loss.is_complex()) loss = at::real(loss);
        loss.backward();
        const double factor = flow == GradientFlow::kLocal ? 1 : 3;
        ASSERT_TRUE(leaf.grad().defined());
        const c10::Scalar expected = leaf.is_complex()
                                         ? c10::Scalar(std::conj(turn) * factor)
                                         : c10::Scalar(factor);
        EXPECT_TRUE(leaf.grad().equal(at::full({rank + 1, 2}, expected, dtype)))
            << dtype << ' ' << to_string(flow) << leaf.grad();
      }
    }
  });
}

THREAD_RANKS_TEST(GatherTest, EveryLayoutArrives, 2) {
  const at::Tensor base = values({4, 6}, self.rank());
  for (const auto& view :
       std::vector<std::function<at::Tensor(const at::Tensor&)>>{
           [](const at::Tensor& t) { return t.t(); },
           [](const at::Tensor& t) { return t.slice(1, 0, 6, 2); },
           [](const at::Tensor& t) { return t.select(0, 1); },
           [](const at::Tensor& t) {
             return t.narrow(0, 0, 1).expand({3, 6});
           },
           [](const at::Tensor& t) {
             return t.to(at::kComplexDouble)
                 .mul(c10::Scalar(c10::complex<double>(1, 1)))
                 .conj();
           }}) {
    const auto slots = gather_all_tensors(view(base));
    for (int r = 0; r < 2; ++r) {
      EXPECT_TRUE(slots[r].equal(view(values({4, 6}, r))));
    }
  }
}

TEST(GatherTest, ARankWithNothingHasAnEmptySlot) {
  for (const GradientFlow flow : kFlows) {
    run_thread_ranks(3, [&](const auto& communicator) {
      const int rank = communicator->rank();
      at::Tensor leaf;
      if (rank != 1) leaf = values({2, 3}, rank).set_requires_grad(true);
      const auto slots = gather_all_tensors(leaf, flow);
      EXPECT_TRUE(slots[0].equal(values({2, 3}, 0)));
      EXPECT_EQ(slots[1].sizes(), (c10::IntArrayRef{0, 3}));
      EXPECT_EQ(slots[1].scalar_type(), at::kDouble);
      EXPECT_TRUE(slots[2].equal(values({2, 3}, 2)));
      if (flow == GradientFlow::kDetached) return;
      const at::Tensor loss = loss_of(slots, 1);
      if (loss.requires_grad()) loss.backward();
      if (rank == 1) return;
      const double factor =
          (flow == GradientFlow::kLocal ? 1 : 3) * (1.0 + rank);
      EXPECT_TRUE(leaf.grad().equal(values({2, 3}, 2).mul(factor)));
    });
  }
  run_thread_ranks(2, [](const auto&) {
    for (const at::Tensor& slot : gather_all_tensors(at::Tensor())) {
      EXPECT_FALSE(slot.defined());
    }
  });
}

THREAD_RANKS_TEST(GatherTest, RanksWithoutAGraphServeTheOthers, 3) {
  at::Tensor own = values({2}, self.rank());
  if (self.rank() == 0) own.set_requires_grad(true);
  const auto slots = gather_all_tensors(own, GradientFlow::kAllRanks);
  loss_of(slots, 1).backward();
  EXPECT_EQ(own.grad().defined(), self.rank() == 0);
  if (own.grad().defined()) {
    EXPECT_TRUE(own.grad().equal(values({2}, 2).mul(3)));
  }
}

THREAD_RANKS_TEST(GatherTest, NoGraphIsKeptWhereNoneIsRecorded, 2) {
  const at::Tensor leaf = values({2}, self.rank()).set_requires_grad(true);
  const at::NoGradGuard no_grad;
  for (const GradientFlow flow :
       {GradientFlow::kReplicated, GradientFlow::kAllRanks}) {
    const auto slots = gather_all_tensors(leaf.mul(1), flow);
    for (const at::Tensor& slot : slots) EXPECT_FALSE(slot.requires_grad());
  }
}

TEST(GatherTest, InfinitiesDoNotSpoilGradients) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const GradientFlow flow :
       {GradientFlow::kReplicated, GradientFlow::kAllRanks}) {
    run_thread_ranks(2, [&](const auto&) {
      at::Tensor leaf = at::full({2}, -inf, at::kDouble);
      leaf.set_requires_grad(true);
      const auto slots = gather_all_tensors(leaf, flow);
      EXPECT_TRUE(slots[0].equal(leaf));
      slots[0].add(slots[1]).sum().backward();
      EXPECT_TRUE(leaf.grad().equal(at::full({2}, 2, at::kDouble)));
    });
  }
}

// With kLocal by the own rows alone; the others' slots have no graph.
TEST(GatherTest, GradientsOfGradientsLeadToAllRanksOrAreRefused) {
  for (const GradientFlow flow :
       {GradientFlow::kLocal, GradientFlow::kReplicated,
        GradientFlow::kAllRanks}) {
    run_thread_ranks(2, [&](const auto& communicator) {
      at::Tensor leaf =
          values({2}, communicator->rank()).set_requires_grad(true);
      const auto slots = gather_all_tensors(leaf, flow);
      const at::Tensor loss =
          slots[0].mul(slots[0]).mul(slots[1]).mul(slots[1]).sum();
      const at::Tensor gradient =
          torch::autograd::grad({loss}, {leaf}, {}, {}, true).front();
      ASSERT_TRUE(gradient.requires_grad());
      if (flow == GradientFlow::kReplicated) {
        try {
          gradient.sum().backward();
          ADD_FAILURE() << "without the other rank's graph";
        } catch (const c10::Error& error) {
          EXPECT_THAT(
              error.what_without_backtrace(),
              ::testing::HasSubstr("GradientFlow::kAllRanks provides them"));
        }
        return;
      }
      gradient.sum().backward();
      const at::Tensor other = values({2}, 1 - communicator->rank());
      const at::Tensor of_own = other.mul(other).mul(2);
      const at::Tensor of_all =
          of_own.mul(2).add(leaf.detach().mul(other).mul(8));
      EXPECT_TRUE(
          leaf.grad().equal(flow == GradientFlow::kLocal ? of_own : of_all));
    });
  }
}

// What is linear in the slots has no gradient of a gradient to be refused.
THREAD_RANKS_TEST(GatherTest, GradientsMayHaveAGraphThatIsNotUsed, 2) {
  const at::Tensor leaf = values({2}, 1).set_requires_grad(true);
  const auto slots =
      gather_all_tensors(leaf.square(), GradientFlow::kReplicated);
  slots[0].add(slots[1]).sum().backward({}, /*retain_graph=*/true,
                                        /*create_graph=*/true);
  leaf.grad().sum().backward();
  EXPECT_TRUE(leaf.grad().detach().equal(leaf.detach().mul(4).add(4)));
}

THREAD_RANKS_TEST(GatherTest, CollectivesAreFew, 3) {
  const auto count = [&](std::int64_t rows) {
    const auto before = self.group()->collectives();
    gather_all_tensors(at::zeros({rows}, at::kFloat));
    return self.group()->collectives() - before;
  };
  EXPECT_EQ(count(1), 1);
  EXPECT_EQ(count(4000), 1);
  EXPECT_EQ(count(4100), 2);
  EXPECT_EQ(count(100000), 2);
}

SyncError error_of(const at::Tensor& tensor,
                   GradientFlow flow = GradientFlow::kLocal) {
  return testkit::sync_error_of([&] { gather_all_tensors(tensor, flow); })
      .value();
}

THREAD_RANKS_TEST(GatherTest, TensorsOfAnotherKindAreRefusedOnEveryRank, 3) {
  const bool odd = self.rank() == 1;
  SyncError error = error_of(at::zeros({2}, odd ? at::kLong : at::kFloat));
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.details().peers, std::vector<int>{1});
  EXPECT_THAT(error.message(), HasSubstr("rank 1: Long"));

  error = error_of(odd ? at::zeros({2}) : at::zeros({2, 1}));
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_EQ(error.details().peers, std::vector<int>{1});

  error = error_of(at::zeros({2}),
                   odd ? GradientFlow::kAllRanks : GradientFlow::kLocal);
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  EXPECT_THAT(error.message(), HasSubstr("kAllRanks"));
  EXPECT_EQ(gather_all_tensors(at::ones({1})).size(), 3);
}

THREAD_RANKS_TEST(GatherTest, SparseTensorsAreRefusedAndTheOthersTold, 2) {
  if (self.rank() == 0) {
    EXPECT_THROW(gather_all_tensors(at::ones({2, 2}).to_sparse()),
                 c10::ValueError);
  } else {
    const SyncError error = error_of(at::ones({2, 2}));
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
    EXPECT_THAT(error.message(), HasSubstr("expected a dense tensor"));
  }
  EXPECT_EQ(gather_all_tensors(at::ones({1})).size(), 2);
}

}  // namespace
}  // namespace tally::sync
