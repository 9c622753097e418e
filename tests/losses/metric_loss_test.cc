#include "tally/losses/metric_loss.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/serialize.h>

#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/sync/average_gradients.h"
#include "tally/testing/compare.h"
#include "tally/testing/internal/numerical_gradient.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using sync::Communicator;
using sync::GradientFlow;
using sync::SyncError;
using sync::SyncErrorCode;
using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using testkit::match_gradient;
using testkit::normal_rows;
using testkit::run_thread_ranks;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor value_of(const at::Tensor& loss) { return loss.detach(); }

/// Uneven shares of kRows rows, with idle ranks where there are enough.
constexpr std::int64_t kRows = 7;
std::vector<std::int64_t> shares(int ranks) {
  switch (ranks) {
    case 1:
      return {7};
    case 2:
      return {5, 2};
    case 3:
      return {3, 0, 4};
    default:
      return {0, 2, 0, 4, 1};
  }
}

/// A rank's rows of `all`, as a leaf of their own.
at::Tensor share_of(const at::Tensor& all, const Communicator& communicator) {
  const auto sizes = shares(communicator.size());
  std::int64_t begin = 0;
  for (int rank = 0; rank < communicator.rank(); ++rank) begin += sizes[rank];
  return all.detach()
      .narrow(0, begin, sizes[communicator.rank()])
      .clone()
      .set_requires_grad(all.requires_grad());
}

using MakeMetric = std::function<std::unique_ptr<Metric>()>;

std::vector<MakeMetric> differentiable_metrics() {
  return {
      [] { return std::make_unique<MeanSquaredError>(); },
      [] {
        return std::make_unique<MeanSquaredError>(
            MeanSquaredErrorOptions().squared(false));
      },
      [] { return std::make_unique<PearsonCorrCoef>(); },
      [] {
        return std::make_unique<CompositionalMetric>(
            MeanSquaredError() + 0.5 * (1 - PearsonCorrCoef()));
      },
  };
}

/// On every rank: the value is that of one process with all rows, and the
/// gradient of this rank's rows `scale(ranks)` times theirs.
void check_flow(GradientFlow flow, const std::function<double(int)>& scale) {
  const at::Tensor preds = normal_rows({kRows}, 1).set_requires_grad(true);
  const at::Tensor target = normal_rows({kRows}, 2);
  for (const MakeMetric& make : differentiable_metrics()) {
    const at::Tensor whole = MetricLoss(make())->forward(preds, target);
    preds.mutable_grad() = at::Tensor();
    whole.backward();
    for (int ranks : {1, 2, 3, 5}) {
      SCOPED_TRACE(make()->repr() + " on " + std::to_string(ranks));
      run_thread_ranks(ranks, [&](const auto& communicator) {
        const at::Tensor mine = share_of(preds, *communicator);
        MetricLoss loss(make(), MetricLossOptions().gradient_flow(flow));
        const at::Tensor value =
            loss->forward(mine, share_of(target, *communicator));
        EXPECT_TRUE(testkit::near(value_of(value), value_of(whole),
                                  {/*rtol=*/1e-12, /*atol=*/0}));
        value.backward();
        const auto match =
            match_gradient(mine.grad(), share_of(preds.grad(), *communicator));
        if (mine.numel() > 0) {
          EXPECT_NEAR(match.scale, scale(ranks), 1e-12 * ranks);
        }
        EXPECT_LT(match.residual, 1e-12);
      });
    }
  }
}

TEST(MetricLossTest, IsExactWhenGradientsAreAveraged) {
  check_flow(GradientFlow::kReplicated, [](int ranks) { return ranks; });
}

TEST(MetricLossTest, IsExactWhenGradientsAreSummed) {
  check_flow(GradientFlow::kLocal, [](int) { return 1; });
}

TEST(MetricLossTest, IsExactWithTheAdjointOfTheGather) {
  check_flow(GradientFlow::kAllRanks, [](int ranks) { return ranks; });
}

THREAD_RANKS_TEST(MetricLossTest, HasNoGradientWhenDetached, 2) {
  const at::Tensor preds =
      normal_rows({3}, self.rank()).set_requires_grad(true);
  MetricLoss loss(MeanSquaredError(),
                  MetricLossOptions().gradient_flow(GradientFlow::kDetached));
  loss->forward(preds, normal_rows({3}, 7)).backward();
  EXPECT_TRUE(testkit::same_bits(preds.grad(), at::zeros({3}, at::kDouble)));
}

