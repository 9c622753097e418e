#include "tally/training/sync_batch_norm.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"
#include "tally/losses/metric_loss.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::training {
namespace {

using ::testing::HasSubstr;
using testkit::near;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using testkit::same_bits;
using Tensors = std::vector<at::Tensor>;

constexpr std::int64_t kChannels = 3;
constexpr testkit::Tolerance kClose{1e-11, 1e-12};

at::Tensor random(std::vector<std::int64_t> sizes, std::uint64_t seed,
                  at::ScalarType dtype = at::kDouble) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble)
      .to(dtype);
}

std::vector<std::int64_t> sizes_of(int dimensions, std::int64_t rows) {
  std::vector<std::int64_t> sizes{rows, kChannels};
  for (int d = 0; d < dimensions; ++d) sizes.push_back(2 + d);
  return sizes;
}

// None on the last of several ranks, and the more the lower the rank.
std::int64_t rows_of(int rank, int ranks) {
  return ranks > 1 && rank == ranks - 1 ? 0 : 4 * (ranks - rank);
}
std::int64_t rows_of_all(int ranks) {
  std::int64_t rows = 0;
  for (int r = 0; r < ranks; ++r) rows += rows_of(r, ranks);
  return rows;
}
at::Tensor part_of(const at::Tensor& all, int rank, int ranks) {
  std::int64_t begin = 0;
  for (int r = 0; r < rank; ++r) begin += rows_of(r, ranks);
  return all.slice(0, begin, begin + rows_of(rank, ranks));
}

template <class Module>
void fill(Module& module) {
  const at::NoGradGuard no_grad;
  module->to(at::kDouble);
  if (!module->weight.defined()) return;
  module->weight.copy_(random({kChannels}, 11));
  module->bias.copy_(random({kChannels}, 12));
}

// Of a norm applied twice, as in two steps.
struct Outcome {
  at::Tensor output, of_input, of_weight, of_bias;
  at::Tensor running_mean, running_var, batches;
};

template <class Module>
Outcome outcome_of(Module& module, const at::Tensor& rows,
                   const at::Tensor& slopes) {
  module->forward(rows.mul(2));
  const at::Tensor input = rows.clone().requires_grad_();
  Outcome result;
  result.output = module->forward(input);
  result.output.pow(2).mul(slopes).sum().backward();
  result.output = result.output.detach();
  result.of_input = input.grad();
  if (module->weight.defined()) {
    result.of_weight = module->weight.grad();
    result.of_bias = module->bias.grad();
  }
  result.running_mean = module->running_mean;
  result.running_var = module->running_var;
  result.batches = module->num_batches_tracked;
  return result;
}

torch::nn::BatchNormOptions affine() {
  return torch::nn::BatchNormOptions(kChannels).eps(1e-3).momentum(0.3);
}

template <class BatchNorm, class SyncBatchNorm>
void expect_one_process(const torch::nn::BatchNormOptions& options,
                        int dimensions) {
  for (int ranks : {1, 2, 3, 5}) {
    SCOPED_TRACE(c10::str(dimensions, " dimensions over ", ranks));
    const std::int64_t rows = rows_of_all(ranks);
    const at::Tensor data = random(sizes_of(dimensions, rows), 1).mul(2).add(3);
    const at::Tensor slopes = random(sizes_of(dimensions, rows), 2);
    BatchNorm one(options);
    fill(one);
    const Outcome expected = outcome_of(one, data, slopes);
    std::vector<Outcome> outcomes(ranks);
    run_thread_ranks(ranks, [&](const auto& communicator) {
      SyncBatchNorm norm{SyncBatchNormOptions(options)};
      fill(norm);
      const int rank = communicator->rank();
      outcomes[rank] = outcome_of(norm, part_of(data, rank, ranks),
                                  part_of(slopes, rank, ranks));
    });
    const auto joined = [&](at::Tensor Outcome::*member) {
      Tensors parts;
      for (const Outcome& o : outcomes) parts.push_back(o.*member);
      return at::cat(parts);
    };
    const auto sum = [&](at::Tensor Outcome::*member) {
      at::Tensor total = outcomes[0].*member;
      for (int r = 1; r < ranks; ++r) total = total + outcomes[r].*member;
      return total;
    };
    EXPECT_TRUE(near(joined(&Outcome::output), expected.output, kClose));
    EXPECT_TRUE(near(joined(&Outcome::of_input), expected.of_input, kClose));
    if (options.affine()) {
      EXPECT_TRUE(near(sum(&Outcome::of_weight), expected.of_weight, kClose));
      EXPECT_TRUE(near(sum(&Outcome::of_bias), expected.of_bias, kClose));
    }
    if (!options.track_running_stats()) continue;
    EXPECT_TRUE(near(outcomes[0].running_mean, expected.running_mean, kClose));
    EXPECT_TRUE(near(outcomes[0].running_var, expected.running_var, kClose));
    for (const Outcome& o : outcomes) {
      EXPECT_TRUE(same_bits(o.running_mean, outcomes[0].running_mean));
      EXPECT_TRUE(same_bits(o.running_var, outcomes[0].running_var));
      EXPECT_EQ(o.batches.template item<std::int64_t>(), 2);
    }
  }
}

