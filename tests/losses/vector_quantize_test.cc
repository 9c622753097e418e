#include "tally/losses/codebook/vector_quantize.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tally/losses/codebook/kmeans.h"
#include "tally/losses/codebook/nearest_codes.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/internal/numerical_gradient.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/fixture_options.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using testkit::FixtureOptions;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::near;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Options = VectorQuantizeOptions;

TEST(VectorQuantizeTest, GivesWhatVectorQuantizePytorchDoes) {
  for (const auto& fixture : testkit::read_fixture("peers/VectorQuantize")) {
    SCOPED_TRACE(fixture.name);
    const FixtureOptions of(fixture.options);
    const auto inputs = testkit::tensors_of(fixture);
    VectorQuantize vq(Options(3, 5)
                          .commitment_weight(0.25)
                          .decay(of.number("decay", 0.8))
                          .use_cosine_sim(of.flag("use_cosine_sim", false))
                          .code_gradient(of.flag("rotation_trick", true)
                                             ? CodeGradient::kRotation
                                             : CodeGradient::kStraightThrough));
    vq->codebook.copy_(inputs[0]);
    vq->code_sums.copy_(inputs[0]);
    const at::Tensor x = at::Tensor(inputs[1]).set_requires_grad(true);
    const at::Tensor mask = inputs.size() > 2 ? inputs[2] : at::Tensor();
    const VectorQuantizeOutput output = vq->forward(x, mask);
    (output.loss + output.quantized.square().sum() / 10).backward();
    vq->forward(x.detach() * 0.5 + 0.25, mask);
    const std::map<std::string, at::Tensor> actual = {
        {"quantized", output.quantized.detach()},
        {"indices", output.indices},
        {"loss", output.loss.detach()},
        {"x_grad", x.grad()},
        {"codebook", vq->codebook},
        {"code_sums", vq->code_sums},
        {"code_counts", vq->code_counts}};
    for (const auto& [name, expected] : fixture.expected) {
      EXPECT_TRUE(near(actual.at(name), expected, {fixture.rtol, fixture.atol}))
          << name;
    }
  }
}

TEST(VectorQuantizeTest, ClustersAsVectorQuantizePytorchDoes) {
  for (const auto& fixture : testkit::read_fixture("peers/KMeans")) {
    SCOPED_TRACE(fixture.name);
    const auto inputs = testkit::tensors_of(fixture);
    const internal::Clusters clusters =
        internal::kmeans(inputs[0], inputs[1], 4, fixture.name == "cosine",
                         [](const at::Tensor& own) { return own; });
    EXPECT_TRUE(near(clusters.means, fixture.expected.at("means"),
                     {fixture.rtol, fixture.atol}));
    EXPECT_TRUE(near(clusters.counts, fixture.expected.at("counts")));
  }
}

TEST(VectorQuantizeTest, LossIsThatOfTheGlobalBatch) {
  const at::Tensor codes = normal_rows({6, 3}, 1);
  LossSubject subject;
  subject.make = [codes] {
    return LossInstance{[codes](const std::vector<at::Tensor>& batch) {
                          return functional::vector_quantize(
                                     batch[0], codes, Options(3, 6), batch[1])
                              .loss;
                        },
                        {}};
  };
  subject.batch = {normal_rows({9, 2, 3}, 2),
                   at::rand({9, 2}, at::detail::createCPUGenerator(4)).lt(0.6)};
  subject.reference = [codes](const auto& batch, const auto&) {
    const at::Tensor distances =
        (batch[0].unsqueeze(2) - codes).square().sum(-1);
    const at::Tensor errors = std::get<0>(distances.min(-1)).div(3);
    return errors.mul(batch[1]).sum() / batch[1].sum();
  };
  check_loss(subject);
}