TEST(MetricLossTest, TrainsAModelAsOneProcessWould) {
  const at::Tensor x = normal_rows({kRows, 4}, 3);
  const at::Tensor y = normal_rows({kRows}, 4);
  const auto gradients = [&](const at::Tensor& inputs,
                             const at::Tensor& target) {
    torch::nn::Sequential model(torch::nn::Linear(4, 3),
                                torch::nn::Linear(3, 1));
    model->to(at::kDouble);
    std::uint64_t seed = 0;
    for (at::Tensor& parameter : model->parameters()) {
      parameter.set_data(normal_rows(parameter.sizes(), seed++));
    }
    MetricLoss loss{MeanSquaredError()};
    loss->forward(model->forward(inputs).reshape({-1}), target).backward();
    sync::average_gradients(model->parameters());
    std::vector<at::Tensor> flat;
    for (const at::Tensor& parameter : model->parameters()) {
      flat.push_back(parameter.grad().reshape({-1}));
    }
    return at::cat(flat);
  };
  const at::Tensor whole = gradients(x, y);
  for (int ranks : {1, 2, 3, 5}) {
    SCOPED_TRACE(ranks);
    run_thread_ranks(ranks, [&](const auto& communicator) {
      const auto match = match_gradient(
          gradients(share_of(x, *communicator), share_of(y, *communicator)),
          whole);
      EXPECT_NEAR(match.scale, 1, 1e-12);
      EXPECT_LT(match.residual, 1e-12);
    });
  }
}

THREAD_RANKS_TEST(MetricLossTest, AddsNothingToNeighborsOfInfinities, 3) {
  // Rank 0 has diverged, rank 1 is idle, rank 2 has ordinary data.
  const std::int64_t rows = self.rank() == 1 ? 0 : 2;
  const double value = self.rank() == 0 ? kInfinity : 0.5;
  const at::Tensor weight = at::full({1}, value, at::kDouble);
  weight.set_requires_grad(true);
  const at::Tensor preds = weight.expand({rows});
  MetricLoss loss{MeanSquaredError()};
  const at::Tensor result =
      loss->forward(preds, at::zeros({rows}, at::kDouble));
  EXPECT_EQ(result.item<double>(), kInfinity);
  result.backward();
  // 3 ranks * d/dw of 2 w^2 / 4 rows.
  const double expected[] = {kInfinity, 0, 1.5};
  EXPECT_DOUBLE_EQ(weight.grad().item<double>(), expected[self.rank()]);
}

TEST(MetricLossTest, LeadsToInputsOnce) {
  MetricLoss loss{MeanSquaredError()};
  const auto ends_in_tie = [&](std::int64_t rows) {
    const at::Tensor preds = at::ones({rows}).requires_grad_();
    const at::Tensor value = loss->forward(preds, at::zeros({rows}));
    value.backward();
    EXPECT_TRUE(preds.grad().defined());
    return value.grad_fn()->name().find("Tie") != std::string::npos;
  };
  EXPECT_FALSE(ends_in_tie(3));
  EXPECT_FALSE(ends_in_tie(0));
  // Two outputs of one function.
  const at::Tensor both = at::ones({2, 3}).requires_grad_();
  const std::vector<at::Tensor> parts = both.unbind();
  loss->forward(parts[0], parts[1].mul(2)).backward();
  EXPECT_TRUE(both.grad()[0].allclose(at::full({3}, -2.0 / 3)));
  EXPECT_TRUE(both.grad()[1].allclose(at::full({3}, 4.0 / 3)));
}

TEST(MetricLossTest, TakesWhatUpdateTakes) {
  MetricLoss loss{MeanMetric()};
  const at::Tensor value = at::tensor({1.0, 4.0}).requires_grad_();
  EXPECT_EQ(loss->forward(0.25).item<double>(), 0.25);
  const std::optional<at::Tensor> weight = at::tensor({3.0, 1.0});
  EXPECT_EQ(loss->forward(value, weight).item<double>(), 1.75);
  EXPECT_EQ(loss->forward(value, std::nullopt).item<double>(), 2.5);
}

TEST(MetricLossTest, TakesInputsByName) {
  MetricLoss loss{MeanMetric()};
  const at::Tensor value = at::tensor({1.0, 4.0}).requires_grad_();
  const at::Tensor weight = at::tensor({3.0, 1.0}).requires_grad_();
  loss->forward({{"weight", weight}, {"value", value}}).backward();
  EXPECT_TRUE(value.grad().equal(at::tensor({0.75, 0.25})));
  EXPECT_TRUE(weight.grad().defined());
  EXPECT_EQ(loss->forward({{"value", 0.25}}).item<double>(), 0.25);
  EXPECT_THAT(refusal_of([&] {
                loss->forward({{"values", value}});
              }),
              HasSubstr("got 'values', which is none of them"));
  // A batch without rows, on one rank, still leads to its inputs.
  const at::Tensor empty = at::zeros({0}).requires_grad_();
  loss->forward({{"value", empty}}).backward();
  EXPECT_TRUE(empty.grad().defined());
}

