#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/real.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tally/sync/collectives.h"
#include "tally/tests/testing/memory_group.h"
#include "tally/tests/testing/thread_ranks.h"

// What other libraries' differentiable collectives get wrong, and what must not
// hang; see docs/gradients.md.
namespace tally::sync {
namespace {

using ::tally::testing::collect_thread_ranks;
using ::tally::testing::run_thread_ranks;
using ::testing::HasSubstr;
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

/// Every rank throws the same SyncError, and the group goes on.
void expect_error(int ranks, SyncErrorCode code, const std::string& text,
                  const std::function<void(const Group&)>& call) {
  std::vector<std::string> messages(ranks);
  run_thread_ranks(ranks, [&](Group group) {
    try {
      call(group);
      ADD_FAILURE() << "rank " << group->rank() << " did not throw";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), code) << describe(error);
      messages[group->rank()] = error.message();
    }
    expect_all(all_reduce(at::ones({1})), ranks);
  });
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr(text));
    EXPECT_EQ(message, messages[0]);
  }
}

/// Rank `bad` throws a c10::ValueError, the others kPeerFailed with its text.
void expect_refused(int bad, const std::string& text,
                    const std::function<void(const Group&)>& call) {
  run_thread_ranks(3, [&](Group group) {
    try {
      call(group);
      ADD_FAILURE() << "rank " << group->rank() << " did not throw";
    } catch (const SyncError& error) {
      EXPECT_NE(group->rank(), bad);
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
      EXPECT_THAT(error.message(), HasSubstr(text));
    } catch (const c10::ValueError& error) {
      EXPECT_TRUE(bad < 0 || group->rank() == bad);
      EXPECT_THAT(describe(error), HasSubstr(text));
    }
    expect_all(all_reduce(at::ones({1})), 3);
  });
}

// torch.distributed.nn hands the maximum of the gradients to every rank.
TEST(CollectivesPitfallsTest, GradientOfTheMaximumGoesToItsHolderAlone) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(2, [&](Group group) {
      const at::Tensor x = leaf(group->rank() + 1, size);
      all_reduce(x, Reduction::kMax).square().sum().backward();
      expect_all(x.grad(), group->rank() == 1 ? 8 : 0);
    });
  }
}

TEST(CollectivesPitfallsTest, TiesShareTheGradientOfTheExtreme) {
  for (std::int64_t size : kSizes) {
    for (at::ScalarType dtype : {at::kDouble, at::kBFloat16}) {
      run_thread_ranks(3, [&](Group group) {
        const at::Tensor x = leaf(group->rank() == 1 ? 5 : 2, size, dtype);
        all_reduce(x, Reduction::kMin).sum().backward();
        expect_all(x.grad(), group->rank() == 1 ? 0 : 1.5);
      });
    }
  }
}

TEST(CollectivesPitfallsTest, NanIsTheExtremeWhicheverRankHoldsIt) {
  for (std::int64_t size : kSizes) {
    for (const Reduction how : {Reduction::kMin, Reduction::kMax}) {
      run_thread_ranks(3, [&](Group group) {
        const at::Tensor x = leaf(group->rank() == 1 ? kNan : 2, size);
        const at::Tensor y = all_reduce(x, how);
        EXPECT_TRUE(y.isnan().all().item<bool>());
        y.sum().backward();
        expect_all(x.grad(), group->rank() == 1 ? 3 : 0);
      });
    }
  }
}

// torch.distributed.nn ignores the operation in backward: W times too much.
TEST(CollectivesPitfallsTest, ReduceScatterOfMeansIsNotOffByTheWorldSize) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(3, [&](Group group) {
      const at::Tensor x = leaf(group->rank() + 1, 3 * size);
      const at::Tensor y = reduce_scatter(x, Reduction::kMean);
      expect_all(y.detach(), 2);
      y.sum().backward();
      expect_all(x.grad(), 1.0 / 3);
    });
  }
}

// In-place reductions change what autograd has saved, and lose the gradient.
TEST(CollectivesPitfallsTest, AllReduceLeavesItsInputAlone) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(2, [&](Group group) {
      const at::Tensor x = leaf(group->rank() + 1, size);
      const at::Tensor inner = x.exp();
      const at::Tensor saved = inner.detach().clone();
      const at::Tensor y = all_reduce(inner, Reduction::kMean);
      EXPECT_TRUE(inner.detach().equal(saved));
      y.detach().zero_();
      EXPECT_TRUE(inner.detach().equal(saved));
      inner.mul(y).sum().backward();  // y is 0, its gradient is not
      const double e = std::exp(group->rank() + 1);
      EXPECT_NEAR(x.grad()[0].item<double>(),
                  e * (std::exp(1) + std::exp(2)) / 2, 1e-12);
    });
  }
}

