#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/real.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tally/sync/collectives.h"
#include "tally/testing/internal/memory_group.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"

// What other libraries' differentiable collectives get wrong; see
// docs/gradients.md.
namespace tally::sync {
namespace {

using ::tally::testkit::run_thread_ranks;
using Group = std::shared_ptr<Communicator>;
using Counts = std::vector<std::int64_t>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Sizes that fit in an exchange, and that do not.
constexpr std::int64_t kSizes[] = {1, 3000};

at::Tensor leaf(double value, std::int64_t size = 1,
                at::ScalarType dtype = at::kDouble) {
  return at::full({size}, value, dtype).set_requires_grad(true);
}

void expect_all(const at::Tensor& tensor, double value) {
  ASSERT_TRUE(tensor.defined());
  EXPECT_TRUE(tensor.equal(at::full(tensor.sizes(), value, tensor.options())))
      << tensor.reshape({-1})[0].item<double>() << ", expected " << value;
}

// torch.distributed.nn hands the maximum of the gradients to every rank.
THREAD_RANKS_TEST(CollectivesPitfallsTest,
                  GradientOfTheMaximumGoesToItsHolderAlone, 2) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x = leaf(self.rank() + 1, size);
    all_reduce(x, Reduction::kMax).square().sum().backward();
    expect_all(x.grad(), self.rank() == 1 ? 8 : 0);
  }
}

THREAD_RANKS_TEST(CollectivesPitfallsTest, TiesShareTheGradientOfTheExtreme,
                  3) {
  for (std::int64_t size : kSizes) {
    for (at::ScalarType dtype : {at::kDouble, at::kBFloat16}) {
      const at::Tensor x = leaf(self.rank() == 1 ? 5 : 2, size, dtype);
      all_reduce(x, Reduction::kMin).sum().backward();
      expect_all(x.grad(), self.rank() == 1 ? 0 : 1.5);
    }
  }
}

THREAD_RANKS_TEST(CollectivesPitfallsTest, NanIsTheExtremeWhicheverRankHoldsIt,
                  3) {
  for (std::int64_t size : kSizes) {
    for (const Reduction how : {Reduction::kMin, Reduction::kMax}) {
      const at::Tensor x = leaf(self.rank() == 1 ? kNan : 2, size);
      const at::Tensor y = all_reduce(x, how);
      EXPECT_TRUE(y.isnan().all().item<bool>());
      y.sum().backward();
      expect_all(x.grad(), self.rank() == 1 ? 3 : 0);
    }
  }
}

// torch.distributed.nn ignores the operation in backward: W times too much.
THREAD_RANKS_TEST(CollectivesPitfallsTest,
                  ReduceScatterOfMeansIsNotOffByTheWorldSize, 3) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x = leaf(self.rank() + 1, 3 * size);
    const at::Tensor y = reduce_scatter(x, Reduction::kMean);
    expect_all(y.detach(), 2);
    y.sum().backward();
    expect_all(x.grad(), 1.0 / 3);
  }
}

// In-place reductions change what autograd has saved, and lose the gradient.
THREAD_RANKS_TEST(CollectivesPitfallsTest, AllReduceLeavesItsInputAlone, 2) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x = leaf(self.rank() + 1, size);
    const at::Tensor inner = x.exp();
    const at::Tensor saved = inner.detach().clone();
    const at::Tensor y = all_reduce(inner, Reduction::kMean);
    EXPECT_TRUE(inner.detach().equal(saved));
    y.detach().zero_();
    EXPECT_TRUE(inner.detach().equal(saved));
    inner.mul(y).sum().backward();  // y is 0, its gradient is not
    const double e = std::exp(self.rank() + 1);
    EXPECT_NEAR(x.grad()[0].item<double>(), e * (std::exp(1) + std::exp(2)) / 2,
                1e-12);
  }
}

