#include "tally/losses/contrastive/sig_lip_loss.h"

#include <ATen/ops/eye.h>
#include <ATen/ops/log_sigmoid.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/sync/errors.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

using ::testing::HasSubstr;
using testkit::check_loss;
using testkit::learned;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::unit_rows;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<sync::Communicator>;
using Options = SigLipLossOptions;

at::Tensor reference(const Tensors& batch, const Tensors& parameters) {
  const std::int64_t rows = batch[0].size(0);
  const at::Tensor logits =
      batch[0].matmul(batch[1].t()).mul(parameters[0]).add(parameters[1]);
  const at::Tensor sign = at::eye(rows, at::kDouble).mul(2).sub(1);
  return at::log_sigmoid(logits.mul(sign)).sum().div(-rows);
}

LossSubject subject(const Options& options, double scale = 10,
                    double bias = -4) {
  LossSubject result;
  result.make = [=] {
    const at::Tensor s = learned(scale), b = learned(bias);
    const SigLipLoss loss(options);
    return LossInstance{[=](const Tensors& batch) {
                          return loss->forward(batch[0], batch[1], s, b);
                        },
                        {{"logit_scale", s}, {"logit_bias", b}}};
  };
  result.batch = {unit_rows({11, 5}, 1), unit_rows({11, 5}, 2)};
  result.reference = reference;
  return result;
}

TEST(SigLipLossTest, IsThatOfTheGlobalBatchHoweverTextsAreExchanged) {
  for (const SigLipExchange exchange :
       {SigLipExchange::kTiledRing, SigLipExchange::kBidirectional,
        SigLipExchange::kShift, SigLipExchange::kReduce,
        SigLipExchange::kGather}) {
    SCOPED_TRACE(static_cast<int>(exchange));
    LossSubject one = subject(Options().exchange(exchange));
    one.ranks = {1, 2, 3, 4, 5};
    check_loss(one);
  }
}

TEST(SigLipLossTest, IsThatOfTheGlobalBatchOverGloo) {
  LossSubject over_gloo = subject(Options());
  over_gloo.transport = testkit::ThreadTransport::kGloo;
  over_gloo.ranks = {2, 3};
  check_loss(over_gloo);
}

TEST(SigLipLossTest, GoesThroughTheLogitsByTiles) {
  LossSubject large = subject(Options());
  large.batch = {unit_rows({1500, 4}, 1), unit_rows({1500, 4}, 2)};
  large.numerical = false;
  large.ranks = {2};
  large.tolerance = 1e-9;
  check_loss(large);
}

struct Evaluation {
  double loss;
  at::Tensor image;
  double scale, bias;
};

Evaluation evaluate(const at::Tensor& image, const at::Tensor& text,
                    double scale, double bias) {
  const at::Tensor a = image.detach().clone().requires_grad_();
  const at::Tensor s = learned(scale), b = learned(bias);
  const at::Tensor loss = functional::sig_lip_loss(a, text, s, b);
  loss.backward();
  return {loss.item<double>(), a.grad().to(at::kDouble),
          s.grad().item<double>(), b.grad().item<double>()};
}

TEST(SigLipLossTest, IsRightInFloat32AndNarrower) {
  const at::Tensor image = unit_rows({300, 8}, 1);
  const at::Tensor text = unit_rows({300, 8}, 2);
  for (const double scale : {10.0, 100.0}) {
    // With a bias of -10 nearly all terms are small: log1p, not log.
    for (const double bias : {-10.0, 0.0}) {
      for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
        const at::Tensor a = image.to(dtype), b = text.to(dtype);
        const Evaluation narrow = evaluate(a, b, scale, bias);
        const Evaluation wide =
            evaluate(a.to(at::kDouble), b.to(at::kDouble), scale, bias);
        const double of_dtype = dtype == at::kFloat ? 1e-5 : 4e-3;
        EXPECT_NEAR(narrow.loss, wide.loss, 1e-5 * wide.loss);
        EXPECT_LT(narrow.image.sub(wide.image).norm().item<double>(),
                  of_dtype * wide.image.norm().item<double>());
        EXPECT_NEAR(narrow.scale, wide.scale, 1e-4 * std::abs(wide.scale));
        EXPECT_NEAR(narrow.bias, wide.bias, 1e-4 * std::abs(wide.bias));
      }
    }
  }
}

TEST(SigLipLossTest, BackwardMayRunTwice) {
  const at::Tensor image = unit_rows({5, 4}, 1).requires_grad_();
  const at::Tensor loss = functional::sig_lip_loss(image, unit_rows({5, 4}, 2),
                                                   learned(2), learned(-1));
  loss.backward({}, /*retain_graph=*/true);
  const at::Tensor once = image.grad().clone();
  loss.backward();
  EXPECT_LT(image.grad().sub(once.mul(2)).norm().item<double>(), 1e-14);
}

TEST(SigLipLossTest, WithoutPairsIsZeroAndNaNShows) {
  testkit::run_thread_ranks(2, [](const Group&) {
    const at::Tensor none = unit_rows({0, 3}, 1).requires_grad_();
    const at::Tensor loss =
        functional::sig_lip_loss(none, none, learned(2), learned(0));
    EXPECT_EQ(loss.item<double>(), 0);
    loss.backward();
  });
  at::Tensor image = unit_rows({5, 3}, 1);
  image.view(-1)[7] = std::nan("");
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor loss = functional::sig_lip_loss(
        image.to(dtype), unit_rows({5, 3}, 2).to(dtype), learned(2),
        learned(0));
    EXPECT_TRUE(std::isnan(loss.item<double>())) << dtype;
  }
}

TEST(SigLipLossTest, BadArgumentsAreTheirRanksErrorAndReachAll) {
  const at::Tensor rows = unit_rows({3, 4}, 1);
  const auto errors = testkit::collect_thread_ranks(3, [&](const Group& group) {
    const at::Tensor bias = group->rank() == 1 ? at::Tensor() : learned(0);
    functional::sig_lip_loss(rows, rows, learned(2), bias);
  });
  for (int rank : {0, 1, 2}) {
    try {
      std::rethrow_exception(errors[rank]);
    } catch (const c10::ValueError& error) {
      EXPECT_EQ(rank, 1);
      EXPECT_THAT(
          sync::describe(error),
          HasSubstr("SigLipLoss: expected logit_bias to be one floating "
                    "number, got an undefined tensor"));
    } catch (const sync::SyncError& error) {
      EXPECT_NE(rank, 1);
      EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
    }
  }
  const auto mismatch = testkit::collect_thread_ranks(2, [&](const Group& g) {
    functional::sig_lip_loss(rows, rows, learned(2), learned(g->rank()));
  });
  for (const auto& error : mismatch) {
    try {
      std::rethrow_exception(error);
    } catch (const sync::SyncError& sync_error) {
      EXPECT_EQ(sync_error.code(), sync::SyncErrorCode::kMismatch);
      EXPECT_THAT(sync::describe(sync_error), HasSubstr("logit_bias 1"));
    }
  }
}

TEST(SigLipLossTest, IsPrinted) {
  EXPECT_EQ(c10::str(SigLipLoss()),
            "tally::losses::SigLipLoss(exchange=tiled_ring)");
}

}  // namespace
}  // namespace tally::losses