// Gloo refuses an average of integers on a thread of its own, others round.
TEST(CollectivesPitfallsTest, MeansOfIntegersAreRefusedOnEveryRank) {
  expect_refused(-1, "a mean of integers", [](const Group&) {
    all_reduce(at::ones({2}, at::kLong), Reduction::kMean);
  });
  expect_refused(-1, "a mean of integers", [](const Group&) {
    reduce_scatter(at::ones({3}, at::kInt), Reduction::kMean);
  });
}

// Gloo adds the bytes of a bool; 256 ranks make false.
TEST(CollectivesPitfallsTest, SumsOfBoolsCount) {
  for (std::int64_t size : kSizes) {
    for (at::ScalarType dtype : {at::kBool, at::kShort, at::kChar}) {
      run_thread_ranks(3, [&](Group group) {
        const at::Tensor sum = all_reduce(at::ones({size}, dtype));
        EXPECT_EQ(sum.scalar_type(), at::kLong);
        expect_all(sum, 3);
        const at::Tensor any = all_reduce(
            at::full({size}, group->rank() == 1, dtype), Reduction::kMax);
        EXPECT_EQ(any.scalar_type(), dtype);
        expect_all(any, 1);
        expect_all(reduce_scatter(at::ones({3 * size}, dtype)), 3);
      });
    }
  }
}

TEST(CollectivesPitfallsTest, HalfPrecisionIsSummedInSinglePrecision) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(2, [&](Group) {
      const at::Tensor x = leaf(60000, 2 * size, at::kHalf);
      const at::Tensor y = all_reduce(x, Reduction::kMean);
      expect_all(y.detach(), 60000);
      y.mul(40000).sum().backward();
      expect_all(x.grad(), 40000);
      expect_all(reduce_scatter(x.detach(), Reduction::kMean), 60000);
    });
  }
}

// c10d's alltoall takes the vectors of split sizes away from the caller.
TEST(CollectivesPitfallsTest, AllToAllLeavesTheNumbersOfRowsAlone) {
  testing::ThreadRanksOptions gloo;
  gloo.transport = testing::ThreadTransport::kGloo;
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

TEST(CollectivesPitfallsTest, NumbersWithoutDimensionsWork) {
  run_thread_ranks(3, [](Group group) {
    const at::Tensor x =
        at::full({}, group->rank(), at::kDouble).set_requires_grad(true);
    const at::Tensor all = all_gather(x);
    EXPECT_TRUE(all.detach().equal(at::arange(3, at::kDouble)));
    all.sum().add(all_reduce(x)).add(ring_exchange(x)).backward();
    EXPECT_EQ(x.grad().dim(), 0);
    EXPECT_EQ(x.grad().item<double>(), 7);
    EXPECT_EQ(broadcast(x, 2).item<double>(), 2);
  });
}

TEST(CollectivesPitfallsTest, ComplexNumbersAreMovedAndSummed) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(2, [&](Group group) {
      const at::Tensor x =
          at::full({2 * size}, group->rank() + 1, at::kComplexDouble)
              .set_requires_grad(true);
      const at::Tensor y =
          all_reduce(x.conj()).add(all_gather(x).narrow(0, 0, 2 * size));
      y.abs().sum().backward();
      EXPECT_EQ(x.grad().scalar_type(), at::kComplexDouble);
      expect_all(x.grad(), group->rank() == 0 ? 4 : 2);
      expect_all(reduce_scatter(x.detach()), 3);
    });
  }
  expect_refused(-1, "have no order", [](const Group&) {
    all_reduce(at::ones({1}, at::kComplexFloat), Reduction::kMax);
  });
}

// A rank that looks at none of the rows of others still has to answer them.
TEST(CollectivesPitfallsTest, UnusedOutputsBringZeros) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(3, [&](Group group) {
      const at::Tensor x = leaf(1, size);
      const auto all = gather_all_tensors(x, GradientFlow::kAllRanks);
      all[group->rank()].mul(group->rank() + 1).sum().backward();
      expect_all(x.grad(), group->rank() + 1);
    });
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