TEST(VectorQuantizeTest, ProjectionLearnsAsInOneProcess) {
  LossSubject subject;
  subject.make = [] {
    VectorQuantize vq(Options(4, 6).codebook_dim(2).freeze_codebook(true));
    vq->to(at::kDouble);
    vq->codebook.copy_(normal_rows({6, 2}, 3));
    std::uint64_t seed = 10;
    for (at::Tensor parameter : vq->parameters()) {
      parameter.set_data(normal_rows(parameter.sizes(), ++seed));
    }
    return LossInstance{
        [vq](const std::vector<at::Tensor>& batch) mutable {
          return vq->forward(batch[0]).loss;
        },
        {{"weight", vq->project_in->weight}, {"bias", vq->project_in->bias}}};
  };
  subject.batch = {normal_rows({11, 4}, 2)};
  check_loss(subject);
  check_second_derivatives(subject);
}

/// The buffers after some steps, the losses, and the projections' gradients.
struct Trained {
  std::vector<at::Tensor> state;
  std::vector<double> losses;
};

struct Tokens {
  at::Tensor x;
  at::Tensor mask;
};

Trained train(const Options& options, const std::vector<Tokens>& steps,
              const std::function<at::Tensor(const at::Tensor&)>& part) {
  VectorQuantize vq(options);
  vq->to(at::kDouble);
  std::uint64_t seed = 20;
  for (at::Tensor parameter : vq->parameters()) {
    parameter.set_data(normal_rows(parameter.sizes(), ++seed));
  }
  if (!options.kmeans_init()) {
    vq->codebook.copy_(normal_rows(vq->codebook.sizes(), 3));
    vq->code_sums.copy_(vq->codebook);
  }
  Trained trained;
  for (const Tokens& step : steps) {
    const VectorQuantizeOutput output =
        vq->forward(part(step.x).clone().requires_grad_(),
                    step.mask.defined() ? part(step.mask) : at::Tensor());
    output.loss.backward();
    trained.losses.push_back(output.loss.item<double>());
  }
  sync::average_gradients(vq->parameters());
  for (const at::Tensor& buffer : vq->buffers()) {
    trained.state.push_back(buffer);
  }
  if (vq->project_in) {
    trained.state.push_back(vq->project_in->weight.grad());
    trained.state.push_back(vq->project_in->bias.grad());
  }
  return trained;
}

std::vector<Tokens> some_steps() {
  std::vector<Tokens> steps;
  for (std::uint64_t i = 0; i < 4; ++i) {
    steps.push_back({normal_rows({13, 2, 4}, 30 + i), {}});
    if (i % 2 == 1) {
      steps.back().mask =
          at::rand({13, 2}, at::detail::createCPUGenerator(i)).lt(0.5);
    }
  }
  // Nobody has any token.
  steps[3].mask = at::zeros({13}, at::kBool);
  // The last ones have none.
  steps.push_back({normal_rows({13, 2, 4}, 50), at::arange(13).lt(3)});
  return steps;
}

TEST(VectorQuantizeTest, StateIsThatOfOneProcess) {
  const std::vector<Tokens> steps = some_steps();
  std::vector<Tokens> late = steps;
  std::swap(late[0], late[3]);  // k-means has to wait for tokens
  const std::vector<std::pair<Options, std::vector<Tokens>>> cases = {
      {Options(4, 6), steps},
      {Options(4, 6).kmeans_init(true), steps},
      {Options(4, 6).kmeans_init(true).use_cosine_sim(true), late},
      {Options(4, 6).threshold_ema_dead_code(1.5), steps},
      {Options(4, 40).kmeans_init(true).threshold_ema_dead_code(2), late},
      {Options(4, 6).codebook_dim(3).kmeans_init(true).seed(5), steps},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& [options, batches] = cases[i];
    const Trained one =
        train(options, batches, [](const at::Tensor& all) { return all; });
    for (int ranks : {1, 2, 3, 5}) {
      // Even, and such that some have nothing.
      for (int way = 0; way < (ranks == 1 ? 1 : 3); ++way) {
        SCOPED_TRACE(c10::str("case ", i, ", ", ranks, " ranks, way ", way));
        run_thread_ranks(ranks, [&, &of = options, &all_steps = batches](
                                    const auto& communicator) {
          const auto begin_of = [&](int rank) {
            if (rank == 0) return 0;
            if (rank == ranks) return 13;
            return way == 0 ? 13 * rank / ranks : (way == 1 ? 13 : 0);
          };
          const int begin = begin_of(communicator->rank());
          const int end = begin_of(communicator->rank() + 1);
          const Trained mine = train(of, all_steps, [&](const at::Tensor& all) {
            return all.narrow(0, begin, end - begin);
          });
          ASSERT_EQ(mine.state.size(), one.state.size());
          for (std::size_t j = 0; j < one.state.size(); ++j) {
            EXPECT_TRUE(near(mine.state[j], one.state[j], {1e-10, 1e-10}))
                << "state " << j;
          }
          for (std::size_t j = 0; j < one.losses.size(); ++j) {
            EXPECT_NEAR(mine.losses[j], one.losses[j], 1e-10);
          }
        });
      }
    }
  }
}

