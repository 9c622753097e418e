#include "tally/losses/codebook/lfq.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <fstream>
#include <string>

#include "tally/losses/codebook/code_probability.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/losses/fixture_options.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/fixtures.h"

namespace tally::losses {
namespace {

using testkit::check_loss;
using testkit::FixtureOptions;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::near;
using testkit::normal_rows;

LFQOptions options_of(const testkit::OptionTexts& texts) {
  const FixtureOptions of(texts);
  LFQOptions options;
  options.dim(of.integer("dim", 0))
      .codebook_size(of.integer("codebook_size", 0))
      .num_codebooks(of.integer("num_codebooks", 1))
      .spherical(of.flag("spherical", false))
      .codebook_scale(of.number("codebook_scale", 1))
      .softplus_entropy_loss(of.flag("softplus_entropy_loss", false))
      .diversity_gamma(of.number("diversity_gamma", 1))
      .inverse_temperature(of.number("inverse_temperature", 100))
      .entropy_loss_weight(of.number("entropy_loss_weight", 0.1))
      .commitment_loss_weight(of.number("commitment_loss_weight", 0));
  if (of.has("soft_clamp_input_value")) {
    options.soft_clamp_input_value(of.number("soft_clamp_input_value", 0));
  }
  return options;
}

TEST(LFQTest, GivesWhatVectorQuantizePytorchDoes) {
  for (const auto& fixture : testkit::read_fixture("peers/LFQ")) {
    SCOPED_TRACE(fixture.name);
    std::vector<at::Tensor> inputs = testkit::tensors_of(fixture);
    LFQ lfq(options_of(fixture.options));
    lfq->to(at::kDouble);
    const at::Tensor x = inputs[0].set_requires_grad(true);
    inputs.erase(inputs.begin());
    at::Tensor mask;
    if (!inputs.empty() && inputs[0].scalar_type() == at::kBool) {
      mask = inputs[0];
    } else {
      const at::NoGradGuard no_grad;
      ASSERT_EQ(inputs.size(), lfq->parameters().size());
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        lfq->parameters()[i].copy_(inputs[i]);
      }
    }
    const LFQOutput output = lfq->forward(x, mask);
    (output.aux_loss + output.quantized.square().sum() / 10).backward();
    const auto expect = [&](const std::string& name, const at::Tensor& actual) {
      EXPECT_TRUE(near(actual.detach(), fixture.expected.at(name),
                       {fixture.rtol, fixture.atol}))
          << name;
    };
    expect("quantized", output.quantized);
    expect("indices", output.indices);
    expect("aux_loss", output.aux_loss);
    expect("per_sample_entropy", output.per_sample_entropy);
    expect("batch_entropy", output.batch_entropy);
    expect("commitment", output.commitment);
    expect("x_grad", x.grad());
    for (std::size_t i = 0; i < lfq->parameters().size(); ++i) {
      expect("parameter_" + std::to_string(i) + "_grad",
             lfq->parameters()[i].grad());
    }
  }
}

/// The definition, with a table of all tokens' probabilities of all codes.
at::Tensor by_definition(const at::Tensor& latents, const LFQOptions& options) {
  const std::int64_t bits = latents.size(-1);
  const at::Tensor numbers = at::arange(std::int64_t{1} << bits);
  std::vector<at::Tensor> columns;
  for (std::int64_t k = bits - 1; k >= 0; --k) {
    columns.push_back(
        numbers.bitwise_and(std::int64_t{1} << k).ne(0).to(at::kDouble));
  }
  const double scale = options.codebook_scale();
  const at::Tensor codes = at::stack(columns, 1).mul(2).sub(1).mul(scale);
  const at::Tensor p = latents.matmul(codes.t())
                           .mul(2 * options.inverse_temperature())
                           .softmax(-1);
  const at::Tensor mean = p.mean(0);
  const auto entropy = [](const at::Tensor& q) {
    return -(q * q.log()).sum(-1).mean();
  };
  const at::Tensor code = latents.detach().sign().mul(scale);
  return options.entropy_loss_weight() *
             (entropy(p) - options.diversity_gamma() * entropy(mean)) +
         options.commitment_loss_weight() * (latents - code).square().mean();
}

LFQOptions sharp() {
  return LFQOptions()
      .inverse_temperature(0.7)
      .diversity_gamma(1.3)
      .commitment_loss_weight(0.4);
}

LossSubject projected(const LFQOptions& options) {
  LossSubject subject;
  subject.make = [options] {
    LFQ lfq(options);
    lfq->to(at::kDouble);
    std::uint64_t seed = 0;
    for (at::Tensor parameter : lfq->parameters()) {
      parameter.set_data(normal_rows(parameter.sizes(), ++seed));
    }
    if (lfq->rotation.defined()) {
      const at::Tensor some = normal_rows(lfq->rotation.sizes(), 9);
      lfq->rotation.set_data(std::get<0>(at::linalg_qr(some)));
    }
    const auto call = [lfq](const std::vector<at::Tensor>& batch) mutable {
      const at::Tensor mask = batch.size() > 1 ? batch[1] : at::Tensor();
      return lfq->forward(batch[0], mask).aux_loss;
    };
    LossInstance instance{call, {}};
    // The projection out has no part in the loss.
    for (const auto& named : lfq->named_parameters().pairs()) {
      if (named.first.find("out") == std::string::npos) {
        instance.parameters.push_back(named);
      }
    }
    return instance;
  };
  subject.batch = {normal_rows({9, 2, options.dim()}, 1)};
  return subject;
}

TEST(LFQTest, IsTheLossOfTheGlobalBatch) {
  LossSubject subject;
  const LFQOptions options = sharp().dim(5);
  subject.make = [options] {
    return LossInstance{[options](const std::vector<at::Tensor>& batch) {
                          return functional::lfq(batch[0], options).aux_loss;
                        },
                        {}};
  };
  subject.batch = {normal_rows({11, 5}, 1)};
  subject.reference = [options](const auto& batch, const auto&) {
    return by_definition(batch[0], options);
  };
  check_loss(subject);
  check_second_derivatives(subject);
}

TEST(LFQTest, ProjectionsLearnAsInOneProcess) {
  check_loss(projected(sharp().dim(6).codebook_size(8)));
  check_second_derivatives(projected(sharp().dim(6).codebook_size(8)));
  check_loss(projected(sharp()
                           .dim(6)
                           .codebook_size(4)
                           .num_codebooks(2)
                           .spherical(true)
                           .softplus_entropy_loss(true)));
  check_loss(projected(sharp()
                           .dim(6)
                           .codebook_size(8)
                           .orthogonal_rotation(true)
                           .soft_clamp_input_value(1.5)));
}

TEST(LFQTest, MasksLearnAsInOneProcess) {
  LossSubject subject = projected(sharp().dim(6).codebook_size(8));
  const at::Tensor tokens =
      at::rand({9, 2}, at::detail::createCPUGenerator(4)).lt(0.5);
  subject.batch.push_back(tokens);
  check_loss(subject);
  // Whole samples, the last ones among those without: idle ranks with rows.
  subject.batch[1] = at::arange(9).lt(4);
  check_loss(subject);
}

TEST(LFQTest, TakesMasksOfSamplesAndOfTokens) {
  const LFQOptions options = sharp().dim(4);
  const at::Tensor x = normal_rows({3, 5, 4}, 2);
  const at::Tensor of_samples = at::tensor({1, 0, 1}).to(at::kBool);
  const at::Tensor of_tokens =
      at::rand({3, 5}, at::detail::createCPUGenerator(5)).lt(0.5);
  const auto loss = [&](const at::Tensor& latents, const at::Tensor& mask) {
    return functional::lfq(latents, options, mask).aux_loss;
  };
  const at::Tensor whole = of_samples.unsqueeze(1).expand({3, 5});
  for (const auto& [mask, kept] :
       {std::pair(of_samples, whole), std::pair(of_tokens, of_tokens)}) {
    const at::Tensor rows = kept.reshape({-1}).nonzero().squeeze(1);
    const at::Tensor alone = loss(x.reshape({15, 4}).index_select(0, rows), {});
    EXPECT_NEAR(loss(x, mask).item<double>(), alone.item<double>(), 1e-14);
  }
}

TEST(LFQTest, WithoutTokensLossesAreZero) {
  const at::Tensor x = normal_rows({2, 3, 4}, 2).set_requires_grad(true);
  for (double fraction : {1.0, 0.01}) {
    const LFQOutput output =
        functional::lfq(x, sharp().dim(4).frac_per_sample_entropy(fraction),
                        at::zeros({2}, at::kBool));
    EXPECT_EQ(output.aux_loss.item<double>(), 0);
    EXPECT_EQ(output.batch_entropy.item<double>(), 0);
    output.aux_loss.backward();
    EXPECT_EQ(x.grad().abs().max().item<double>(), 0);
  }
}

TEST(LFQTest, SamplesAtLeastOneTokenForItsOwnEntropy) {
  const at::Tensor x = normal_rows({10, 4}, 2);
  const LFQOptions all = sharp().dim(4);
  const LFQOutput of_all = functional::lfq(x, all);
  const LFQOutput of_one =
      functional::lfq(x, LFQOptions(all).frac_per_sample_entropy(0.05));
  // The codes' use is that of all tokens still.
  EXPECT_EQ(of_one.batch_entropy.item<double>(),
            of_all.batch_entropy.item<double>());
  bool found = false;
  for (std::int64_t i = 0; i < 10; ++i) {
    const LFQOutput one = functional::lfq(x.narrow(0, i, 1), all);
    found |= std::abs(one.per_sample_entropy.item<double>() -
                      of_one.per_sample_entropy.item<double>()) < 1e-12;
  }
  EXPECT_TRUE(found);
}

TEST(LFQTest, StaysFiniteWhereProbabilitiesVanish) {
  const at::Tensor x =
      normal_rows({50, 10}, 3).to(at::kFloat).set_requires_grad(true);
  const LFQOutput output = functional::lfq(x, LFQOptions().dim(10));
  output.aux_loss.backward();
  EXPECT_TRUE(output.aux_loss.isfinite().item<bool>());
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
  // Tokens use some 49 of 1024 codes, each for certain.
  EXPECT_NEAR(output.per_sample_entropy.item<double>(), 0, 0.1);
  EXPECT_NEAR(output.batch_entropy.item<double>(), std::log(50), 0.2);
}

/// The most memory that this process has had, in MB.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  double kilobytes = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> kilobytes;
  }
  return kilobytes / 1000;
}