// Gloo adds the bytes of a bool; 256 ranks make false.
THREAD_RANKS_TEST(CollectivesPitfallsTest, SumsOfBoolsCount, 3) {
  for (std::int64_t size : kSizes) {
    for (at::ScalarType dtype : {at::kBool, at::kShort, at::kChar}) {
      const at::Tensor sum = all_reduce(at::ones({size}, dtype));
      EXPECT_EQ(sum.scalar_type(), at::kLong);
      expect_all(sum, 3);
      const at::Tensor any = all_reduce(
          at::full({size}, self.rank() == 1, dtype), Reduction::kMax);
      EXPECT_EQ(any.scalar_type(), dtype);
      expect_all(any, 1);
      expect_all(reduce_scatter(at::ones({3 * size}, dtype)), 3);
    }
  }
}

THREAD_RANKS_TEST(CollectivesPitfallsTest,
                  HalfPrecisionIsSummedInSinglePrecision, 2) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x = leaf(60000, 2 * size, at::kHalf);
    const at::Tensor y = all_reduce(x, Reduction::kMean);
    expect_all(y.detach(), 60000);
    y.mul(40000).sum().backward();
    expect_all(x.grad(), 40000);
    expect_all(reduce_scatter(x.detach(), Reduction::kMean), 60000);
  }
}

// c10d's alltoall takes the vectors of split sizes away from the caller.
TEST(CollectivesPitfallsTest, AllToAllLeavesTheNumbersOfRowsAlone) {
  testkit::ThreadRanksOptions gloo;
  gloo.transport = testkit::ThreadTransport::kGloo;
  for (std::int64_t size : kSizes) {
    run_thread_ranks(
        2,
        [&](Group group) {
          const Counts rows = {size, 2 * size};
          const at::Tensor x = at::full({3 * size}, group->rank());
          for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(all_to_all(x, rows).numel(),
                      2 * size * (group->rank() + 1));
            EXPECT_EQ(reduce_scatter(x, Reduction::kSum, rows).numel(),
                      size * (group->rank() + 1));
            EXPECT_EQ(rows, (Counts{size, 2 * size}));
          }
        },
        gloo);
  }
}

// Backends refuse uneven gathers, or one rank's division by zero ends it.
TEST(CollectivesPitfallsTest, RanksWithNothingTakePart) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(3, [&](Group group) {
      const bool idle = group->rank() == 1;
      const at::Tensor x = leaf(2, size);
      const at::Tensor all = all_gather(idle ? at::Tensor() : x);
      EXPECT_EQ(all.numel(), 2 * size);
      all.square().sum().backward();
      if (!idle) expect_all(x.grad(), 12);

      const at::Tensor none = leaf(2, idle ? 0 : size);
      all_gather(none).sum().backward();
      expect_all(none.grad(), 3);

      const at::Tensor passed = ring_exchange(none);
      EXPECT_EQ(passed.numel(), group->rank() == 2 ? 0 : size);
    });
  }
  run_thread_ranks(2, [](Group) {
    EXPECT_FALSE(all_gather(at::Tensor()).defined());
    EXPECT_EQ(all_reduce(at::empty({0, 3})).numel(), 0);
    EXPECT_EQ(reduce_scatter(at::empty({0, 3})).numel(), 0);
    EXPECT_EQ(all_to_all(at::empty({0, 3})).numel(), 0);
    EXPECT_EQ(broadcast(at::empty({0}), 1).numel(), 0);
  });
}

THREAD_RANKS_TEST(CollectivesPitfallsTest, NumbersWithoutDimensionsWork, 3) {
  const at::Tensor x =
      at::full({}, self.rank(), at::kDouble).set_requires_grad(true);
  const at::Tensor all = all_gather(x);
  EXPECT_TRUE(all.detach().equal(at::arange(3, at::kDouble)));
  all.sum().add(all_reduce(x)).add(ring_exchange(x)).backward();
  EXPECT_EQ(x.grad().dim(), 0);
  EXPECT_EQ(x.grad().item<double>(), 7);
  EXPECT_EQ(broadcast(x, 2).item<double>(), 2);
}