// Without the tie, ranks end up in different calls; nobody waits in vain.
TEST(CollectivesPitfallsTest, UntiedRanksAreAMismatchInTheNextCall) {
  run_thread_ranks(2, [](Group group) {
    const at::Tensor x = leaf(1);
    const at::Tensor y = all_gather(x);
    try {
      if (group->rank() == 0) y.sum().backward();
      all_reduce(at::ones({1}));
      ADD_FAILURE() << "rank " << group->rank();
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_THAT(error.message(), HasSubstr("a backward pass"));
    }
    expect_all(all_reduce(at::ones({1})), 2);
  });
}

TEST(CollectivesPitfallsTest, BackwardPassesOfDifferentCallsAreAMismatch) {
  expect_error(2, SyncErrorCode::kMismatch,
               "rank 0: backward of exchange 0, all_gather",
               [](const Group& g) {
                 const at::Tensor x = leaf(1);
                 const at::Tensor first = all_gather(x);
                 const at::Tensor second = all_gather(x);
                 (g->rank() == 0 ? first : second).sum().backward();
               });
}

// Two gathers whose results are used in another order, and to another depth, on
// each rank.
TEST(CollectivesPitfallsTest, OrderOfUseDoesNotMatter) {
  run_thread_ranks(3, [](Group group) {
    const at::Tensor a = leaf(1), b = leaf(2, 2);
    const at::Tensor first = all_gather(a);
    at::Tensor early = first.mul(2);
    const at::Tensor second = all_gather(b);
    const auto deep = [](at::Tensor t, int depth) {
      for (int i = 0; i < depth; ++i) t = t.neg();
      return t.sum();
    };
    const int rank = group->rank();
    const at::Tensor loss = rank == 0   ? deep(early, 2).add(deep(second, 40))
                            : rank == 1 ? deep(second, 2).add(deep(early, 40))
                                        : deep(early.sum().add(second), 2);
    loss.backward();
    expect_all(a.grad(), 16);  // 2 + 2 + 2 * 6
    expect_all(b.grad(), 3);
  });
}

TEST(CollectivesPitfallsTest, LossesMayFollowEachOther) {
  run_thread_ranks(2, [](Group) {
    const at::Tensor x = leaf(1);
    const at::Tensor y = all_gather(x);
    y.sum().backward({}, /*retain_graph=*/true);
    y.sum().backward();
    all_reduce(x).sum().backward();
    expect_all(x.grad(), 6);
  });
}

TEST(CollectivesPitfallsTest, OutputsMayBeChangedInPlace) {
  for (std::int64_t size : kSizes) {
    run_thread_ranks(2, [&](Group) {
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
    });
  }
}

TEST(CollectivesPitfallsTest, WithoutGraphsNothingCarriesOne) {
  run_thread_ranks(2, [](Group) {
    EXPECT_FALSE(all_gather(at::ones({2})).requires_grad());
    EXPECT_FALSE(all_reduce(at::ones({2})).requires_grad());
    const at::NoGradGuard no_grad;
    EXPECT_FALSE(all_gather(leaf(1)).requires_grad());
    EXPECT_FALSE(ring_exchange(leaf(1)).requires_grad());
  });
}

// A rank under a NoGradGuard will have no backward pass; others would wait.
TEST(CollectivesPitfallsTest, RanksThatRecordNoGradientsAreAMismatch) {
  for (const auto& call : std::vector<std::function<void(at::Tensor)>>{
           [](at::Tensor x) { all_gather(x); },
           [](at::Tensor x) { all_reduce(x); },
           [](at::Tensor x) { ring_exchange(x); }}) {
    expect_error(3, SyncErrorCode::kMismatch,
                 "rank 0 would wait for ranks that record no gradients: 2",
                 [&](const Group& group) {
                   const at::AutoGradMode mode(group->rank() != 2);
                   call(leaf(1));
                 });
  }
}