TEST(SyncBatchNormTest, IsBatchNormOfAllRows) {
  expect_one_process<torch::nn::BatchNorm1d, SyncBatchNorm1d>(affine(), 0);
  expect_one_process<torch::nn::BatchNorm1d, SyncBatchNorm1d>(affine(), 1);
  expect_one_process<torch::nn::BatchNorm2d, SyncBatchNorm2d>(affine(), 2);
  expect_one_process<torch::nn::BatchNorm3d, SyncBatchNorm3d>(affine(), 3);
}

TEST(SyncBatchNormTest, TakesTheOptionsOfBatchNorm) {
  expect_one_process<torch::nn::BatchNorm1d, SyncBatchNorm1d>(
      affine().affine(false), 1);
  expect_one_process<torch::nn::BatchNorm1d, SyncBatchNorm1d>(
      affine().track_running_stats(false), 0);
  expect_one_process<torch::nn::BatchNorm1d, SyncBatchNorm1d>(
      affine().momentum(std::nullopt), 0);
}

// Made of calls whose gradients have all orders: batch_norm's own lack parts of
// the third.
struct Composed {
  at::Tensor forward(const at::Tensor& input) const {
    const std::vector<std::int64_t> rows{0, 2, 3};
    const at::Tensor centered = input - input.mean(rows, /*keepdim=*/true);
    const at::Tensor variance = centered.pow(2).mean(rows, /*keepdim=*/true);
    return centered * (variance + 1e-3).rsqrt() * weight.view({1, -1, 1, 1}) +
           random({1, kChannels, 1, 1}, 12);
  }
  const Composed* operator->() const { return this; }
  at::Tensor weight = random({kChannels}, 11).requires_grad_();
};

// Gradients of second and third order.
template <class Norm>
Tensors higher_of(Norm& norm, const at::Tensor& rows,
                  const at::Tensor& slopes) {
  const at::Tensor input = rows.clone().requires_grad_();
  const at::Tensor loss = norm->forward(input).pow(3).mul(slopes).sum();
  const at::Tensor first = torch::autograd::grad({loss}, {input}, {}, {},
                                                 /*create_graph=*/true)[0];
  const at::Tensor second =
      torch::autograd::grad({first.pow(2).mul(slopes).sum()}, {input}, {}, {},
                            /*create_graph=*/true)[0];
  const auto third =
      torch::autograd::grad({second.pow(2).sum()}, {input, norm->weight});
  return {second.detach(), third[0], third[1]};
}

TEST(SyncBatchNormTest, HigherGradientsAreThoseOfAllRows) {
  for (int ranks : {1, 2, 3, 5}) {
    const std::int64_t rows = rows_of_all(ranks);
    const at::Tensor data = random(sizes_of(2, rows), 3);
    const at::Tensor slopes = random(sizes_of(2, rows), 4);
    Composed one;
    const Tensors expected = higher_of(one, data, slopes);
    std::vector<Tensors> of_rank(ranks);
    run_thread_ranks(ranks, [&](const auto& communicator) {
      SyncBatchNorm2d norm{SyncBatchNormOptions(affine())};
      fill(norm);
      const int rank = communicator->rank();
      of_rank[rank] = higher_of(norm, part_of(data, rank, ranks),
                                part_of(slopes, rank, ranks));
    });
    Tensors second, third;
    at::Tensor of_weight = at::zeros({kChannels}, at::kDouble);
    for (const Tensors& part : of_rank) {
      second.push_back(part[0]);
      third.push_back(part[1]);
      of_weight += part[2];
    }
    EXPECT_TRUE(near(at::cat(second), expected[0], {1e-10, 1e-10}));
    EXPECT_TRUE(near(at::cat(third), expected[1], {1e-9, 1e-9}));
    EXPECT_TRUE(near(of_weight, expected[2], {1e-9, 1e-9}));
  }
}

