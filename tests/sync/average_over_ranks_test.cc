#include "tally/sync/average_over_ranks.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tally/sync/average_gradients.h"
#include "tally/sync/statistics.h"
#include "tally/testing/compare.h"
#include "tally/testing/internal/numerical_gradient.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using ::tally::testkit::match_gradient;
using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;
using Group = std::shared_ptr<Communicator>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor random(at::IntArrayRef sizes, std::uint64_t seed) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble);
}

/// Numbers of rows; rank 1 has none.
std::int64_t rows_of(int rank) {
  constexpr std::int64_t kRows[] = {4, 0, 1, 2, 5};
  return kRows[rank];
}

at::Tensor rows(int rank, std::int64_t columns) {
  return random({rows_of(rank), columns}, 3 + rank);
}

at::Tensor all_rows(int ranks, std::int64_t columns) {
  std::vector<at::Tensor> parts;
  for (int r = 0; r < ranks; ++r) parts.push_back(rows(r, columns));
  return at::cat(parts);
}

/// The entropy of the mean of the rows' softmax.
at::Tensor entropy(const at::Tensor& mean) {
  return mean.mul(mean.log()).sum().neg();
}

struct Regime {
  GradientFlow flow;
  bool averaged;
};

// Columns that fit in the exchange, and that do not.
TEST(AverageOverRanksTest, IsTheMeanOfAllSamplesWithItsExactGradient) {
  for (std::int64_t columns : {4, 3000}) {
    for (int ranks : {1, 2, 3, 5}) {
      const at::Tensor parameter = random({columns}, 1).set_requires_grad(true);
      const at::Tensor loss =
          entropy(all_rows(ranks, columns).mul(parameter).softmax(1).mean(0));
      const at::Tensor expected = torch::autograd::grad({loss}, {parameter})[0];
      for (const Regime& regime : {Regime{GradientFlow::kReplicated, true},
                                   Regime{GradientFlow::kLocal, false},
                                   Regime{GradientFlow::kAllRanks, true}}) {
        SCOPED_TRACE(c10::str(to_string(regime.flow), " on ", ranks, " ranks, ",
                              columns, " columns"));
        std::vector<at::Tensor> values(ranks);
        run_thread_ranks(ranks, [&](Group group) {
          const int rank = group->rank();
          const at::Tensor own = parameter.detach().clone();
          own.set_requires_grad(true);
          const at::Tensor probabilities =
              rows(rank, columns).mul(own).softmax(1);
          const at::Tensor mean = average_over_ranks(
              probabilities.mean(0), rows_of(rank), regime.flow);
          const auto before = group->collectives();
          const at::Tensor value = entropy(mean);
          values[rank] = value.detach();
          value.backward();
          if (regime.flow != GradientFlow::kAllRanks) {
            EXPECT_EQ(group->collectives(), before);
          }
          average_gradients({own});
          const auto match = match_gradient(own.grad(), expected);
          EXPECT_NEAR(match.scale, regime.averaged ? 1 : 1.0 / ranks, 1e-12);
          EXPECT_LT(match.residual, 1e-12);
        });
        for (const at::Tensor& value : values) {
          EXPECT_TRUE(testkit::same_bits(value, values[0]));
          EXPECT_TRUE(testkit::near(value, loss.detach(), {1e-13, 0}));
        }
      }
    }
  }
}

