// Contrastive losses where float32 is not enough to compute them naively,
// beside their formulas in wider numbers: see tests/reference/README.md.

#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tally/losses/contrastive/clip_loss.h"
#include "tally/losses/contrastive/nt_xent_loss.h"
#include "tally/losses/contrastive/sig_lip_loss.h"
#include "tally/losses/contrastive/sup_con_loss.h"
#include "tally/tests/losses/autocast.h"
#include "tally/tests/losses/fixture_options.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally::losses {
namespace {

using testkit::Autocast;
using testkit::FixtureCase;
using testkit::FixtureOptions;
using testkit::normal_rows;
using testkit::unit_rows;
using Tensors = std::vector<at::Tensor>;

/// A loss of a case's inputs and of the numbers in its options.
struct Way {
  const char* name;
  std::function<at::Tensor(const Tensors& inputs, const FixtureOptions&,
                           const Tensors& numbers)>
      loss;
};

struct Subject {
  const char* fixture;
  std::vector<std::string> numbers;    ///< that have gradients
  std::vector<std::string> gradients;  ///< of inputs, then of numbers
  std::vector<Way> ways;
};

Way clip(const char* name, const ClipLossOptions& options) {
  return {name, [=](const Tensors& in, const FixtureOptions&,
                    const Tensors& numbers) {
            return functional::clip_loss(in[0], in[1], numbers[0], {}, options);
          }};
}
Way sig_lip(const char* name, SigLipExchange exchange) {
  return {
      name,
      [=](const Tensors& in, const FixtureOptions&, const Tensors& numbers) {
        return functional::sig_lip_loss(in[0], in[1], numbers[0], numbers[1],
                                        SigLipLossOptions().exchange(exchange));
      }};
}
Way nt_xent(const char* name, const NTXentLossOptions& options) {
  return {name,
          [=](const Tensors& in, const FixtureOptions& texts, const Tensors&) {
            return functional::nt_xent_loss(
                in[0], in[1],
                NTXentLossOptions(options).temperature(
                    texts.number("temperature", 0)));
          }};
}
Way sup_con(const char* name, const SupConLossOptions& options) {
  return {name,
          [=](const Tensors& in, const FixtureOptions& texts, const Tensors&) {
            return functional::sup_con_loss(
                in[0], in[1],
                SupConLossOptions(options).temperature(
                    texts.number("temperature", 0)));
          }};
}

constexpr std::int64_t kEnough = 1 << 20;

/// In tiles, in tiles that are kept, and by LibTorch's functions.
template <class Options, class MakeWay>
std::vector<Way> ways_of(const MakeWay& make) {
  return {
      make("tiled", Options()),
      make("kept", Options().logits_budget_bytes(kEnough)),
      make("gathered", Options().pairwise_logits(PairwiseLogits::kGathered))};
}

std::vector<Subject> subjects() {
  return {
      {"ClipLoss.exact",
       {"scale"},
       {"image_grad", "text_grad", "scale_grad"},
       ways_of<ClipLossOptions>(clip)},
      {"SigLipLoss.exact",
       {"scale", "bias"},
       {"image_grad", "text_grad", "scale_grad", "bias_grad"},
       {sig_lip("tiled", SigLipExchange::kTiledRing),
        sig_lip("bidirectional", SigLipExchange::kBidirectional),
        sig_lip("shift", SigLipExchange::kShift),
        sig_lip("reduce", SigLipExchange::kReduce),
        sig_lip("gather", SigLipExchange::kGather)}},
      {"NTXentLoss.exact",
       {},
       {"grad_0", "grad_1"},
       ways_of<NTXentLossOptions>(nt_xent)},
      {"SupConLoss.exact",
       {},
       {"features_grad"},
       ways_of<SupConLossOptions>(sup_con)},
  };
}

/// The loss, then the gradients.
Tensors evaluate(const Subject& subject, const Way& way,
                 const FixtureCase& fixture, at::ScalarType dtype) {
  const FixtureOptions texts(fixture.options);
  Tensors inputs, numbers, leaves;
  for (const at::Tensor& input : testkit::tensors_of(fixture)) {
    if (!input.is_floating_point()) {
      inputs.push_back(input);
      continue;
    }
    inputs.push_back(input.to(dtype, /*non_blocking=*/false, /*copy=*/true)
                         .requires_grad_());
    leaves.push_back(inputs.back());
  }
  for (const std::string& name : subject.numbers) {
    numbers.push_back(testkit::learned(texts.number(name, 0)));
    leaves.push_back(numbers.back());
  }
  const at::Tensor loss = way.loss(inputs, texts, numbers);
  loss.backward();
  Tensors result = {loss.detach()};
  for (const at::Tensor& leaf : leaves) result.push_back(leaf.grad());
  return result;
}

/// Relative to the expected norm; absolute if that is 0.
double error(const at::Tensor& actual, const at::Tensor& expected) {
  const double size = expected.norm().item<double>();
  const double off = actual.to(at::kDouble).sub(expected).norm().item<double>();
  return size > 0 ? off / size : off;
}

std::vector<double> errors(const Subject& subject, const Way& way,
                           const FixtureCase& fixture, at::ScalarType dtype) {
  const Tensors actual = evaluate(subject, way, fixture, dtype);
  std::vector<double> result = {error(actual[0], fixture.expected.at(""))};
  for (std::size_t i = 0; i < subject.gradients.size(); ++i) {
    result.push_back(
        error(actual[i + 1], fixture.expected.at(subject.gradients[i])));
  }
  return result;
}

bool in_tiles(const Way& way) {
  return way.name == std::string("tiled") || way.name == std::string("kept");
}

// Both in float64 and in float32, whose products alone decide how exact.
TEST(ContrastivePrecisionTest, IsThatOfWiderNumbersInTiles) {
  for (const Subject& subject : subjects()) {
    for (const FixtureCase& fixture : testkit::read_fixture(subject.fixture)) {
      for (const Way& way : subject.ways) {
        if (!in_tiles(way)) continue;
        testkit::for_each_vector_target([&] {
          SCOPED_TRACE(
              c10::str(subject.fixture, ", ", fixture.name, ", ", way.name));
          for (const double off : errors(subject, way, fixture, at::kDouble)) {
            EXPECT_LE(off, fixture.rtol);
          }
          const double limit =
              FixtureOptions(fixture.options).number("rtol_float32", 0);
          for (const double off : errors(subject, way, fixture, at::kFloat)) {
            EXPECT_LE(off, limit);
          }
        });
      }
    }
  }
}

TEST(ContrastivePrecisionTest, TilesAreAsExactAsLibTorchsFunctions) {
  // Sums in an order that no library has round more, each in its own way.
  const double times = std::getenv("TALLY_SUM_ORDER") != nullptr ? 2 : 1;
  for (const Subject& subject : subjects()) {
    const Way& other = subject.ways.back();
    for (const FixtureCase& fixture : testkit::read_fixture(subject.fixture)) {
      for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
        SCOPED_TRACE(
            c10::str(subject.fixture, ", ", fixture.name, ", ", dtype));
        if (dtype == at::kFloat &&
            FixtureOptions(fixture.options).number("rtol_float32", 0) > 1e-2) {
          continue;  // the rounding of products is all there is
        }
        const double few = dtype == at::kFloat
                               ? 8 * std::numeric_limits<float>::epsilon()
                               : 8 * std::numeric_limits<double>::epsilon();
        const auto theirs = errors(subject, other, fixture, dtype);
        const auto ours = errors(subject, subject.ways[0], fixture, dtype);
        for (std::size_t i = 0; i < ours.size(); ++i) {
          EXPECT_LE(ours[i], times * theirs[i] + few) << i;
        }
      }
    }
  }
}

