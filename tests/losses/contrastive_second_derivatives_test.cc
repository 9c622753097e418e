// Gradients of gradients of contrastive losses: right, or an error.

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <vector>

#include "tally/losses/contrastive/clip_loss.h"
#include "tally/losses/contrastive/nt_xent_loss.h"
#include "tally/losses/contrastive/sig_lip_loss.h"
#include "tally/losses/contrastive/sup_con_loss.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

using testkit::check_second_derivatives;
using testkit::check_second_derivatives_are_refused;
using testkit::learned;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::normal_rows;
using testkit::unit_rows;
using Tensors = std::vector<at::Tensor>;

constexpr const char* kOfTiles =
    "second-order gradients are not supported in tiles";

LossSubject clip(const ClipLossOptions& options) {
  LossSubject result;
  result.make = [=] {
    const at::Tensor scale = learned(4), bias = learned(-3);
    ClipLoss loss(options);
    return LossInstance{[=](const Tensors& batch) mutable {
                          return loss->forward(batch[0], batch[1], scale, bias);
                        },
                        {{"logit_scale", scale}, {"logit_bias", bias}}};
  };
  result.batch = {unit_rows({7, 3}, 1), unit_rows({7, 3}, 2)};
  result.same_on_ranks = !options.local_loss();
  return result;
}

TEST(ContrastiveSecondDerivativesTest, ClipLoss) {
  const auto gathered =
      ClipLossOptions().pairwise_logits(PairwiseLogits::kGathered);
  for (const bool local : {false, true}) {
    SCOPED_TRACE(local);
    check_second_derivatives(clip(ClipLossOptions(gathered).local_loss(local)));
    check_second_derivatives_are_refused(
        clip(ClipLossOptions().local_loss(local)), kOfTiles);
  }
  LossSubject without = clip(ClipLossOptions(gathered).gather_with_grad(false));
  without.ranks = {1};
  check_second_derivatives(without);
  without.ranks = {2, 3};
  check_second_derivatives_are_refused(
      without, "ClipLoss: second-order gradients need gather_with_grad");
}

TEST(ContrastiveSecondDerivativesTest, ClipLogits) {
  LossSubject logits = clip(ClipLossOptions());
  const auto make = [](const ClipLossOptions& options) {
    return [=] {
      const at::Tensor scale = learned(4);
      return LossInstance{[=](const Tensors& batch) {
                            return functional::clip_logits(batch[0], batch[1],
                                                           scale, {}, options)
                                .per_image.tanh()
                                .sum();
                          },
                          {{"logit_scale", scale}}};
    };
  };
  logits.make = make(ClipLossOptions());
  check_second_derivatives(logits);
  logits.make = make(ClipLossOptions().gather_with_grad(false));
  logits.ranks = {2};
  check_second_derivatives_are_refused(
      logits, "ClipLoss: second-order gradients need gather_with_grad");
}

TEST(ContrastiveSecondDerivativesTest, SigLipLoss) {
  const auto subject = [](SigLipExchange exchange) {
    LossSubject result;
    result.make = [=] {
      const at::Tensor scale = learned(4), bias = learned(-2);
      const SigLipLoss loss(SigLipLossOptions().exchange(exchange));
      return LossInstance{[=](const Tensors& batch) {
                            return loss->forward(batch[0], batch[1], scale,
                                                 bias);
                          },
                          {{"logit_scale", scale}, {"logit_bias", bias}}};
    };
    result.batch = {unit_rows({7, 3}, 1), unit_rows({7, 3}, 2)};
    return result;
  };
  for (const SigLipExchange exchange :
       {SigLipExchange::kBidirectional, SigLipExchange::kShift,
        SigLipExchange::kReduce, SigLipExchange::kGather}) {
    SCOPED_TRACE(static_cast<int>(exchange));
    check_second_derivatives(subject(exchange));
  }
  check_second_derivatives_are_refused(subject(SigLipExchange::kTiledRing),
                                       kOfTiles);
}

TEST(ContrastiveSecondDerivativesTest, NTXentLoss) {
  const auto subject = [](const NTXentLossOptions& options) {
    LossSubject result;
    const at::Tensor start = unit_rows({4, 3}, 3);
    result.make = [=] {
      NTXentLoss loss(options);
      loss->to(at::kDouble);
      return LossInstance{[=](const Tensors& batch) mutable {
                            if (loss->memory_bank.defined()) {
                              const at::NoGradGuard no_grad;
                              loss->memory_bank.copy_(start);
                            }
                            return loss->forward(batch[0], batch[1]);
                          },
                          {}};
    };
    result.batch = {normal_rows({6, 3}, 1), normal_rows({6, 3}, 2)};
    return result;
  };
  const auto gathered =
      NTXentLossOptions().pairwise_logits(PairwiseLogits::kGathered);
  check_second_derivatives(subject(gathered));
  check_second_derivatives(subject(
      NTXentLossOptions(gathered).memory_bank_size(4).memory_bank_dim(3)));
  check_second_derivatives_are_refused(subject(NTXentLossOptions()), kOfTiles);
}

TEST(ContrastiveSecondDerivativesTest, SupConLoss) {
  const auto subject = [](const SupConLossOptions& options) {
    LossSubject result;
    result.make = [=] {
      const SupConLoss loss(SupConLossOptions(options).temperature(0.3));
      return LossInstance{[=](const Tensors& batch) {
                            return loss->forward(batch[0], batch[1]);
                          },
                          {}};
    };
    result.batch = {unit_rows({7, 3}, 1),
                    at::tensor({2, 1, 2, 5, 1, 2, 2}, at::kLong)};
    return result;
  };
  check_second_derivatives(
      subject(SupConLossOptions().pairwise_logits(PairwiseLogits::kGathered)));
  check_second_derivatives_are_refused(subject(SupConLossOptions()), kOfTiles);
}

}  // namespace
}  // namespace tally::losses