template <class Norm>
losses::DistributedGradientReport report_on(Norm norm,
                                            losses::ShardSizes shards) {
  torch::nn::Sequential net(torch::nn::Linear(4, kChannels), norm,
                            torch::nn::Linear(kChannels, 1));
  net->to(at::kDouble);
  sync::broadcast_parameters(net->parameters());
  losses::MetricLoss loss{MeanSquaredError()};
  return losses::check_distributed_gradients(
      [&](const Tensors& batch) {
        return loss->forward(net->forward(batch[0]), batch[1]);
      },
      {random({12, 4}, 5), random({12, 1}, 6)}, net->named_parameters().pairs(),
      losses::CheckDistributedGradientsOptions().shards(shards));
}

TEST(SyncBatchNormTest, TrainsExactly) {
  run_thread_ranks(3, [](const auto&) {
    for (auto shards :
         {losses::ShardSizes::kUneven, losses::ShardSizes::kIdle}) {
      const auto report = report_on(SyncBatchNorm1d(kChannels), shards);
      EXPECT_TRUE(report.exact()) << report;
    }
    EXPECT_FALSE(report_on(torch::nn::BatchNorm1d(kChannels),
                           losses::ShardSizes::kUneven)
                     .exact());
  });
}

TEST(SyncBatchNormTest, TakesOneCollectiveEachWay) {
  run_thread_ranks(3, [](const auto& communicator) {
    const auto collectives_of = [&](const auto& call) {
      const std::int64_t before = communicator->collectives();
      call();
      return communicator->collectives() - before;
    };
    for (std::int64_t channels : {1, 900, 1100}) {
      SyncBatchNorm1d norm(channels);
      at::Tensor input = random({4, channels}, 7, at::kFloat);
      input.requires_grad_();
      at::Tensor output;
      const std::int64_t rounds = channels > 1000 ? 2 : 1;
      EXPECT_EQ(collectives_of([&] { output = norm->forward(input); }), rounds);
      EXPECT_EQ(collectives_of([&] { output.sum().backward(); }), rounds);
      // The data need no gradient, but weight and bias do.
      EXPECT_EQ(collectives_of(
                    [&] { norm->forward(input.detach()).sum().backward(); }),
                rounds);
      norm->eval();
      EXPECT_EQ(collectives_of([&] { norm->forward(input); }), 0);
    }
  });
}

TEST(SyncBatchNormTest, MergesWhatIsFarFromZero) {
  const at::Tensor data = random({40, kChannels}, 8).add(1e8);
  const at::Tensor variance = data.var(0, /*unbiased=*/false);
  run_thread_ranks(5, [&](const auto& communicator) {
    SyncBatchNorm1d norm(SyncBatchNormOptions(kChannels).momentum(1));
    norm->to(at::kDouble);
    const int rank = communicator->rank();
    norm->forward(data.slice(0, 8 * rank, 8 * rank + 8));
    EXPECT_TRUE(near(norm->running_mean, data.mean(0), {1e-15, 0}));
    EXPECT_TRUE(near(norm->running_var, variance.mul(40.0 / 39), {1e-8, 0}));
  });
}

TEST(SyncBatchNormTest, TakesOtherDtypesAndLayouts) {
  run_thread_ranks(2, [](const auto&) {
    torch::nn::BatchNorm2d one(kChannels);
    for (at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
      const at::Tensor data = random({4, kChannels, 3, 2}, 9, dtype);
      const at::Tensor expected = one->forward(data.to(at::kFloat));
      const double close = dtype == at::kFloat ? 1e-5 : 2e-2;
      // Both ranks have the same rows.
      for (const at::Tensor& rows :
           {data, data.contiguous(at::MemoryFormat::ChannelsLast),
            data.transpose(2, 3).contiguous().transpose(2, 3)}) {
        SyncBatchNorm2d norm(kChannels);
        at::Tensor input = rows.detach().requires_grad_();
        const at::Tensor output = norm->forward(input);
        EXPECT_EQ(output.scalar_type(), dtype);
        EXPECT_TRUE(near(output.to(at::kFloat), expected, {close, close}));
        output.to(at::kFloat).pow(2).sum().backward();
        EXPECT_EQ(input.grad().scalar_type(), dtype);
        // The sum of squares hardly depends on the input.
        EXPECT_TRUE(near(input.grad().to(at::kFloat),
                         at::zeros({4, kChannels, 3, 2}), {0, 0.1}));
        EXPECT_TRUE(near(norm->weight.grad(),
                         output.to(at::kFloat).pow(2).mul(2).sum({0, 2, 3}),
                         {close, close}));
      }
    }
  });
}