TEST(VectorQuantizeTest, BuffersAreBitEqualOnAllRanks) {
  std::vector<at::Tensor> codebooks(3);
  run_thread_ranks(3, [&](const auto& communicator) {
    VectorQuantize vq(
        Options(4, 8).kmeans_init(true).threshold_ema_dead_code(1));
    for (std::uint64_t step = 0; step < 5; ++step) {
      vq->forward(normal_rows({7 - 3 * communicator->rank(), 4},
                              step * 3 + communicator->rank())
                      .to(at::kFloat));
    }
    codebooks[communicator->rank()] = vq->codebook;
  });
  EXPECT_TRUE(testkit::same_bits(codebooks[1], codebooks[0]));
  EXPECT_TRUE(testkit::same_bits(codebooks[2], codebooks[0]));
}

/// Numbers of 24 bits from 0 to 1 that no processor rounds.
at::Tensor exact_rows(at::IntArrayRef sizes, std::int64_t seed) {
  const std::int64_t count = c10::multiply_integers(sizes);
  return at::arange(count)
      .add(seed * count)
      .mul(7368787)
      .remainder(std::int64_t{1} << 24)
      .to(at::kFloat)
      .div(1 << 24)
      .view(sizes);
}

/// Of a float32 tensor's bits.
std::int64_t bits_sum(const at::Tensor& tensor) {
  const at::Tensor bits = tensor.flatten().view(at::kInt).to(at::kLong);
  return at::arange(1, bits.numel() + 1)
      .mul(bits)
      .remainder(1000003)
      .sum()
      .item<std::int64_t>();
}

TEST(VectorQuantizeTest, LearnsTheSameOnEveryProcessor) {
  for (const auto& [cosine, expected] :
       {std::pair(false, std::int64_t{372737998}),
        std::pair(true, std::int64_t{375966615})}) {
    VectorQuantize vq(Options(19, 40)
                          .kmeans_init(true)
                          .use_cosine_sim(cosine)
                          .threshold_ema_dead_code(0.9));
    for (std::int64_t step = 0; step < 5; ++step) {
      vq->forward(exact_rows({26, 19}, step));
    }
    EXPECT_EQ(bits_sum(vq->codebook), expected) << "cosine " << cosine;
  }
}

TEST(VectorQuantizeTest, ReplacesCodesThatNobodyUses) {
  VectorQuantize vq(Options(2, 4).threshold_ema_dead_code(0.9).decay(0.5));
  vq->codebook.copy_(
      at::tensor({0.0, 0.0, 50.0, 0.0, 60.0, 0.0, 70.0, 0.0}).view({4, 2}));
  vq->code_sums.copy_(vq->codebook);
  const at::Tensor x = at::rand({20, 2}, at::detail::createCPUGenerator(1));
  vq->forward(x);
  // Three tokens, and each of them once.
  for (std::int64_t i = 1; i < 4; ++i) {
    const at::Tensor same = x.eq(vq->codebook[i]).all(1);
    EXPECT_EQ(same.sum().item<std::int64_t>(), 1);
    EXPECT_NEAR(vq->code_counts[i].item<double>(), 0.9, 1e-6);
    EXPECT_FALSE(vq->codebook[i].equal(vq->codebook[i - 1]));
  }
}

