#include "tally/training/gradients.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::training {
namespace {

using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::run_thread_ranks;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor parameter(at::Tensor value, at::Tensor gradient = {}) {
  value.requires_grad_();
  value.mutable_grad() = std::move(gradient);
  return value;
}

class GradientsTest : public ::testing::TestWithParam<int> {};

TEST_P(GradientsTest, AModulesGradientsAreAveraged) {
  run_thread_ranks(GetParam(), [](const auto& communicator) {
    torch::nn::Linear layer(3, 2);
    const double rank = communicator->rank();
    const double ranks = communicator->size();
    layer->weight.mutable_grad() = at::full({2, 3}, rank);
    if (rank == 0) layer->bias.mutable_grad() = at::full({2}, ranks);
    average_gradients(*layer);
    EXPECT_TRUE(
        layer->weight.grad().allclose(at::full({2, 3}, (ranks - 1) / 2)));
    EXPECT_TRUE(layer->bias.grad().allclose(at::ones({2})));
  });
}

// The gradients of the ranks point in different directions: their own norms
// say nothing of the mean's.
TEST_P(GradientsTest, ClippingIsThatOfOneProcess) {
  for (const double type : {2.0, 1.0, 3.0, kInfinity}) {
    for (const double most : {0.5, 1e6}) {
      const int ranks = GetParam();
      std::vector<at::Tensor> gradients[2];
      std::vector<at::Tensor> mean;
      for (int k = 0; k < 2; ++k) {
        at::Tensor sum;
        for (int r = 0; r < ranks; ++r) {
          gradients[k].push_back(at::randn({k == 0 ? 40'000 : 7}, at::kDouble));
          sum = r == 0 ? gradients[k][r] : sum + gradients[k][r];
        }
        mean.push_back(
            parameter(at::ones({sum.size(0)}, at::kDouble), sum / ranks));
      }
      const double expected =
          torch::nn::utils::clip_grad_norm_(mean, most, type);
      std::vector<double> norms(ranks);
      run_thread_ranks(ranks, [&](const auto& communicator) {
        const int rank = communicator->rank();
        std::vector<at::Tensor> own;
        for (int k = 0; k < 2; ++k) {
          own.push_back(parameter(at::ones(mean[k].sizes(), at::kDouble),
                                  gradients[k][rank].clone()));
        }
        norms[rank] = average_and_clip_gradients(
            own, ClipGradientsOptions(most).norm_type(type));
        for (int k = 0; k < 2; ++k) {
          EXPECT_TRUE(own[k].grad().allclose(mean[k].grad(), 1e-12, 1e-14));
        }
      });
      for (const double norm : norms) {
        EXPECT_EQ(norm, norms[0]);
        EXPECT_NEAR(norm, expected, 1e-12 * expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, GradientsTest, ::testing::Values(1, 2, 3, 5),
                         ::testing::PrintToStringParamName());

TEST(ClipGradNormTest, DoesNotDependOnTheNumberOfThreads) {
  const int before = at::get_num_threads();
  const at::Tensor gradient = at::randn({1'000'003});
  std::vector<double> norms;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    norms.push_back(average_and_clip_gradients(
        {parameter(at::ones({1'000'003}), gradient.clone())}, 1e9));
  }
  at::set_num_threads(before);
  EXPECT_EQ(norms[0], norms[1]);
  EXPECT_EQ(norms[0], norms[2]);
}

TEST(ClipGradNormTest, TakesEveryDtypeAndLayout) {
  const std::vector<at::Tensor> parameters = {
      parameter(at::ones({2}, at::kHalf), at::full({2}, 3.0, at::kHalf)),
      parameter(at::ones({2}, at::kBFloat16),
                at::full({2}, 4.0, at::kBFloat16)),
      parameter(at::ones({1}, at::kComplexDouble),
                at::full({1}, c10::complex<double>(3, 4), at::kComplexDouble)),
      parameter(at::ones({3, 2}), at::ones({2, 3}).t()),
      parameter(at::ones({0})),
  };
  EXPECT_DOUBLE_EQ(average_and_clip_gradients(parameters, 1.0),
                   std::sqrt(18.0 + 32 + 25 + 6));
  EXPECT_NEAR(parameters[2].grad().abs().item<double>(), 5.0 / 9, 1e-6);
  EXPECT_FALSE(parameters[4].grad().defined());
  EXPECT_EQ(average_and_clip_gradients(std::vector<at::Tensor>(), 1.0), 0);
}

TEST(ClipGradNormTest, WhatIsNotFiniteIsSaidOnEveryRank) {
  run_thread_ranks(3, [](const auto& communicator) {
    const bool odd = communicator->rank() == 1;
    at::Tensor p =
        parameter(at::ones({2}), at::full({2}, odd ? kInfinity : 1.0));
    EXPECT_THAT(refusal_of<c10::Error>([&] {
                  average_and_clip_gradients(
                      {p}, ClipGradientsOptions(1).error_if_nonfinite(true));
                }),
                HasSubstr("the norm of the averaged gradients is inf"));
    EXPECT_EQ(average_and_clip_gradients({p}, 1), kInfinity);
    EXPECT_TRUE(p.grad().isnan().all().template item<bool>());
  });
}

TEST(ClipGradNormTest, OptionsThatCannotBeAreRefusedOnEveryRank) {
  for (const auto& bad :
       {ClipGradientsOptions(-1), ClipGradientsOptions(std::nan("")),
        ClipGradientsOptions(1).norm_type(0)}) {
    run_thread_ranks(3, [&](const auto& communicator) {
      at::Tensor p = parameter(at::ones({2}), at::full({2}, 5.0));
      const bool odd = communicator->rank() == 2;
      try {
        average_and_clip_gradients({p}, odd ? bad : ClipGradientsOptions(1));
        ADD_FAILURE() << "clipped";
      } catch (const SyncError& error) {
        EXPECT_FALSE(odd);
        EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
        EXPECT_THAT(error.message(),
                    HasSubstr("average_and_clip_gradients: expected"));
      } catch (const c10::ValueError&) {
        EXPECT_TRUE(odd);
      }
      EXPECT_TRUE(p.grad().equal(at::full({2}, 5.0)));
      sync::average_gradients({p});
    });
  }
}

}  // namespace
}  // namespace tally::training
