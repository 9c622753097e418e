#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/codebook/code_gradient.h"
#include "tally/losses/codebook/code_probability.h"
#include "tally/losses/codebook/lfq.h"
#include "tally/losses/codebook/vector_quantize.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/autocast.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

using testkit::Autocast;
using testkit::near;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using testkit::same_bits;
using Tensors = std::vector<at::Tensor>;

LFQ lfq_of(const LFQOptions& options) {
  LFQ lfq(options);
  std::uint64_t seed = 0;
  for (at::Tensor parameter : lfq->parameters()) {
    parameter.set_data(normal_rows(parameter.sizes(), ++seed).to(at::kFloat));
  }
  return lfq;
}

VectorQuantize vq_of(const VectorQuantizeOptions& options) {
  VectorQuantize vq(options);
  std::uint64_t seed = 0;
  for (at::Tensor parameter : vq->parameters()) {
    parameter.set_data(normal_rows(parameter.sizes(), ++seed).to(at::kFloat));
  }
  vq->codebook.copy_(normal_rows(vq->codebook.sizes(), 9));
  vq->code_sums.copy_(vq->codebook);
  return vq;
}

/// What a module gives, its loss's gradients, and codes for its indices.
template <class Module, class Loss>
Tensors outcome(Module& module, const at::Tensor& x, const Loss& loss) {
  const at::Tensor leaf = x.clone().set_requires_grad(true);
  const auto output = module->forward(leaf);
  Tensors result = {output.quantized.detach(), output.indices,
                    loss(output).detach(),
                    module->indices_to_codes(output.indices).detach()};
  {
    // LibTorch: backward() is called outside of autocast, or casts again.
    const Autocast off(false);
    (loss(output) + output.quantized.sum()).backward();
  }
  result.push_back(leaf.grad());
  for (const at::Tensor& parameter : module->parameters()) {
    result.push_back(parameter.grad());
  }
  for (const at::Tensor& buffer : module->buffers()) result.push_back(buffer);
  return result;
}

void expect_same(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(same_bits(actual[i], expected[i])) << i;
  }
}

TEST(CodebookLossesTest, AutocastChangesNothing) {
  const at::Tensor x = normal_rows({200, 6}, 1).to(at::kFloat);
  for (const LFQOptions& options :
       {LFQOptions().dim(6), LFQOptions().dim(6).codebook_size(16),
        LFQOptions().dim(6).orthogonal_rotation(true)}) {
    LFQ lfq = lfq_of(options);
    LFQ same(std::dynamic_pointer_cast<LFQImpl>(lfq->clone()));
    const auto loss = [](const LFQOutput& output) { return output.aux_loss; };
    const Tensors expected = outcome(lfq, x, loss);
    const Autocast autocast;
    expect_same(outcome(same, x, loss), expected);
  }
  using Options = VectorQuantizeOptions;
  for (const Options& options :
       {Options(6, 64), Options(6, 64).codebook_dim(4),
        Options(6, 16).kmeans_init(true).use_cosine_sim(true)}) {
    VectorQuantize vq = vq_of(options);
    VectorQuantize same(
        std::dynamic_pointer_cast<VectorQuantizeImpl>(vq->clone()));
    const auto loss = [](const VectorQuantizeOutput& output) {
      return output.loss;
    };
    const Tensors expected = outcome(vq, x, loss);
    const Autocast autocast;
    expect_same(outcome(same, x, loss), expected);
  }
}

TEST(CodebookLossesTest, ProjectionsTakeEveryFloatingDtype) {
  // As autocast gives them to modules whose parameters are float32.
  for (at::ScalarType dtype : {at::kBFloat16, at::kHalf, at::kDouble}) {
    const at::Tensor x = normal_rows({20, 6}, 1).to(dtype);
    for (bool training : {true, false}) {
      LFQ lfq = lfq_of(LFQOptions().dim(6).codebook_size(16));
      lfq->train(training);
      EXPECT_EQ(lfq->forward(x).quantized.scalar_type(), dtype);
      VectorQuantize vq = vq_of(VectorQuantizeOptions(6, 16).codebook_dim(4));
      vq->train(training);
      EXPECT_EQ(vq->forward(x).quantized.scalar_type(), dtype);
    }
  }
}

/// Losses of x, each made of what all ranks have.
struct Subject {
  std::string name;
  std::function<at::Tensor(const at::Tensor& x, const at::Tensor& mask)> loss;
};