TEST(AverageOverRanksTest, GradientsOfGradientsAreExact) {
  for (std::int64_t columns : {4, 3000}) {
    const at::Tensor factors = random({columns}, 2);
    for (int ranks : {1, 2, 3, 5}) {
      // The derivative along `factors`, and its gradient.
      const auto second = [&](const at::Tensor& parameter,
                              const at::Tensor& loss) {
        const at::Tensor first = torch::autograd::grad(
            {loss}, {parameter}, {}, /*retain_graph=*/true,
            /*create_graph=*/true)[0];
        return torch::autograd::grad({first.mul(factors).sum()},
                                     {parameter})[0];
      };
      const at::Tensor parameter = random({columns}, 1).set_requires_grad(true);
      const at::Tensor expected = second(
          parameter,
          entropy(all_rows(ranks, columns).mul(parameter).softmax(1).mean(0)));
      for (const Regime& regime : {Regime{GradientFlow::kReplicated, true},
                                   Regime{GradientFlow::kLocal, false},
                                   Regime{GradientFlow::kAllRanks, true}}) {
        SCOPED_TRACE(c10::str(to_string(regime.flow), " on ", ranks, " ranks, ",
                              columns, " columns"));
        run_thread_ranks(ranks, [&](Group group) {
          const int rank = group->rank();
          const at::Tensor own = parameter.detach().clone();
          own.set_requires_grad(true);
          const at::Tensor mean = average_over_ranks(
              rows(rank, columns).mul(own).softmax(1).mean(0), rows_of(rank),
              regime.flow);
          own.mutable_grad() = second(own, entropy(mean));
          average_gradients({own});
          const auto match = match_gradient(own.grad(), expected);
          EXPECT_NEAR(match.scale, regime.averaged ? 1 : 1.0 / ranks, 1e-11);
          EXPECT_LT(match.residual, 1e-11);
        });
      }
    }
  }
}

// vector-quantize-pytorch's maybe_distributed_mean drops what the reduction
// gives, and counts ranks where it should count samples.
THREAD_RANKS_TEST(AverageOverRanksTest, CountsSamplesNotRanks, 2) {
  const bool first = self.rank() == 0;
  const at::Tensor mean =
      at::full({1}, first ? 1.0 : 4.0, at::kDouble).set_requires_grad(true);
  const at::Tensor all = average_over_ranks(mean, first ? 1 : 2);
  EXPECT_DOUBLE_EQ(all.item<double>(), 3);
  all.sum().backward();
  EXPECT_DOUBLE_EQ(mean.grad().item<double>(), first ? 2.0 / 3 : 4.0 / 3);
}

THREAD_RANKS_TEST(AverageOverRanksTest, InfinitiesDoNoHarm, 2) {
  for (std::int64_t size : {1, 3000}) {
    const double own = self.rank() == 0 ? kInfinity : 1;
    const at::Tensor mean =
        at::full({size}, own, at::kDouble).set_requires_grad(true);
    const at::Tensor all = average_over_ranks(mean, 2);
    EXPECT_TRUE(all.detach().isposinf().all().item<bool>());
    all.sum().backward();
    EXPECT_TRUE(mean.grad().equal(at::ones({size}, at::kDouble)));
  }
}

THREAD_RANKS_TEST(AverageOverRanksTest,
                  RanksWithoutSamplesAddNothingWhateverTheirMean, 3) {
  for (const GradientFlow flow :
       {GradientFlow::kReplicated, GradientFlow::kAllRanks}) {
    const bool idle = self.rank() == 1;
    const at::Tensor x =
        at::full({idle ? 0 : 2}, 3.0, at::kDouble).set_requires_grad(true);
    const at::Tensor weight =
        at::full({1}, 2.0, at::kDouble).set_requires_grad(true);
    // 0 / 0 on the idle rank, forward and backward.
    const at::Tensor mean = x.mul(weight).sum().div(x.size(0));
    const at::Tensor all = average_over_ranks(mean, x.size(0), flow);
    EXPECT_DOUBLE_EQ(all.item<double>(), 6);
    all.backward();
    average_gradients({weight});
    EXPECT_DOUBLE_EQ(weight.grad().item<double>(), 3);
  }
}

THREAD_RANKS_TEST(AverageOverRanksTest, IsNanOfNoSamplesAtAll, 2) {
  const at::Tensor mean = at::zeros({2}).set_requires_grad(true);
  const at::Tensor all = average_over_ranks(mean, 0);
  EXPECT_TRUE(all.isnan().all().item<bool>());
  all.sum().backward();
  EXPECT_FALSE(mean.grad().defined());
}