THREAD_RANKS_TEST(CollectivesPitfallsTest, ComplexNumbersAreMovedAndSummed, 2) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x =
        at::full({2 * size}, self.rank() + 1, at::kComplexDouble)
            .set_requires_grad(true);
    const at::Tensor y =
        all_reduce(x.conj()).add(all_gather(x).narrow(0, 0, 2 * size));
    y.abs().sum().backward();
    EXPECT_EQ(x.grad().scalar_type(), at::kComplexDouble);
    expect_all(x.grad(), self.rank() == 0 ? 4 : 2);
    expect_all(reduce_scatter(x.detach()), 3);
  }
}

// A rank that looks at none of the rows of others still has to answer them.
THREAD_RANKS_TEST(CollectivesPitfallsTest, UnusedOutputsBringZeros, 3) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x = leaf(1, size);
    const auto all = gather_all_tensors(x, GradientFlow::kAllRanks);
    all[self.rank()].mul(self.rank() + 1).sum().backward();
    expect_all(x.grad(), self.rank() + 1);
  }
}

TEST(CollectivesPitfallsTest, TiedRanksTakePartThoughTheirLossDoesNot) {
  for (at::ScalarType dtype : {at::kDouble, at::kHalf, at::kComplexFloat}) {
    run_thread_ranks(3, [&](Group group) {
      const at::Tensor x =
          at::full({2, 2}, kInfinity, dtype).set_requires_grad(true);
      const at::Tensor y = all_gather(x);
      const at::Tensor own = at::full({}, 1.0f);  // float32, without a graph
      const at::Tensor loss =
          group->rank() == 1 ? tie(own, y) : at::real(y.sum());
      if (group->rank() == 1) {
        EXPECT_EQ(loss.scalar_type(), at::kFloat);
        EXPECT_EQ(loss.item<float>(), 1);
      }
      loss.backward();
      expect_all(x.grad(), 2);
    });
  }
  EXPECT_THROW(tie(at::ones({}), at::Tensor()), c10::ValueError);
}

// at::cat gives a vector without elements a gradient without a graph.
THREAD_RANKS_TEST(CollectivesPitfallsTest,
                  RanksThatGetNothingHaveGradientsOfGradients, 3) {
  for (std::int64_t size : kSizes) {
    // All rows go to rank 2; rank 1's loss is linear, and has none.
    const at::Tensor x = leaf(self.rank() + 1, size);
    const at::Tensor y = all_to_all(x, Counts{0, 0, size});
    EXPECT_EQ(y.numel(), self.rank() == 2 ? 3 * size : 0);
    const at::Tensor loss =
        self.rank() == 1 ? y.sum() : y.square().mul(y).sum();
    const at::Tensor first = torch::autograd::grad(
        {loss}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    expect_all(first.detach(), 3 * std::pow(self.rank() + 1, 2));
    expect_all(torch::autograd::grad({first.square().sum()}, {x})[0],
               36 * std::pow(self.rank() + 1, 3));
  }
}

// What is linear on one rank has no second derivative there, and is waited for.
THREAD_RANKS_TEST(CollectivesPitfallsTest, LinearLossesHaveGradientsOfGradients,
                  3) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x = leaf(self.rank() + 1, size);
    const at::Tensor y = all_reduce(x);
    const at::Tensor loss = self.rank() == 1 ? y.sum() : y.square().sum();
    const at::Tensor first = torch::autograd::grad(
        {loss}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    expect_all(first.detach(), 25);
    // Of 3 gradients 2 y + 1 + 2 y.
    expect_all(torch::autograd::grad({first.sum()}, {x})[0], 12);
  }
}