// Values beyond softplus's threshold, of which gradients tell nothing.
TEST(ContrastivePrecisionTest, SigLipIsExactHoweverTextsAreExchanged) {
  const Subject subject = subjects()[1];
  for (const FixtureCase& fixture : testkit::read_fixture(subject.fixture)) {
    for (const Way& way : subject.ways) {
      SCOPED_TRACE(c10::str(fixture.name, ", ", way.name));
      EXPECT_LE(errors(subject, way, fixture, at::kDouble)[0], fixture.rtol);
    }
  }
}

/// Every loss, every way, of rows as they are.
std::vector<std::pair<std::string, std::function<at::Tensor(
                                       const at::Tensor&, const at::Tensor&)>>>
all_losses() {
  std::vector<std::pair<
      std::string,
      std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>>>
      result;
  const testkit::OptionTexts temperature = {{"temperature", "0.3"}};
  for (const Subject& subject : subjects()) {
    const bool labeled = subject.fixture == std::string("SupConLoss.exact");
    for (const Way& way : subject.ways) {
      result.emplace_back(c10::str(subject.fixture, ", ", way.name),
                          [=](const at::Tensor& a, const at::Tensor& b) {
                            const Tensors numbers = {at::scalar_tensor(1e-3),
                                                     at::scalar_tensor(-0.5)};
                            const at::Tensor labels =
                                at::arange(a.size(0), at::kLong).remainder(3);
                            return way.loss({a, labeled ? labels : b},
                                            FixtureOptions(temperature),
                                            numbers);
                          });
    }
  }
  result.emplace_back(
      "memory bank", [](const at::Tensor& a, const at::Tensor& b) {
        NTXentLoss loss(
            NTXentLossOptions().memory_bank_size(4).memory_bank_dim(a.size(1)));
        loss->to(at::kDouble);
        return loss->forward(a, b);
      });
  return result;
}