TEST(LFQTest, ManyCodesCostMegabytes) {
  // A table of all tokens' codes would be 2 GB.
  const at::Tensor x =
      normal_rows({2048, 18}, 3).to(at::kFloat).set_requires_grad(true);
  const LFQOptions options = LFQOptions().dim(18).inverse_temperature(0.5);
  const double before = peak_mb();
  const LFQOutput output = functional::lfq(x, options);
  output.aux_loss.backward();
  EXPECT_LT(peak_mb() - before, 700);
  const LFQOutput wide = functional::lfq(x.detach().to(at::kDouble), options);
  EXPECT_NEAR(output.batch_entropy.item<double>(),
              wide.batch_entropy.item<double>(), 1e-4);
  EXPECT_NEAR(output.per_sample_entropy.item<double>(),
              wide.per_sample_entropy.item<double>(), 1e-4);
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

TEST(LFQTest, GradientsOfGradientsFlow) {
  const at::Tensor x = normal_rows({3, 2, 5}, 8);
  const at::Tensor weight = normal_rows({2, 32}, 9);
  const at::Tensor direction = normal_rows({3, 2, 5}, 10);
  const auto [by_autograd, by_differences] = testkit::second_derivatives(
      [&](const at::Tensor& logits) {
        return internal::sum_of_code_probabilities(logits)
            .mul(weight)
            .sum()
            .square();
      },
      x, direction);
  EXPECT_TRUE(near(by_autograd, by_differences, {1e-6, 1e-6}));
}

TEST(LFQTest, TakesEveryFloatingDtype) {
  const at::Tensor x = normal_rows({4, 3, 8}, 3).mul(4).round().div(4);
  const LFQOptions options = sharp().dim(8);
  const LFQOutput exact = functional::lfq(x, options);
  for (at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor narrow = x.to(dtype).set_requires_grad(true);
    const LFQOutput output = functional::lfq(narrow, options);
    EXPECT_EQ(output.quantized.scalar_type(), dtype);
    EXPECT_EQ(output.aux_loss.scalar_type(), at::kFloat);
    EXPECT_TRUE(near(output.aux_loss.detach(), exact.aux_loss, {1e-5, 1e-6}));
    (output.aux_loss + output.quantized.sum()).backward();
    EXPECT_EQ(narrow.grad().scalar_type(), dtype);
  }
}

TEST(LFQTest, TakesImagesAndGivesTheirShapeBack) {
  LFQ lfq(LFQOptions().dim(6).codebook_size(4).num_codebooks(2));
  const at::Tensor x = at::rand({2, 6, 3, 5});
  const LFQOutput output = lfq->forward(x);
  EXPECT_EQ(output.quantized.sizes(), x.sizes());
  EXPECT_EQ(output.indices.sizes(), at::IntArrayRef({2, 3, 5, 2}));
  EXPECT_TRUE(near(lfq->indices_to_codes(output.indices).detach(),
                   output.quantized.detach(), {1e-5, 1e-6}));
  // The same tokens, not as an image.
  const LFQOutput flat = lfq->forward(x.flatten(2).transpose(1, 2));
  EXPECT_TRUE(near(flat.quantized.transpose(1, 2).reshape_as(x).detach(),
                   output.quantized.detach(), {1e-5, 1e-6}));
  EXPECT_NEAR(flat.aux_loss.item<double>(), output.aux_loss.item<double>(),
              1e-5);
}

TEST(LFQTest, CodesComeBackFromIndices) {
  for (const LFQOptions& options :
       {LFQOptions().dim(5), LFQOptions().dim(5).spherical(true),
        LFQOptions().dim(5).orthogonal_rotation(true),
        LFQOptions().dim(5).keep_num_codebooks_dim(true),
        LFQOptions().dim(7).codebook_size(32)}) {
    LFQ lfq(options);
    lfq->eval();
    const LFQOutput output =
        lfq->forward(normal_rows({4, 6, options.dim()}, 2).to(at::kFloat));
    EXPECT_TRUE(near(lfq->indices_to_codes(output.indices).detach(),
                     output.quantized.detach(), {1e-5, 1e-6}));
    EXPECT_EQ(output.aux_loss.item<double>(), 0);
  }
}

TEST(LFQTest, RotationTurnsGradients) {
  const at::Tensor x =
      at::tensor({3.0, 0.0, 1.0, 1.0}).view({2, 2}).to(at::kDouble);
  x.set_requires_grad(true);
  const LFQOutput output = functional::lfq(
      x, LFQOptions().dim(2).code_gradient(CodeGradient::kRotation));
  EXPECT_TRUE(testkit::same_bits(
      output.quantized.detach(),
      at::tensor({1.0, -1.0, 1.0, 1.0}, at::kDouble).view({2, 2})));
  output.quantized.mul(at::tensor({1.0, 0.0}, at::kDouble)).sum().backward();
  // A code that moves along its first axis is one that grows by 1/sqrt(2) and
  // turns as much; lengths differ by sqrt(2) / 3.
  const double part = std::sqrt(2.0) / 3 / std::sqrt(2.0);
  EXPECT_TRUE(near(x.grad(),
                   at::tensor({part, part, 1.0, 0.0}, at::kDouble).view({2, 2}),
                   {1e-12, 1e-12}));
}

THREAD_RANKS_TEST(LFQTest, EvalCommunicatesNothing, 2) {
  const at::Tensor x = normal_rows({3, 4}, self.rank());
  functional::lfq(x, sharp().dim(4), {}, /*training=*/false);
  EXPECT_EQ(self.group()->collectives(), 0);
  functional::lfq(x, sharp().dim(4)).aux_loss.item<double>();
  EXPECT_EQ(self.group()->collectives(), 1);
}

TEST(LFQTest, PrintsAndClones) {
  EXPECT_THAT(c10::str(LFQ(LFQOptions().dim(6))),
              ::testing::StartsWith("tally::losses::LFQ(dim=6, "
                                    "codebook_size=64, num_codebooks=1, "
                                    "keep_num_codebooks_dim=false, "));
  LFQ lfq(LFQOptions().dim(6).codebook_size(8).orthogonal_rotation(true));
  LFQ copy(std::dynamic_pointer_cast<LFQImpl>(lfq->clone()));
  const at::Tensor x = at::rand({3, 6});
  EXPECT_TRUE(testkit::same_bits(copy->forward(x).quantized.detach(),
                                 lfq->forward(x).quantized.detach()));
}

}  // namespace
}  // namespace tally::losses