THREAD_RANKS_TEST(VectorQuantizeTest, EvalLooksUpAndCommunicatesNothing, 2) {
  VectorQuantize vq(Options(6, 5).codebook_dim(3));
  vq->eval();
  const at::Tensor x = at::rand({2, 6, 3, 5});
  const VectorQuantizeOutput output = vq->forward(x);
  EXPECT_EQ(output.quantized.sizes(), x.sizes());
  EXPECT_EQ(output.indices.sizes(), at::IntArrayRef({2, 3, 5}));
  EXPECT_EQ(output.loss.item<double>(), 0);
  EXPECT_TRUE(near(vq->indices_to_codes(output.indices).detach(),
                   output.quantized.detach(), {1e-5, 1e-6}));
  const at::Tensor rows = at::rand({4, 3});
  EXPECT_TRUE(functional::vector_quantize(rows, vq->codebook, Options(3, 5), {},
                                          /*training=*/false)
                  .indices.equal(internal::nearest(rows, vq->codebook, false)));
  EXPECT_EQ(self.group()->collectives(), 0);
}

TEST(VectorQuantizeTest, MaskedTokensBecomeZero) {
  VectorQuantize vq(Options(3, 5));
  const at::Tensor x = at::rand({4, 3}).requires_grad_();
  const at::Tensor mask = at::arange(4).lt(1);
  const VectorQuantizeOutput output = vq->forward(x, mask);
  EXPECT_EQ(output.indices.narrow(0, 1, 3).max().item<std::int64_t>(), -1);
  EXPECT_EQ(output.quantized.narrow(0, 1, 3).abs().max().item<double>(), 0);
  (output.quantized.sum() + output.loss).backward();
  EXPECT_EQ(x.grad().narrow(0, 1, 3).abs().max().item<double>(), 0);
  EXPECT_GT(x.grad()[0].abs().max().item<double>(), 0);
}

TEST(VectorQuantizeTest, TakesEveryFloatingDtype) {
  for (at::ScalarType dtype : {at::kDouble, at::kHalf, at::kBFloat16}) {
    VectorQuantize vq(Options(3, 5).kmeans_init(true));
    const at::Tensor x = at::rand({7, 3}).to(dtype).set_requires_grad(true);
    const VectorQuantizeOutput output = vq->forward(x);
    EXPECT_EQ(output.quantized.scalar_type(), dtype);
    EXPECT_EQ(output.loss.scalar_type(),
              dtype == at::kDouble ? at::kDouble : at::kFloat);
    (output.quantized.sum() + output.loss).backward();
    EXPECT_EQ(x.grad().scalar_type(), dtype);
    EXPECT_EQ(vq->codebook.scalar_type(), at::kFloat);
  }
}

TEST(VectorQuantizeTest, ClonesAndPrints) {
  VectorQuantize vq(Options(3, 5).kmeans_init(true));
  vq->forward(at::rand({9, 3}));
  VectorQuantize copy(
      std::dynamic_pointer_cast<VectorQuantizeImpl>(vq->clone()));
  EXPECT_TRUE(testkit::same_bits(copy->codebook, vq->codebook));
  copy->forward(at::rand({9, 3}) + 1);
  EXPECT_FALSE(copy->codebook.equal(vq->codebook));
  EXPECT_EQ(copy->steps.item<std::int64_t>(), 2);
  EXPECT_EQ(vq->steps.item<std::int64_t>(), 1);
  EXPECT_THAT(c10::str(vq),
              ::testing::StartsWith("tally::losses::VectorQuantize(dim=3, "
                                    "codebook_size=5, codebook_dim=3, "));
}