TEST(CollectivesPitfallsTest, DifferentCallsOptionsAndTensorsAreAMismatch) {
  const auto mismatch = [](const std::string& text,
                           const std::function<void(int)>& call) {
    expect_error(3, SyncErrorCode::kMismatch, text,
                 [&](const Group& group) { call(group->rank()); });
  };
  const at::Tensor x = at::ones({6}, at::kDouble);
  mismatch("rank 2: broadcast from 0",
           [&](int rank) { rank == 2 ? broadcast(x, 0) : all_reduce(x); });
  mismatch("sum of Double [6], rank 1: all_reduce, max of Double [6]",
           [&](int rank) {
             all_reduce(x, rank == 1 ? Reduction::kMax : Reduction::kSum);
           });
  mismatch("rank 2: all_reduce, sum of Float [6]",
           [&](int rank) { all_reduce(rank == 2 ? x.to(at::kFloat) : x); });
  mismatch("rank 1: all_reduce, sum of Double [2, 3]", [&](int rank) {
    all_reduce(rank == 1 ? x.view({2, 3}) : x);
  });
  mismatch("broadcast from 1", [&](int rank) { broadcast(x, rank == 0); });
  mismatch("rank 0: Double [6], rank 1: nothing, rank 2: Double [2, 3]",
           [&](int rank) {
             const at::Tensor of[] = {x, at::Tensor(), x.view({2, 3})};
             broadcast(of[rank], 0);
           });
  mismatch("rank 1: ring_exchange, shift 2",
           [&](int rank) { ring_exchange(x, rank == 1 ? 2 : 1); });
  mismatch("rank 1: reduce_scatter (sum), Double [1] [2] [3]", [&](int rank) {
    reduce_scatter(x, Reduction::kSum, rank == 1 ? Counts{1, 2, 3} : Counts());
  });
  mismatch("rank 0: Double rows of [2], rank 1: Double rows of [1]",
           [&](int rank) {
             all_gather(rank == 1 ? x.view({6, 1}) : x.view({3, 2}));
           });
  mismatch("rank 2: all_to_all, Double, rows of [2]", [&](int rank) {
    all_to_all(rank == 2 ? x.view({3, 2}) : x.view({6, 1}));
  });
}

TEST(CollectivesPitfallsTest, BadArgumentsOnOneRankAreRefusedOnEveryRank) {
  const auto refused = [](const std::string& text,
                          const std::function<void(bool)>& call) {
    expect_refused(1, text,
                   [&](const Group& group) { call(group->rank() == 1); });
  };
  const at::Tensor x = at::ones({6}, at::kDouble);
  refused("got an undefined one",
          [&](bool bad) { all_reduce(bad ? at::Tensor() : x); });
  refused("got an undefined one",
          [&](bool bad) { ring_exchange(bad ? at::Tensor() : x); });
  refused("expected a dense tensor",
          [&](bool bad) { all_gather(bad ? x.to_sparse() : x); });
  refused("expected a dense tensor",
          [&](bool bad) { all_reduce(bad ? x.to_sparse() : x); });
  refused("multiple of 3 ranks", [&](bool bad) {
    reduce_scatter(bad ? at::ones({7}, at::kDouble) : x);
  });
  refused("numbers of rows that add up to 6", [&](bool bad) {
    all_to_all(x, bad ? Counts{1, 2} : Counts{2, 2, 2});
  });
  refused("numbers of rows that add up to 6", [&](bool bad) {
    all_to_all(x, bad ? Counts{7, -1, 0} : Counts{2, 2, 2});
  });
  refused("of no dimensions",
          [&](bool bad) { all_to_all(bad ? at::ones({}) : x); });
  refused("one for each rank, got 2", [&](bool bad) {
    all_to_all(std::vector<at::Tensor>(bad ? 2 : 3, x));
  });
  refused("expected tensors of one dtype", [&](bool bad) {
    all_to_all({x, x, bad ? x.to(at::kInt) : x});
  });
  refused("got an undefined one",
          [&](bool bad) { broadcast(bad ? at::Tensor() : x, 1); });
  expect_refused(-1, "expected a root below 3, got 3",
                 [&](const Group&) { broadcast(x, 3); });
  expect_refused(-1, "multiply what gather_all_tensors gives",
                 [&](const Group&) { all_reduce(x, Reduction::kProduct); });
  expect_refused(-1, "expected sum or mean",
                 [&](const Group&) { reduce_scatter(x, Reduction::kMax); });
  expect_refused(-1, "cannot reduce dtype", [&](const Group&) {
    all_reduce(at::ones({1}).to(at::kUInt64));
  });
}

TEST(CollectivesPitfallsTest, SubgroupsKeepToThemselves) {
  const testing::MemoryGroup even(2, std::chrono::seconds(20));
  const testing::MemoryGroup odd(2, std::chrono::seconds(20));
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
