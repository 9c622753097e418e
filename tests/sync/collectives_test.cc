#include "tally/sync/collectives.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "tally/testing/compare.h"
#include "tally/testing/internal/numerical_gradient.h"
#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using ::tally::testkit::match_gradient;
using ::tally::testkit::run_thread_ranks;
using ::tally::testkit::ThreadTransport;
using Tensors = std::vector<at::Tensor>;

constexpr std::int64_t kColumns = 3;

at::Tensor random(at::IntArrayRef sizes, std::uint64_t seed) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble);
}

/// How many rows a rank brings, or gets, where that differs: none on rank 2.
std::int64_t uneven(int rank) {
  constexpr std::int64_t kRows[] = {3, 1, 0, 2, 4};
  return kRows[rank];
}

std::vector<std::int64_t> uneven_rows(int ranks, std::int64_t scale) {
  std::vector<std::int64_t> rows;
  for (int r = 0; r < ranks; ++r) rows.push_back(uneven(r) * scale);
  return rows;
}

std::int64_t total(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

/// A collective, and what one process would compute in its place.
struct Case {
  const char* name;
  std::function<std::int64_t(int rank, int ranks, std::int64_t scale)> rows;
  std::function<Tensors(const at::Tensor& own, std::int64_t scale)> run;
  std::function<Tensors(const Tensors& all, int rank, std::int64_t scale)>
      model;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

std::int64_t same_rows(int, int, std::int64_t scale) { return 2 * scale; }
std::int64_t uneven_of(int rank, int, std::int64_t scale) {
  return uneven(rank) * scale;
}
std::int64_t divisible(int, int ranks, std::int64_t scale) {
  return 2 * ranks * scale;
}
std::int64_t sum_of_uneven(int, int ranks, std::int64_t scale) {
  return total(uneven_rows(ranks, scale));
}

int ranks_here() { return default_communicator()->size(); }

at::Tensor sum_of(const Tensors& all) { return at::stack(all).sum(0); }

at::Tensor part(const at::Tensor& tensor, const std::vector<std::int64_t>& rows,
                int rank) {
  return tensor.split_with_sizes(rows, 0)[rank];
}

at::Tensor parts_for(const Tensors& all, const std::vector<std::int64_t>& rows,
                     int rank) {
  Tensors parts;
  for (const at::Tensor& tensor : all)
    parts.push_back(part(tensor, rows, rank));
  return at::cat(parts);
}

std::vector<std::int64_t> even_rows(const Tensors& all) {
  const auto ranks = static_cast<std::int64_t>(all.size());
  return std::vector<std::int64_t>(ranks, all[0].size(0) / ranks);
}

Case reduction(const char* name, Reduction how,
               std::function<at::Tensor(const Tensors&)> model) {
  return {name, same_rows,
          [how](const at::Tensor& own, std::int64_t) -> Tensors {
            return {all_reduce(own, how)};
          },
          [model](const Tensors& all, int, std::int64_t) -> Tensors {
            return {model(all)};
          }};
}

Case scatter(const char* name, Reduction how, bool even) {
  return {name, even ? divisible : sum_of_uneven,
          [=](const at::Tensor& own, std::int64_t scale) -> Tensors {
            return {reduce_scatter(own, how,
                                   even ? std::vector<std::int64_t>()
                                        : uneven_rows(ranks_here(), scale))};
          },
          [=](const Tensors& all, int rank, std::int64_t scale) -> Tensors {
            const auto rows =
                even ? even_rows(all)
                     : uneven_rows(static_cast<int>(all.size()), scale);
            const at::Tensor sum = part(sum_of(all), rows, rank);
            return {how == Reduction::kMean
                        ? sum.div(static_cast<double>(all.size()))
                        : sum};
          }};
}

Case ring(const char* name, int shift) {
  return {name, uneven_of,
          [=](const at::Tensor& own, std::int64_t) -> Tensors {
            return {ring_exchange(own, shift)};
          },
          [=](const Tensors& all, int rank, std::int64_t) -> Tensors {
            const int ranks = static_cast<int>(all.size());
            return {all[((rank - shift) % ranks + ranks) % ranks]};
          }};
}

std::vector<Case> cases() {
  return {
      {"AllGatherEven", same_rows,
       [](const at::Tensor& own, std::int64_t) -> Tensors {
         return {all_gather(own)};
       },
       [](const Tensors& all, int, std::int64_t) -> Tensors {
         return {at::cat(all)};
       }},
      {"AllGatherUneven", uneven_of,
       [](const at::Tensor& own, std::int64_t) -> Tensors {
         return {all_gather(own)};
       },
       [](const Tensors& all, int, std::int64_t) -> Tensors {
         return {at::cat(all)};
       }},
      {"GatherAllTensors", uneven_of,
       [](const at::Tensor& own, std::int64_t) {
         return gather_all_tensors(own, GradientFlow::kAllRanks);
       },
       [](const Tensors& all, int, std::int64_t) { return all; }},
      reduction("AllReduceSum", Reduction::kSum, sum_of),
      reduction("AllReduceMean", Reduction::kMean,
                [](const Tensors& all) { return at::stack(all).mean(0); }),
      reduction("AllReduceMin", Reduction::kMin,
                [](const Tensors& all) { return at::stack(all).amin(0); }),
      reduction("AllReduceMax", Reduction::kMax,
                [](const Tensors& all) { return at::stack(all).amax(0); }),
      scatter("ReduceScatterSumEven", Reduction::kSum, true),
      scatter("ReduceScatterSumUneven", Reduction::kSum, false),
      scatter("ReduceScatterMeanEven", Reduction::kMean, true),
      scatter("ReduceScatterMeanUneven", Reduction::kMean, false),
      {"Broadcast", same_rows,
       [](const at::Tensor& own, std::int64_t) -> Tensors {
         return {broadcast(own, ranks_here() - 1)};
       },
       [](const Tensors& all, int, std::int64_t) -> Tensors {
         return {all.back()};
       }},
      {"AllToAllEven", divisible,
       [](const at::Tensor& own, std::int64_t) -> Tensors {
         return {all_to_all(own)};
       },
       [](const Tensors& all, int rank, std::int64_t) -> Tensors {
         return {parts_for(all, even_rows(all), rank)};
       }},
      {"AllToAllUneven", sum_of_uneven,
       [](const at::Tensor& own, std::int64_t scale) -> Tensors {
         return {all_to_all(own, uneven_rows(ranks_here(), scale))};
       },
       [](const Tensors& all, int rank, std::int64_t scale) -> Tensors {
         return {parts_for(
             all, uneven_rows(static_cast<int>(all.size()), scale), rank)};
       }},
      {"AllToAllList", sum_of_uneven,
       [](const at::Tensor& own, std::int64_t scale) {
         return all_to_all(
             own.split_with_sizes(uneven_rows(ranks_here(), scale), 0));
       },
       [](const Tensors& all, int rank, std::int64_t scale) {
         Tensors parts;
         for (const at::Tensor& tensor : all) {
           parts.push_back(part(
               tensor, uneven_rows(static_cast<int>(all.size()), scale), rank));
         }
         return parts;
       }},
      ring("RingNext", 1),
      ring("RingPrevious", -1),
      ring("RingFurther", 7),
  };
}

/// What the gradient that comes back looks like in memory.
enum class Upstream { kDense, kExpanded, kTransposed };

/// Of one rank: every rank weighs its outputs in another way.
at::Tensor loss_of(const Tensors& outputs, int rank, Upstream upstream) {
  at::Tensor loss = at::zeros({}, at::kDouble);
  double weight = 1 + 0.3 * rank;
  for (const at::Tensor& output : outputs) {
    if (upstream == Upstream::kExpanded) {
      loss = loss.add(output.sum(), weight);
    } else if (upstream == Upstream::kTransposed) {
      const at::Tensor w =
          at::arange(output.numel(), at::kDouble).view(output.t().sizes());
      loss = loss.add(output.t().mul(w.sin()).sum(), weight);
    } else {
      loss = loss.add(output.mul(weight).add(rank).sin().sum());
    }
    weight *= 1.7;
  }
  return loss;
}

void expect_exact(const at::Tensor& actual, const at::Tensor& expected) {
  if (expected.numel() == 0) return;
  const auto match = match_gradient(actual, expected);
  EXPECT_NEAR(match.scale, 1, 1e-12) << "off by this factor";
  EXPECT_LT(match.residual, 1e-12);
}

class CollectivesTest : public ::testing::TestWithParam<Case> {
 protected:
  Tensors inputs(int ranks, std::int64_t scale) const {
    Tensors all;
    for (int r = 0; r < ranks; ++r) {
      all.push_back(random({GetParam().rows(r, ranks, scale), kColumns}, 10 + r)
                        .set_requires_grad(true));
    }
    return all;
  }

  // The loss of all ranks together, in one process.
  at::Tensor whole(const Tensors& all, std::int64_t scale,
                   Upstream upstream) const {
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (std::size_t r = 0; r < all.size(); ++r) {
      const int rank = static_cast<int>(r);
      sum =
          sum.add(loss_of(GetParam().model(all, rank, scale), rank, upstream));
    }
    return sum;
  }

  void check(int ranks, std::int64_t scale, Upstream upstream,
             ThreadTransport transport) const {
    SCOPED_TRACE(c10::str(ranks, " ranks, scale ", scale, ", upstream ",
                          static_cast<int>(upstream)));
    const Tensors all = inputs(ranks, scale);
    const auto expected =
        torch::autograd::grad({whole(all, scale, upstream)}, all, {}, {}, false,
                              /*allow_unused=*/true);
    testkit::ThreadRanksOptions options;
    options.transport = transport;
    run_thread_ranks(
        ranks,
        [&](std::shared_ptr<Communicator> group) {
          const int rank = group->rank();
          const at::Tensor own =
              all[rank].detach().clone().set_requires_grad(true);
          const Tensors outputs = GetParam().run(own, scale);
          const Tensors values = GetParam().model(all, rank, scale);
          ASSERT_EQ(outputs.size(), values.size());
          for (std::size_t i = 0; i < values.size(); ++i) {
            EXPECT_TRUE(testkit::near(outputs[i].detach(), values[i].detach(),
                                      {/*rtol=*/1e-14, /*atol=*/1e-15}));
          }
          loss_of(outputs, rank, upstream).backward();
          expect_exact(own.grad(), expected[rank].defined()
                                       ? expected[rank]
                                       : at::zeros_like(own));
        },
        options);
  }
};

TEST_P(CollectivesTest, BackwardIsTheAdjoint) {
  for (int ranks : {1, 2, 3, 5}) {
    for (std::int64_t scale : {1, 200}) {
      check(ranks, scale, Upstream::kDense, ThreadTransport::kMemory);
    }
  }
}

TEST_P(CollectivesTest, BackwardIsTheAdjointOverGloo) {
  for (std::int64_t scale : {1, 200}) {
    check(3, scale, Upstream::kDense, ThreadTransport::kGloo);
  }
}

// The adjoint in functional collectives of LibTorch 2.11 throws on these.
TEST_P(CollectivesTest, GradientsNeedNotBeContiguous) {
  for (std::int64_t scale : {1, 200}) {
    for (Upstream upstream : {Upstream::kExpanded, Upstream::kTransposed}) {
      check(3, scale, upstream, ThreadTransport::kMemory);
    }
  }
}

TEST_P(CollectivesTest, GradientsOfGradientsFlow) {
  for (int ranks : {1, 2, 3}) {
    for (std::int64_t scale : {1, 200}) {
      SCOPED_TRACE(c10::str(ranks, " ranks, scale ", scale));
      const Tensors all = inputs(ranks, scale);
      const auto first = torch::autograd::grad(
          {whole(all, scale, Upstream::kDense)}, all, {}, {}, true, true);
      at::Tensor weighted = at::zeros({}, at::kDouble);
      for (int r = 0; r < ranks; ++r) {
        if (!first[r].defined()) continue;
        weighted =
            weighted.add(first[r].mul(random(first[r].sizes(), 50 + r)).sum());
      }
      const auto expected =
          torch::autograd::grad({weighted}, all, {}, {}, false, true);
      run_thread_ranks(ranks, [&](std::shared_ptr<Communicator> group) {
        const int rank = group->rank();
        const at::Tensor own =
            all[rank].detach().clone().set_requires_grad(true);
        const auto gradient = torch::autograd::grad(
            {loss_of(GetParam().run(own, scale), rank, Upstream::kDense)},
            {own}, {}, {}, /*create_graph=*/true)[0];
        // By the input alone: on every rank it leads through the collective.
        const auto second = torch::autograd::grad(
            {gradient.mul(random(gradient.sizes(), 50 + rank)).sum()},
            {own})[0];
        expect_exact(second, expected[rank].defined() ? expected[rank]
                                                      : at::zeros_like(own));
      });
    }
  }
}

TEST_P(CollectivesTest, RanksWithoutAGraphTakePart) {
  const Tensors all = inputs(3, 1);
  const auto expected = torch::autograd::grad({whole(all, 1, Upstream::kDense)},
                                              all, {}, {}, false, true);
  run_thread_ranks(3, [&](std::shared_ptr<Communicator> group) {
    const int rank = group->rank();
    const at::Tensor own =
        all[rank].detach().clone().set_requires_grad(rank == 1);
    loss_of(GetParam().run(own, 1), rank, Upstream::kDense).backward();
    EXPECT_EQ(own.grad().defined(), rank == 1);
    if (rank == 1) {
      expect_exact(own.grad(), expected[rank].defined() ? expected[rank]
                                                        : at::zeros_like(own));
    }
  });
}

TEST_P(CollectivesTest, BFloat16ComesBackAsItIs) {
  for (std::int64_t scale : {1, 200}) {
    const Tensors all = inputs(3, scale);
    const auto expected =
        torch::autograd::grad({whole(all, scale, Upstream::kDense)}, all, {},
                              {}, false, /*allow_unused=*/true);
    run_thread_ranks(3, [&](std::shared_ptr<Communicator> group) {
      const int rank = group->rank();
      const at::Tensor own =
          all[rank].detach().to(at::kBFloat16).set_requires_grad(true);
      const Tensors outputs = GetParam().run(own, scale);
      for (const at::Tensor& output : outputs) {
        EXPECT_EQ(output.scalar_type(), at::kBFloat16);
      }
      loss_of(outputs, rank, Upstream::kDense).backward();
      EXPECT_EQ(own.grad().scalar_type(), at::kBFloat16);
      if (own.numel() == 0) return;
      const auto match = match_gradient(
          own.grad().to(at::kDouble),
          expected[rank].defined() ? expected[rank] : at::zeros(own.sizes()));
      EXPECT_NEAR(match.scale, 1, 0.05);
      EXPECT_LT(match.residual, 0.05);
    });
  }
}

// One exchange while tensors are small, one transfer more when they are not.
TEST_P(CollectivesTest, TakesOneOrTwoCollectives) {
  for (std::int64_t scale : {1, 200}) {
    run_thread_ranks(3, [&](std::shared_ptr<Communicator> group) {
      const at::Tensor own = inputs(3, scale)[group->rank()];
      const auto count = [&] { return group->collectives(); };
      const auto before = count();
      const Tensors outputs = GetParam().run(own, scale);
      const auto forward = count() - before;
      loss_of(outputs, group->rank(), Upstream::kDense).backward();
      const auto backward = count() - before - forward;
      if (scale == 1) {
        EXPECT_EQ(forward, 1);
        EXPECT_EQ(backward, 1);
      } else {
        // Who holds the extreme is one reduction more.
        const bool extreme = std::string(GetParam().name) == "AllReduceMin" ||
                             std::string(GetParam().name) == "AllReduceMax";
        EXPECT_LE(forward, extreme ? 3 : 2);
        EXPECT_LE(backward, 2);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, CollectivesTest, ::testing::ValuesIn(cases()),
                         [](const auto& parameters) {
                           return std::string(parameters.param.name);
                         });

}  // namespace
}  // namespace tally::sync