struct Gradients {
  at::Tensor loss, a;
};
template <class Loss>
Gradients gradients_of(const Loss& loss, const at::Tensor& a,
                       const at::Tensor& b) {
  const at::Tensor leaf = a.detach().clone().requires_grad_();
  const at::Tensor value = loss(leaf, b);
  value.backward();
  return {value.detach(), leaf.grad()};
}

// Their products are beyond what float16 holds.
TEST(ContrastivePrecisionTest, ComputesInFloat32AtLeast) {
  const at::Tensor a = unit_rows({12, 16}, 1).mul(300);
  const at::Tensor b = unit_rows({12, 16}, 2).mul(300);
  for (const auto& [name, loss] : all_losses()) {
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
      SCOPED_TRACE(c10::str(name, ", ", dtype));
      const at::Tensor narrow_a = a.to(dtype), narrow_b = b.to(dtype);
      const Gradients narrow = gradients_of(loss, narrow_a, narrow_b);
      // Of such products float64 has other differences.
      const Gradients wide =
          gradients_of(loss, narrow_a.to(at::kFloat), narrow_b.to(at::kFloat));
      EXPECT_TRUE(wide.a.isfinite().all().item<bool>());
      EXPECT_EQ(narrow.loss.scalar_type(), at::kFloat);
      EXPECT_EQ(narrow.a.scalar_type(), dtype);
      EXPECT_LE(error(narrow.loss, wide.loss), 1e-5);
      EXPECT_LE(error(narrow.a, wide.a), dtype == at::kHalf ? 1e-3 : 4e-3);
    }
  }
}

TEST(ContrastivePrecisionTest, AutocastChangesNothing) {
  const at::Tensor a = normal_rows({12, 16}, 1).to(at::kFloat);
  const at::Tensor b = normal_rows({12, 16}, 2).to(at::kFloat);
  for (const auto& [name, loss] : all_losses()) {
    SCOPED_TRACE(name);
    const Gradients plain = gradients_of(loss, a, b);
    const at::Tensor leaf = a.clone().requires_grad_();
    at::Tensor value;
    {
      const Autocast autocast;
      ASSERT_EQ(a.matmul(b.t()).scalar_type(), at::kBFloat16);
      value = loss(leaf, b);
    }
    value.backward();
    EXPECT_TRUE(value.detach().equal(plain.loss));
    EXPECT_TRUE(leaf.grad().equal(plain.a));
  }
  const Autocast autocast;
  EXPECT_EQ(
      functional::clip_logits(a, b, at::scalar_tensor(1.0)).per_text.dtype(),
      at::kFloat);
}

TEST(ContrastivePrecisionTest, WithoutRowsTheLossIsZero) {
  testkit::run_thread_ranks(2, [](const std::shared_ptr<sync::Communicator>&) {
    const at::Tensor none = at::zeros({0, 3}, at::kDouble);
    for (const auto& [name, loss] : all_losses()) {
      SCOPED_TRACE(name);
      const Gradients empty = gradients_of(loss, none, none);
      EXPECT_EQ(empty.loss.item<double>(), 0);
      EXPECT_EQ(empty.a.numel(), 0);
    }
    for (const PairwiseLogits pairwise_logits :
         {PairwiseLogits::kTiled, PairwiseLogits::kGathered}) {
      const at::Tensor scale = testkit::learned(2);
      functional::clip_loss(none, none, scale, {},
                            ClipLossOptions().pairwise_logits(pairwise_logits))
          .backward();
      EXPECT_EQ(scale.grad().item<double>(), 0);
    }
    for (const SigLipExchange exchange :
         {SigLipExchange::kTiledRing, SigLipExchange::kShift}) {
      const at::Tensor scale = testkit::learned(2);
      const at::Tensor bias = testkit::learned(-1);
      functional::sig_lip_loss(none, none, scale, bias,
                               SigLipLossOptions().exchange(exchange))
          .backward();
      EXPECT_EQ(scale.grad().item<double>(), 0);
      EXPECT_EQ(bias.grad().item<double>(), 0);
    }
  });
}

}  // namespace
}  // namespace tally::losses
