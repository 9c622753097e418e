#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <memory>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/normalized_root_mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/r2_score.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/autocast.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

using sync::GradientFlow;
using ::testing::HasSubstr;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Tensors = std::vector<at::Tensor>;
using MakeMetric = std::function<std::unique_ptr<Metric>()>;

template <class M, class... Args>
MakeMetric maker(const Args&... args) {
  return [=] { return std::make_unique<M>(args...); };
}

std::vector<MakeMetric> differentiable_metrics() {
  return {
      maker<MeanSquaredError>(),
      maker<MeanSquaredError>(MeanSquaredErrorOptions().squared(false)),
      maker<PearsonCorrCoef>(),
      maker<R2Score>(),
      maker<NormalizedRootMeanSquaredError>(),
      [] {
        return std::make_unique<CompositionalMetric>(
            MeanSquaredError() + 0.5 * (1 - PearsonCorrCoef()));
      },
  };
}

/// A metric of a linear model's predictions.
LossSubject subject_of(const MakeMetric& make, GradientFlow flow) {
  LossSubject subject;
  subject.make = [=] {
    MetricLoss loss(make(), MetricLossOptions().gradient_flow(flow));
    const at::Tensor weight = normal_rows({5}, 3).requires_grad_();
    return LossInstance{[=](const Tensors& batch) mutable {
                          return loss->forward(
                              batch[0].matmul(weight),
                              batch[1].to(at::kDouble).div(100));
                        },
                        {{"weight", weight}}};
  };
  // Integers, whose gradient nobody asks for.
  subject.batch = {normal_rows({9, 5}, 1),
                   normal_rows({9}, 2).mul(100).to(at::kLong)};
  return subject;
}

TEST(MetricLossDerivativesTest, OfAllRanksAreExact) {
  for (const MakeMetric& make : differentiable_metrics()) {
    SCOPED_TRACE(make()->repr());
    testkit::check_second_derivatives(
        subject_of(make, GradientFlow::kAllRanks));
  }
}

// Each rank has the graph of its own rows only.
TEST(MetricLossDerivativesTest, OfOneRankAreRefused) {
  for (const GradientFlow flow :
       {GradientFlow::kReplicated, GradientFlow::kLocal}) {
    for (const MakeMetric& make : differentiable_metrics()) {
      LossSubject subject = subject_of(make, flow);
      SCOPED_TRACE(make()->repr());
      subject.ranks = {1};
      testkit::check_second_derivatives(subject);
      run_thread_ranks(2, [&](const auto& communicator) {
        Tensors rows;
        for (const at::Tensor& tensor : subject.batch) {
          rows.push_back(tensor.narrow(0, 4 * communicator->rank(), 5).clone());
        }
        rows[0].requires_grad_();
        const at::Tensor loss = subject.make().loss(rows).square();
        const at::Tensor gradient =
            torch::autograd::grad({loss}, {rows[0]}, {}, /*retain_graph=*/true,
                                  /*create_graph=*/true)[0];
        try {
          gradient.square().sum().backward();
          ADD_FAILURE() << "a gradient of a gradient without other ranks";
        } catch (const c10::Error& error) {
          EXPECT_THAT(error.what_without_backtrace(),
                      HasSubstr("GradientFlow::kAllRanks provides them"));
        }
      });
    }
  }
}

struct SquaredProducts {
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& a, const at::Tensor& b) const {
    return {Number(a.t().matmul(b).square().sum())};
  }
};

struct ProductSize final : MetricOf<ProductSize, SquaredProducts, at::Tensor> {
  static constexpr const char* kName = "ProductSize";
  static constexpr bool kIsDifferentiable = true;
  at::Tensor evaluate(const State& state) const { return state.sum; }
};

TEST(MetricLossDerivativesTest, AutocastChangesNothing) {
  const at::Tensor b = normal_rows({9, 4}, 2).to(at::kFloat);
  const auto evaluate = [&](bool autocast) {
    at::Tensor a = normal_rows({9, 4}, 1).to(at::kFloat).requires_grad_();
    MetricLoss loss{ProductSize()};
    const auto forward = [&] {
      const testkit::Autocast maybe(autocast);
      return loss->forward(a, b);
    };
    const at::Tensor value = forward();
    value.backward();
    return Tensors{value.detach(), a.grad()};
  };
  const Tensors on = evaluate(true), off = evaluate(false);
  for (std::size_t i = 0; i < on.size(); ++i) {
    EXPECT_TRUE(testkit::same_bits(on[i], off[i]));
  }
}

TEST(MetricLossDerivativesTest, LongRowsOfHalfPrecisionStayFinite) {
  const at::Tensor preds = at::full({3, 4}, 300.0, at::kHalf).requires_grad_();
  MetricLoss loss{MeanSquaredError()};
  const at::Tensor value = loss->forward(preds, at::zeros({3, 4}, at::kHalf));
  EXPECT_EQ(value.item<double>(), 9e4);
  value.backward();
  EXPECT_EQ(preds.grad().max().item<double>(), 50);
}

}  // namespace
}  // namespace tally::losses