TEST(MetricLossTest, AccumulatesWhatItSees) {
  const at::Tensor target = at::tensor({0.0, 0.0}, at::kDouble);
  run_thread_ranks(2, [&](const auto& communicator) {
    MetricLoss loss{MeanSquaredError()};
    const double offset = communicator->rank();
    loss->forward(target + offset, target);        // squares 0 and 1
    loss->forward(target + (offset + 1), target);  // 1 and 4
    EXPECT_EQ(loss->metric().update_count(), 2);
    EXPECT_DOUBLE_EQ(
        loss->metric().compute_results().begin()->second.item<double>(), 1.5);
    loss->metric().reset();
    EXPECT_EQ(loss->forward(target + 2, target).item<double>(), 4);
    EXPECT_EQ(loss->metric().update_count(), 1);
  });
}

TEST(MetricLossTest, AccumulatesNothingWhenToldSo) {
  MetricLoss loss(MeanSquaredError(), MetricLossOptions().accumulate(false));
  const at::Tensor target = at::tensor({0.0, 0.0}, at::kDouble);
  EXPECT_EQ(loss->forward(target + 1, target).item<double>(), 1);
  EXPECT_EQ(loss->forward(target + 2, target).item<double>(), 4);
  EXPECT_EQ(loss->metric().update_count(), 0);
  EXPECT_EQ(loss->metric().status(), MetricStatus::kEmpty);
}

TEST(MetricLossTest, ClonesShareNothing) {
  const at::Tensor target = at::tensor({0.0, 0.0}, at::kDouble);
  MetricLoss loss{MeanSquaredError()};
  loss->forward(target + 1, target);
  MetricLoss copy(std::dynamic_pointer_cast<MetricLossImpl>(loss->clone()));
  EXPECT_EQ(copy->metric().update_count(), 1);
  copy->forward(target + 3, target);
  EXPECT_EQ(copy->metric().update_count(), 2);
  EXPECT_EQ(loss->metric().update_count(), 1);
  EXPECT_EQ(loss->metric().compute_results().begin()->second.item<double>(), 1);
}

TEST(MetricLossTest, PrintsItsMetric) {
  std::ostringstream text;
  text << MetricLoss(MeanSquaredError());
  EXPECT_EQ(text.str(),
            "tally::losses::MetricLoss(MeanSquaredError(squared=true, "
            "num_outputs=1))");
}

THREAD_RANKS_TEST(MetricLossTest, UsesTheRanksThatItIsGiven, 2) {
  const at::Tensor target = at::zeros({2}, at::kDouble);
  const double rank = self.rank();
  const sync::CommunicatorGuard alone(sync::single_process_communicator());
  MetricLoss of_all(MeanSquaredError(),
                    MetricLossOptions().communicator(self.group()));
  MetricLoss of_metric(
      MeanSquaredError({}, MetricOptions().communicator(self.group())));
  MetricLoss own{MeanSquaredError()};
  EXPECT_EQ(of_all->forward(target + rank, target).item<double>(), 0.5);
  EXPECT_EQ(of_metric->forward(target + rank, target).item<double>(), 0.5);
  EXPECT_EQ(own->forward(target + rank, target).item<double>(), rank);
}

struct Count {
  struct State {
    std::int64_t count = 0;
    void fields(Fields& f) { f("count", count); }
  };
  State observe(const at::Tensor& values) const { return {values.numel()}; }
};

struct NumberOfValues final : MetricOf<NumberOfValues, Count, at::Tensor> {
  static constexpr const char* kName = "NumberOfValues";
  at::Tensor evaluate(const State& state) const { return Number(state.count); }
};

struct Halves {
  at::Tensor low, high;
  void visit(ResultParts& parts) { parts("low", low)("high", high); }
};

struct HalvesOfValues final : MetricOf<HalvesOfValues, Count, Halves> {
  static constexpr const char* kName = "HalvesOfValues";
  static constexpr bool kIsDifferentiable = true;
  Halves evaluate(const State& state) const {
    return {Number(state.count), Number(state.count)};
  }
};

TEST(MetricLossTest, RefusesWhatCannotBeALoss) {
  // One that says so in its type does not compile.
  EXPECT_EQ(refusal_of([] {
              MetricLoss loss{
                  std::unique_ptr<Metric>(std::make_unique<NumberOfValues>())};
            }),
            "MetricLoss expected a differentiable metric, got "
            "NumberOfValues()");
  EXPECT_EQ(
      refusal_of(
          [] { MetricLoss loss{MeanSquaredError() + NumberOfValues()}; }),
      "MetricLoss expected a differentiable metric, got "
      "(MeanSquaredError(squared=true, num_outputs=1) + NumberOfValues())");
  EXPECT_EQ(refusal_of([] { MetricLoss loss{std::unique_ptr<Metric>()}; }),
            "MetricLoss expected a metric, got null");
  EXPECT_EQ(refusal_of([] { MetricLoss loss{HalvesOfValues()}; }),
            "MetricLoss expected HalvesOfValues() to return one tensor, got 2");
}