std::vector<Subject> subjects() {
  std::vector<Subject> result;
  const LFQOptions lfq = LFQOptions()
                             .dim(4)
                             .inverse_temperature(0.7)
                             .diversity_gamma(1.3)
                             .commitment_loss_weight(0.4);
  for (const auto& [name, options] :
       {std::pair("LFQ", lfq),
        std::pair("softplus", LFQOptions(lfq).softplus_entropy_loss(true)),
        std::pair("spherical", LFQOptions(lfq).spherical(true)),
        std::pair("clamped", LFQOptions(lfq)
                                 .num_codebooks(2)
                                 .codebook_size(4)
                                 .soft_clamp_input_value(1.5))}) {
    result.push_back({name, [of = options](const auto& x, const auto& mask) {
                        return functional::lfq(x, of, mask).aux_loss;
                      }});
  }
  const at::Tensor codes = normal_rows({6, 4}, 7);
  for (bool cosine : {false, true}) {
    result.push_back(
        {cosine ? "cosine" : "VectorQuantize",
         [codes, cosine](const auto& x, const auto& mask) {
           return functional::vector_quantize(
                      x, codes,
                      VectorQuantizeOptions(4, 6).use_cosine_sim(cosine), mask)
               .loss;
         }});
  }
  return result;
}

TEST(CodebookLossesTest, WithoutTokensLossesAreZero) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    for (int ranks : {1, 2}) {
      run_thread_ranks(ranks, [&](const auto&) {
        const at::Tensor rows = normal_rows({2, 3, 4}, 1);
        for (const auto& [x, mask] :
             {std::pair(at::zeros({0, 4}, at::kDouble), at::Tensor()),
              std::pair(at::zeros({2, 0, 4}, at::kDouble), at::Tensor()),
              std::pair(rows, at::zeros({2}, at::kBool))}) {
          const at::Tensor leaf = x.clone().set_requires_grad(true);
          const at::Tensor loss = subject.loss(leaf, mask);
          EXPECT_EQ(loss.template item<double>(), 0);
          loss.backward();
          EXPECT_TRUE(leaf.grad().defined());
          EXPECT_TRUE(leaf.grad().equal(at::zeros_like(leaf)));
        }
      });
    }
  }
}

TEST(CodebookLossesTest, GradientsOfGradientsAreThoseOfTheGlobalBatch) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    testkit::LossSubject loss;
    loss.make = [&subject] {
      return testkit::LossInstance{[&subject](const Tensors& batch) {
                                     return subject.loss(batch[0], {});
                                   },
                                   {}};
    };
    loss.batch = {normal_rows({7, 4}, 2)};
    testkit::check_second_derivatives(loss);
  }
}

TEST(CodebookLossesTest, BackwardCommunicatesOnlyForGradientsOfGradients) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    run_thread_ranks(2, [&](const auto& communicator) {
      const at::Tensor x = normal_rows({3, 4}, communicator->rank());
      const at::Tensor loss =
          subject.loss(x.clone().set_requires_grad(true), {});
      const auto before = communicator->collectives();
      loss.backward();
      EXPECT_EQ(communicator->collectives(), before);
    });
  }
}

TEST(CodebookLossesTest, GradientOfTheRotationChangesWithTheLatent) {
  const at::Tensor x = normal_rows({5, 4}, 1), code = normal_rows({5, 4}, 2);
  const at::Tensor weight = normal_rows({5, 4}, 3);
  const at::Tensor direction = normal_rows({5, 4}, 4);
  const auto [by_autograd, by_differences] = testkit::second_derivatives(
      [&](const at::Tensor& latent) {
        return internal::pass_through(latent, code, CodeGradient::kRotation)
            .mul(weight)
            .sum();
      },
      x, direction);
  EXPECT_TRUE(near(by_autograd, by_differences, {1e-6, 1e-7}));
}

TEST(CodebookLossesTest, EntropyOfAnEvenBitHasASecondDerivative) {
  const at::Tensor logit = at::zeros({1}, at::kDouble).set_requires_grad(true);
  const at::Tensor gradient = torch::autograd::grad(
      {internal::bit_entropy(logit).sum()}, {logit}, {}, true, true)[0];
  EXPECT_EQ(gradient.item<double>(), 0);
  gradient.backward();
  EXPECT_NEAR(logit.grad().item<double>(), -0.25, 1e-15);
}

TEST(CodebookLossesTest, SoftplusIsExactFarFromZero) {
  const at::Tensor x = normal_rows({5, 4}, 1);
  const auto loss = [&](double offset, bool softplus) {
    return functional::lfq(x, LFQOptions()
                                  .dim(4)
                                  .entropy_loss_weight(1)
                                  .softplus_entropy_loss(softplus)
                                  .entropy_loss_offset(offset))
        .aux_loss.item<double>();
  };
  const double entropy = loss(0, false);
  const double offset = 20.5 - entropy;
  EXPECT_NEAR(loss(offset, true) - 20.5, std::log1p(std::exp(-20.5)), 1e-13);
}

}  // namespace
}  // namespace tally::losses