TEST(VectorQuantizeTest, RefusesOptionsThatDoNotFit) {
  const auto refusal = [](const Options& options) {
    return refusal_of([&] { VectorQuantize vq(options); });
  };
  const std::string option = "VectorQuantize: option '";
  EXPECT_EQ(refusal(Options(0, 5)),
            option + "dim': expected at least 1, got 0");
  EXPECT_EQ(refusal(Options(3, 0)),
            option + "codebook_size': expected at least 1, got 0");
  EXPECT_EQ(refusal(Options(3, 5).codebook_dim(-1)),
            option + "codebook_dim': expected at least 0, got -1");
  EXPECT_EQ(refusal(Options(3, 5).kmeans_iters(0)),
            option + "kmeans_iters': expected at least 1, got 0");
  EXPECT_EQ(refusal(Options(3, 5).decay(1.5)),
            option + "decay': expected 0 to 1, got 1.5");
  EXPECT_EQ(refusal(Options(3, 5).eps(-1)).substr(0, 38),
            option + "eps': expected");
  VectorQuantize vq(Options(3, 5).kmeans_init(true));
  EXPECT_EQ(
      refusal_of([&] { vq->indices_to_codes(at::zeros({2})); }),
      "VectorQuantize: indices: expected int64 as forward() returns them, "
      "got Float [2]");
  vq->eval();
  EXPECT_EQ(refusal_of([&] {
              vq->forward(at::zeros({2, 3}));
            }),
            "VectorQuantize: expected a training step, of which k-means takes "
            "the codes, before eval()");
}

THREAD_RANKS_TEST(VectorQuantizeTest, TellsOtherRanksOfInputThatDoesNotFit, 2) {
  VectorQuantize vq(Options(3, 5).kmeans_init(true));
  const at::Tensor good = at::rand({4, 3}), codes = at::rand({5, 3});
  const std::vector<std::pair<std::function<void()>, std::string>> calls = {
      {[&] {
         vq->forward(at::rand({4, 2}));
       },
       "VectorQuantize: x: expected 3 channels in dimension 1, got sizes "
       "[4, 2]"},
      {[&] { vq->forward(good, at::zeros({4})); },
       "VectorQuantize: mask: expected dtype bool, got Float"},
      {[&] {
         functional::vector_quantize(good, at::rand({4, 3}), Options(3, 5));
       },
       "VectorQuantize: codebook: expected 5 rows, got sizes [4, 3]"}};
  for (const auto& [call, text] : calls) {
    if (self.rank() == 1) {
      EXPECT_EQ(refusal_of(call), text);
      continue;
    }
    try {
      vq->forward(good);
      ADD_FAILURE() << text;
    } catch (const sync::SyncError& error) {
      EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
    }
  }
  vq->forward(good);
  // Rank 1 has lost its codes.
  VectorQuantize fresh(Options(3, 5).kmeans_init(true));
  try {
    (self.rank() == 1 ? fresh : vq)->forward(good);
    ADD_FAILURE() << "no SyncError";
  } catch (const sync::SyncError& error) {
    EXPECT_EQ(error.code(), sync::SyncErrorCode::kMismatch);
  }
}

THREAD_RANKS_TEST(VectorQuantizeTest, RanksBeginWithTheSameCodes, 2) {
  VectorQuantize vq(Options(3, 5));
  vq->codebook.fill_(self.rank());
  const at::Tensor x = at::rand({4, 3});
  const auto forward = [&] { vq->forward(x); };
  EXPECT_THAT(refusal_of<sync::SyncError>(forward),
              HasSubstr("5 codes of size 3, of checksum "));
  sync::broadcast_parameters(vq->buffers());
  forward();
  if (self.rank() == 1) vq->steps.add_(1);
  EXPECT_THAT(refusal_of<sync::SyncError>(forward),
              HasSubstr("5 codes of size 3, after 2 steps"));
}

}  // namespace
}  // namespace tally::losses