TEST(MetricLossTest, RefusesMetricsThatHaveAccumulated) {
  MeanSquaredError metric;
  metric.update(at::zeros({2}), at::zeros({2}));
  EXPECT_EQ(
      refusal_of([&] { MetricLoss loss(std::move(metric)); }),
      "MetricLoss expected a metric that has accumulated nothing, got "
      "MeanSquaredError(squared=true, num_outputs=1) whose update_count is 1");
}

TEST(MetricLossTest, TellsOtherRanksWhenOneCannotTakePart) {
  const auto errors =
      testkit::collect_thread_ranks(3, [](const auto& communicator) {
        MetricLoss loss{MeanSquaredError()};
        const at::Tensor target = at::zeros({2}, at::kDouble);
        const bool fails = communicator->rank() == 1;
        const at::Tensor preds =
            at::full({fails ? 3 : 2}, 2.0, at::kDouble).set_requires_grad(true);
        try {
          loss->forward(preds, target);
          ADD_FAILURE() << "rank " << communicator->rank() << " did not throw";
        } catch (const SyncError& error) {
          EXPECT_FALSE(fails);
          EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
          EXPECT_EQ(error.details().peers, std::vector<int>{1});
          EXPECT_THAT(error.message(), HasSubstr("MeanSquaredError"));
        } catch (const c10::ValueError&) {
          EXPECT_TRUE(fails);
        }
        EXPECT_EQ(loss->metric().update_count(), 0);
        // Nobody is out of step.
        EXPECT_EQ(loss->forward(target + 3, target).template item<double>(), 9);
      });
  for (const auto& error : errors) EXPECT_FALSE(error);
}

// The rank with a step more once trained on a merge of that step with what the
// others had accumulated, and they took it for their value.
THREAD_RANKS_TEST(MetricLossTest, AStepDoesNotMeetComputeOnAnotherRank, 2) {
  MetricLoss loss{MeanSquaredError()};
  const at::Tensor target = at::zeros({2}, at::kDouble);
  for (int i = 0; i < 2; ++i) loss->forward(target + 3, target);
  const auto mismatch = [&](const auto& others) {
    return refusal_of<SyncError>([&] {
      self.rank() == 0 ? (void)loss->forward(target + 3, target)
                       : (void)others();
    });
  };
  EXPECT_THAT(
      mismatch([&] { loss->metric().compute_results(); }),
      HasSubstr("rank 0: MetricLoss of MeanSquaredError with gradient flow "
                "kReplicated after 2 updates, rank 1: compute() of "
                "MeanSquaredError after 2 updates"));
  EXPECT_THAT(
      mismatch([&] { loss->metric().forward_results(target + 3, target); }),
      HasSubstr("rank 1: forward() of MeanSquaredError"));
  EXPECT_EQ(loss->metric().update_count(), 2);
  EXPECT_EQ(loss->metric().compute_results().value().item<double>(), 9);
}

struct Regression : torch::nn::Module {
  Regression() {
    register_module("layer", layer);
    register_module("loss", loss);
  }
  torch::nn::Linear layer{2, 1};
  MetricLoss loss{MeanSquaredError()};
};

// A module's archive has parameters and buffers.
TEST(MetricLossTest, WhatIsAccumulatedIsSavedByTheMetric) {
  const std::string path = ::testing::TempDir() + "metric_loss";
  std::stringstream archive;
  const at::Tensor preds = normal_rows({kRows}, 1),
                   target = normal_rows({kRows}, 2);
  const double expected = (preds - target).square().mean().item<double>();
  run_thread_ranks(3, [&](const auto& communicator) {
    const auto module = std::make_shared<Regression>();
    module->loss->forward(share_of(preds, *communicator),
                          share_of(target, *communicator));
    ASSERT_TRUE(
        module->loss->metric().save(path, CheckpointRanks::kOneFile).ok());
    if (communicator->rank() == 0) torch::save(module, archive);
  });
  const std::string bytes = archive.str();
  run_thread_ranks(2, [&](const auto&) {
    auto module = std::make_shared<Regression>();
    std::istringstream in(bytes);
    torch::load(module, in);
    Metric& metric = module->loss->metric();
    EXPECT_EQ(metric.update_count(), 0);
    ASSERT_TRUE(metric.load(path, CheckpointRanks::kOneFile).ok());
    EXPECT_NEAR(metric.compute_results().value().template item<double>(),
                expected, 1e-12);
  });
}

}  // namespace
}  // namespace tally::losses
