// Contrastive losses beside the libraries that they are taken from: see
// tests/reference/README.md.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/losses/contrastive/clip_loss.h"
#include "tally/losses/contrastive/nt_xent_loss.h"
#include "tally/losses/contrastive/sig_lip_loss.h"
#include "tally/losses/contrastive/sup_con_loss.h"
#include "tally/testing/compare.h"
#include "tally/tests/losses/fixture_options.h"
#include "tally/tests/testing/fixtures.h"

namespace tally::losses {
namespace {

using testkit::FixtureCase;
using testkit::FixtureOptions;
using Tensors = std::vector<at::Tensor>;

/// The inputs, as leaves where they are floating.
Tensors leaves_of(const FixtureCase& fixture) {
  Tensors leaves;
  for (const at::Tensor& input : testkit::tensors_of(fixture)) {
    leaves.push_back(input.clone());
    if (input.is_floating_point()) leaves.back().set_requires_grad(true);
  }
  return leaves;
}

/// The loss, and the gradients of the first inputs by name.
void expect_like(const FixtureCase& fixture, const at::Tensor& loss,
                 const Tensors& leaves, const std::vector<std::string>& names) {
  loss.backward();
  const testkit::Tolerance tolerance{fixture.rtol, fixture.atol};
  EXPECT_TRUE(near(loss.detach(), fixture.expected.at(""), tolerance));
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_TRUE(
        near(leaves[i].grad(), fixture.expected.at(names[i]), tolerance))
        << names[i];
  }
}

const std::vector<std::string> kPairGradients = {"image_grad", "text_grad",
                                                 "scale_grad", "bias_grad"};

TEST(ContrastiveFixturesTest, ClipLossIsOpenClips) {
  for (const FixtureCase& fixture : testkit::read_fixture("peers/ClipLoss")) {
    for (const PairwiseLogits pairwise_logits :
         {PairwiseLogits::kTiled, PairwiseLogits::kGathered}) {
      SCOPED_TRACE(fixture.name);
      const Tensors in = leaves_of(fixture);
      ClipLoss loss(ClipLossOptions().pairwise_logits(pairwise_logits));
      expect_like(fixture, loss->forward(in[0], in[1], in[2], in[3]), in,
                  kPairGradients);
    }
  }
}

TEST(ContrastiveFixturesTest, SigLipLossIsOpenClips) {
  for (const FixtureCase& fixture : testkit::read_fixture("peers/SigLipLoss")) {
    SCOPED_TRACE(fixture.name);
    const Tensors in = leaves_of(fixture);
    expect_like(fixture, SigLipLoss()->forward(in[0], in[1], in[2], in[3]), in,
                kPairGradients);
  }
}

TEST(ContrastiveFixturesTest, NTXentLossIsLightlys) {
  for (const FixtureCase& fixture : testkit::read_fixture("peers/NTXentLoss")) {
    SCOPED_TRACE(fixture.name);
    const FixtureOptions texts(fixture.options);
    NTXentLoss loss(NTXentLossOptions()
                        .temperature(texts.number("temperature", 0.5))
                        .memory_bank_size(texts.integer("memory_bank_size", 0))
                        .memory_bank_dim(5));
    const Tensors in = leaves_of(fixture);
    if (loss->memory_bank.defined()) {
      loss->to(at::kDouble);
      loss->memory_bank.copy_(in[2].detach());
    }
    expect_like(fixture, loss->forward(in[0], in[1]), in, {"grad_0", "grad_1"});
    if (loss->memory_bank.defined()) {
      EXPECT_TRUE(testkit::near(loss->memory_bank, fixture.expected.at("bank"),
                                {fixture.rtol, fixture.atol}));
    }
  }
}

TEST(ContrastiveFixturesTest, SupConLossIsSupContrasts) {
  for (const FixtureCase& fixture : testkit::read_fixture("peers/SupConLoss")) {
    SCOPED_TRACE(fixture.name);
    const FixtureOptions texts(fixture.options);
    const SupConLoss loss(
        SupConLossOptions()
            .temperature(texts.number("temperature", 0))
            .base_temperature(texts.number("base_temperature", 0)));
    const Tensors in = leaves_of(fixture);
    expect_like(fixture, loss->forward(in[0], in[1]), in, {"features_grad"});
  }
}

}  // namespace
}  // namespace tally::losses