// Two gathers whose results are used in another order, and to another depth, on
// each rank.
THREAD_RANKS_TEST(CollectivesPitfallsTest, OrderOfUseDoesNotMatter, 3) {
  const at::Tensor a = leaf(1), b = leaf(2, 2);
  const at::Tensor first = all_gather(a);
  at::Tensor early = first.mul(2);
  const at::Tensor second = all_gather(b);
  const auto deep = [](at::Tensor t, int depth) {
    for (int i = 0; i < depth; ++i) t = t.neg();
    return t.sum();
  };
  const int rank = self.rank();
  const at::Tensor loss = rank == 0   ? deep(early, 2).add(deep(second, 40))
                          : rank == 1 ? deep(second, 2).add(deep(early, 40))
                                      : deep(early.sum().add(second), 2);
  loss.backward();
  expect_all(a.grad(), 16);  // 2 + 2 + 2 * 6
  expect_all(b.grad(), 3);
}

THREAD_RANKS_TEST(CollectivesPitfallsTest, LossesMayFollowEachOther, 2) {
  const at::Tensor x = leaf(1);
  const at::Tensor y = all_gather(x);
  y.sum().backward({}, /*retain_graph=*/true);
  y.sum().backward();
  all_reduce(x).sum().backward();
  expect_all(x.grad(), 6);
}

THREAD_RANKS_TEST(CollectivesPitfallsTest, OutputsMayBeChangedInPlace, 2) {
  for (std::int64_t size : kSizes) {
    const at::Tensor x = leaf(1, 2 * size);
    for (const at::Tensor& y :
         {all_gather(x), all_reduce(x), reduce_scatter(x), all_to_all(x),
          broadcast(x, 0), ring_exchange(x),
          gather_all_tensors(x, GradientFlow::kAllRanks)[1]}) {
      const at::Tensor before = y.detach().clone();
      y.mul_(3);
      EXPECT_TRUE(y.detach().equal(before.mul(3)));
    }
    expect_all(x.detach(), 1);
  }
}

THREAD_RANKS_TEST(CollectivesPitfallsTest, WithoutGraphsNothingCarriesOne, 2) {
  EXPECT_FALSE(all_gather(at::ones({2})).requires_grad());
  EXPECT_FALSE(all_reduce(at::ones({2})).requires_grad());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(all_gather(leaf(1)).requires_grad());
  EXPECT_FALSE(ring_exchange(leaf(1)).requires_grad());
}

TEST(CollectivesPitfallsTest, SubgroupsKeepToThemselves) {
  const testkit::MemoryGroup even(2, std::chrono::seconds(20));
  const testkit::MemoryGroup odd(2, std::chrono::seconds(20));
  run_thread_ranks(4, [&](Group world) {
    const auto group =
        (world->rank() % 2 == 0 ? even : odd).communicator(world->rank() / 2);
    const at::Tensor x = leaf(world->rank());
    const at::Tensor all = all_gather(x, group);
    EXPECT_EQ(all.sum().item<double>(), world->rank() % 2 == 0 ? 2 : 4);
    all.mul(world->rank())
        .sum()
        .add(all_reduce(x, Reduction::kSum, world))
        .sum()
        .backward();
    // 4 from the world, and the ranks of the own group.
    expect_all(x.grad(), 4 + (world->rank() % 2 == 0 ? 2 : 4));
  });
}

TEST(CollectivesPitfallsTest, NoCommunicatorMeansOneProcess) {
  const at::Tensor x = leaf(3, 4);
  all_gather(x)
      .add(all_reduce(x, Reduction::kMean))
      .add(ring_exchange(x))
      .add(all_to_all(x))
      .add(broadcast(x, 0))
      .add(reduce_scatter(x))
      .add(all_reduce(x, Reduction::kMax))
      .sum()
      .backward();
  expect_all(x.grad(), 7);
}

TEST(CollectivesPitfallsTest, ReductionsHaveNames) {
  EXPECT_STREQ(to_string(Reduction::kMin), "min");
  EXPECT_STREQ(to_string(static_cast<Reduction>(9)), "unknown");
}

}  // namespace
}  // namespace tally::sync