TEST(SyncBatchNormTest, ABatchOfNoRowsIsNone) {
  run_thread_ranks(3, [](const auto& communicator) {
    SyncBatchNorm2d norm(kChannels);
    at::Tensor input = at::zeros({0, kChannels, 2, 2}).requires_grad_();
    const at::Tensor output = norm->forward(input);
    EXPECT_EQ(output.sizes(), input.sizes());
    output.sum().backward();
    EXPECT_EQ(communicator->collectives(), 1);
    EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 0);
    EXPECT_TRUE(norm->running_mean.equal(at::zeros({kChannels})));
    EXPECT_TRUE(norm->weight.grad().equal(at::zeros({kChannels})));
  });
}

TEST(SyncBatchNormTest, RefusesOneValuePerChannel) {
  run_thread_ranks(3, [](const auto& communicator) {
    SyncBatchNorm1d norm(kChannels);
    const at::Tensor input =
        at::zeros({communicator->rank() == 1 ? 1 : 0, kChannels});
    EXPECT_THAT(refusal_of([&] { norm->forward(input); }),
                HasSubstr("expected more than 1 value per channel over all "
                          "ranks, got 1"));
    EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 0);
    norm->forward(at::zeros({1, kChannels}));
  });
}

TEST(SyncBatchNormTest, RefusesOtherInputs) {
  SyncBatchNorm1d one(SyncBatchNormOptions(kChannels).name("net.1"));
  SyncBatchNorm2d two(kChannels);
  EXPECT_THAT(refusal_of([&] {
                one->forward(at::zeros({2, 4}));
              }),
              HasSubstr("SyncBatchNorm1d net.1: expected 3 channels, got 4"));
  EXPECT_THAT(refusal_of([&] {
                one->forward(at::zeros({2, 3, 1, 1}));
              }),
              HasSubstr("expected an input of 2 or 3 dimensions, got [2, 3, "));
  EXPECT_THAT(refusal_of([&] {
                two->forward(at::zeros({2, 3}));
              }),
              HasSubstr("expected an input of 4 dimensions, got [2, 3]"));
  EXPECT_THAT(refusal_of([&] {
                one->forward(at::zeros({2, 3}, at::kLong));
              }),
              HasSubstr("expected an input of a floating dtype"));
  one->eval();
  EXPECT_THAT(refusal_of([&] {
                one->forward(at::zeros({2, 4}));
              }),
              HasSubstr("expected 3 channels, got 4"));
  EXPECT_THAT(refusal_of([] { SyncBatchNorm1d(0); }),
              HasSubstr("expected at least one channel, got 0"));
}

TEST(SyncBatchNormTest, ReachesTheOtherRanks) {
  run_thread_ranks(3, [](const auto& communicator) {
    const int rank = communicator->rank();
    SyncBatchNorm1d norm(kChannels);
    const auto forward = [&] {
      norm->forward(at::zeros({2, rank == 1 ? 4 : kChannels}));
    };
    if (rank == 1) {
      EXPECT_THAT(refusal_of(forward), HasSubstr("got 4"));
    } else {
      EXPECT_THAT(refusal_of<sync::SyncError>(forward),
                  HasSubstr("rank 1 failed: SyncBatchNorm1d: expected 3 "
                            "channels, got 4"));
    }
    EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 0);

    SyncBatchNorm1d differs(kChannels + (rank == 2 ? 1 : 0));
    EXPECT_THAT(
        refusal_of<sync::SyncError>([&] {
          differs->forward(at::zeros({2, rank == 2 ? 4 : 3}));
        }),
        HasSubstr("rank 2: SyncBatchNorm1d, 4 channels, Float, eps 1e-05, "
                  "momentum 0.1, with running statistics"));

    // Between forward and backward.
    at::Tensor input = random({2, kChannels}, 1).requires_grad_();
    const at::Tensor rows = input.mul(1);
    const at::Tensor loss = norm->forward(rows).sum();
    if (rank == 0) {
      rows.detach().add_(1);
      EXPECT_THAT(refusal_of<c10::Error>([&] { loss.backward(); }),
                  HasSubstr("modified by an inplace operation"));
    } else {
      EXPECT_THAT(refusal_of<sync::SyncError>([&] { loss.backward(); }),
                  HasSubstr("modified by an inplace operation"));
    }
    norm->forward(input).sum().backward();
  });
}

}  // namespace
}  // namespace tally::training