THREAD_RANKS_TEST(AverageOverRanksTest, KeepsDtypeAndDropsTheGraphWhenDetached,
                  2) {
  for (at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const at::Tensor mean =
        at::full({2, 2}, 60000.0).to(dtype).t().set_requires_grad(true);
    const at::Tensor all = average_over_ranks(mean, 1e6);
    EXPECT_EQ(all.scalar_type(), dtype);
    EXPECT_TRUE(all.detach().equal(mean.detach()));
    EXPECT_TRUE(all.requires_grad());
    EXPECT_FALSE(
        average_over_ranks(mean, 1, GradientFlow::kDetached).requires_grad());
  }
}

/// Rank 1 throws a c10::ValueError, the others kPeerFailed with its text; the
/// group goes on.
void expect_refused(const std::string& text,
                    const std::function<void(bool bad)>& call) {
  run_thread_ranks(3, [&](Group group) {
    const bool bad = group->rank() == 1;
    try {
      call(bad);
      ADD_FAILURE() << "rank " << group->rank() << " did not throw";
    } catch (const SyncError& error) {
      EXPECT_FALSE(bad);
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
      EXPECT_THAT(error.message(), HasSubstr(text));
    } catch (const c10::ValueError& error) {
      EXPECT_TRUE(bad);
      EXPECT_THAT(describe(error), HasSubstr(text));
    }
    EXPECT_EQ(sum_statistics(at::ones({})).item<float>(), 3);
  });
}

TEST(AverageOverRanksTest, BadArgumentsAreRefusedOnEveryRank) {
  const at::Tensor mean = at::ones({2});
  expect_refused("expected a count of at least 0, got -1",
                 [&](bool bad) { average_over_ranks(mean, bad ? -1 : 1); });
  expect_refused("expected a count of at least 0, got nan",
                 [&](bool bad) { average_over_ranks(mean, bad ? kNan : 1); });
  expect_refused("expected a floating dtype, got Long", [&](bool bad) {
    average_over_ranks(bad ? mean.to(at::kLong) : mean, 1);
  });
  expect_refused("expected a tensor, got an undefined one", [&](bool bad) {
    average_over_ranks(bad ? at::Tensor() : mean, 1);
  });
  run_thread_ranks(2, [&](Group group) {
    try {
      average_over_ranks(at::ones({2 + group->rank()}), 1);
      ADD_FAILURE() << "averaged different sizes";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
    }
  });
}

THREAD_RANKS_TEST(StatisticsTest, AreOverAllRanksAndCarryNoGraph, 3) {
  for (std::int64_t size : {1, 3000}) {
    const at::Tensor own = at::full({size}, self.rank() + 1, at::kDouble);
    const auto all = gather_statistics(own);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_TRUE(all[2].equal(at::full({size}, 3, at::kDouble)));
    EXPECT_TRUE(sum_statistics(own).equal(at::full({size}, 6, at::kDouble)));
    const at::Tensor mean = mean_statistics(own, self.rank());
    EXPECT_NEAR(mean[0].item<double>(), 8.0 / 3, 1e-15);
    const auto counts = sum_statistics(at::ones({size}, at::kBool));
    EXPECT_EQ(counts.scalar_type(), at::kLong);
    EXPECT_EQ(counts[0].item<std::int64_t>(), 3);
  }
}

TEST(StatisticsTest, RefuseAGraphAndNameWhatKeepsIt) {
  const auto tensor = [](bool bad) {
    return at::ones({2}).set_requires_grad(bad);
  };
  expect_refused("gather_all_tensors keeps it, detach() drops it",
                 [&](bool bad) { gather_statistics(tensor(bad)); });
  expect_refused("all_reduce keeps it",
                 [&](bool bad) { sum_statistics(tensor(bad)); });
  expect_refused("average_over_ranks keeps it",
                 [&](bool bad) { mean_statistics(tensor(bad), 1); });
}

}  // namespace
}  // namespace tally::sync
