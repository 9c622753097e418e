#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/logspace.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tally/losses/pairs/barlow_twins_loss.h"
#include "tally/losses/pairs/coca_loss.h"
#include "tally/losses/pairs/dcl_loss.h"
#include "tally/losses/pairs/distill_clip_loss.h"
#include "tally/losses/pairs/vicreg_loss.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/autocast.h"
#include "tally/tests/losses/loss_harness.h"

// Second derivatives, precision and the lack of rows, of all losses of the
// folder alike.
namespace tally::losses {
namespace {

using testkit::Autocast;
using testkit::check_second_derivatives;
using testkit::learned;
using testkit::LossSubject;
using testkit::near;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Tensors = std::vector<at::Tensor>;
using Loss = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

struct Named {
  const char* name;
  Loss loss;
};

at::Tensor unit(const at::Tensor& rows) {
  return rows / rows.norm(2, {1}, /*keepdim=*/true);
}

/// ClipLoss with gradients of gradients.
ClipLossOptions gathered() {
  return ClipLossOptions().pairwise_logits(PairwiseLogits::kGathered);
}

/// Of the views' features; DistillClipLoss's and CoCaLoss's other inputs are
/// made of them, row by row.
std::vector<Named> losses() {
  return {
      {"DCLLoss",
       [](const auto& a, const auto& b) { return functional::dcl_loss(a, b); }},
      {"DCLLoss, weighted",
       [](const auto& a, const auto& b) {
         const PairWeights weights = [](const auto& x, const auto& y) {
           return (x - 2 * y).square().sum(1);
         };
         return functional::dcl_loss(a, b, DCLLossOptions().weight_fn(weights));
       }},
      {"DCLWLoss", [](const auto& a,
                      const auto& b) { return functional::dclw_loss(a, b); }},
      {"BarlowTwinsLoss",
       [](const auto& a, const auto& b) {
         return functional::barlow_twins_loss(
             a, b, BarlowTwinsLossOptions().lambda(0.1));
       }},
      {"VICRegLoss",
       [](const auto& a, const auto& b) {
         return functional::vicreg_loss(a, b);
       }},
      {"VICRegLoss, positions",
       [](const auto& a, const auto& b) {
         return functional::vicreg_loss(a.unflatten(1, {2, 2}),
                                        b.unflatten(1, {2, 2}));
       }},
      {"DistillClipLoss",
       [](const auto& a, const auto& b) {
         const DistillClipLosses both = functional::distill_clip_loss(
             unit(a), unit(b), learned(4), a.flip(1).sin(), b.flip(1).sin(),
             learned(2), DistillClipLossOptions().clip(gathered()));
         return both.contrastive + both.distill;
       }},
      {"CoCaLoss",
       [](const auto& a, const auto& b) {
         const CoCaLosses both = functional::coca_loss(
             a, b, at::cat({a, b}, 1).unsqueeze(1), a.detach().argmax(1, true),
             learned(0.5), CoCaLossOptions(2, 3).pad_id(3).clip(gathered()));
         return both.contrastive + both.caption;
       }},
  };
}

const Loss& loss_named(const std::vector<Named>& all, const std::string& name) {
  for (const Named& named : all) {
    if (named.name == name) return named.loss;
  }
  TORCH_CHECK(false, name);
}

LossSubject subject_of(const Loss& loss) {
  return testkit::two_views_through_a_layer(loss, 6, 3);
}

using Reference =
    std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

at::Tensor barlow(const at::Tensor& a, const at::Tensor& b) {
  const auto standard = [](const at::Tensor& x) {
    const at::Tensor centered = x - x.mean(0);
    return centered / (centered.square().mean(0) + 1e-5).sqrt();
  };
  const at::Tensor c =
      standard(a).t().matmul(standard(b)) / static_cast<double>(a.size(0));
  const at::Tensor same = at::eye(a.size(1), at::kDouble);
  return (c.diagonal() - 1).square().sum() +
         0.1 * (c * (1 - same)).square().sum();
}

at::Tensor vicreg(const at::Tensor& a, const at::Tensor& b) {
  const auto terms = [](const at::Tensor& x) {
    const at::Tensor centered = x - x.mean(0);
    const at::Tensor cov =
        centered.t().matmul(centered) / static_cast<double>(x.size(0) - 1);
    const at::Tensor same = at::eye(x.size(1), at::kDouble);
    return 12.5 * (1 - (cov.diagonal() + 1e-4).sqrt()).relu().mean() +
           (cov * (1 - same)).square().sum() / static_cast<double>(x.size(1));
  };
  return 25 * (a - b).square().mean() + terms(a) + terms(b);
}

/// The weights' graph is cut by definition.
at::Tensor dclw(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor a = unit(x), b = unit(y), all = at::cat({a, b});
  const at::Tensor same = at::eye(a.size(0), at::kBool);
  const at::Tensor skip =
      at::cat({at::cat({same, same}, 1), at::cat({same, same}, 1)});
  const at::Tensor alike = (a * b).sum(1);
  const at::Tensor weights =
      2 - (alike.detach() / 0.5).softmax(0) * static_cast<double>(a.size(0));
  return (all.matmul(all.t()).div(0.1).masked_fill(skip, -1e300).logsumexp(1) -
          at::cat({alike * weights, alike * weights}) / 0.1)
      .mean();
}

at::Tensor distill(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor student = 4 * unit(x).matmul(unit(y).t());
  const at::Tensor teacher =
      (2 * x.flip(1).sin().matmul(y.flip(1).sin().t())).detach();
  const auto side = [&](std::int64_t dim) {
    const at::Tensor logs = student.log_softmax(dim);
    return ((teacher.softmax(dim) * logs).sum() + logs.diagonal().sum()) /
           (-2.0 * static_cast<double>(x.size(0)));
  };
  return side(0) + side(1);
}

TEST(PairsDerivativesTest, GradientsOfGradientsAreExact) {
  const std::vector<std::pair<std::string, Reference>> references = {
      {"BarlowTwinsLoss", barlow},
      {"VICRegLoss", vicreg},
      {"DCLWLoss", dclw},
      {"DistillClipLoss", distill}};
  for (const Named& named : losses()) {
    SCOPED_TRACE(named.name);
    LossSubject subject = subject_of(named.loss);
    for (const auto& [name, reference] : references) {
      if (name != named.name) continue;
      subject.reference = [reference = reference](const Tensors& batch,
                                                  const Tensors& parameters) {
        return reference(batch[0].matmul(parameters[0]),
                         batch[1].matmul(parameters[0]));
      };
    }
    // Whose weights and teacher have no gradient on purpose.
    subject.numerical = named.name != std::string("DCLWLoss") &&
                        named.name != std::string("DistillClipLoss");
    check_second_derivatives(subject);
  }
}

/// Value and both gradients, in float64.
Tensors evaluated(const Loss& loss, const at::Tensor& a, const at::Tensor& b) {
  const Tensors leaves = {a.detach().clone().requires_grad_(),
                          b.detach().clone().requires_grad_()};
  const at::Tensor value = loss(leaves[0], leaves[1]);
  value.backward();
  return {value.detach().to(at::kDouble), leaves[0].grad().to(at::kDouble),
          leaves[1].grad().to(at::kDouble)};
}

void expect_near(const Tensors& actual, const Tensors& expected,
                 double tolerance) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double size = expected[i].abs().max().item<double>();
    EXPECT_TRUE(near(actual[i], expected[i], {tolerance, tolerance * size}))
        << i << ": off by "
        << (actual[i] - expected[i]).abs().max().item<double>() / size;
  }
}

// Means in float32 are off by 5e-4 there.
TEST(PairsDerivativesTest, FeaturesFarFromZeroLoseNothing) {
  const at::Tensor a = normal_rows({40, 4}, 1), b = normal_rows({40, 4}, 2);
  const auto all = losses();
  for (const char* name : {"BarlowTwinsLoss", "VICRegLoss"}) {
    SCOPED_TRACE(name);
    const Loss& loss = loss_named(all, name);
    expect_near(evaluated(loss, a + 1e4, b + 1e4), evaluated(loss, a, b),
                1e-10);
    const at::Tensor x = (a + 1e4).to(at::kFloat);
    const at::Tensor y = (b + 1e4).to(at::kFloat);
    expect_near(evaluated(loss, x, y),
                evaluated(loss, x.to(at::kDouble), y.to(at::kDouble)), 2e-6);
  }
}

TEST(PairsDerivativesTest, RowsOfAnyLengthAreAsExact) {
  const at::Tensor lengths =
      at::logspace(-6, 3, 20, 10, at::kDouble).unsqueeze(1);
  const at::Tensor a = normal_rows({20, 4}, 1), b = normal_rows({20, 4}, 2);
  const auto all = losses();
  for (const char* name : {"DCLLoss", "DCLWLoss", "DistillClipLoss"}) {
    SCOPED_TRACE(name);
    const auto scaled = [&](at::ScalarType dtype) {
      Tensors result = evaluated(loss_named(all, name), (a * lengths).to(dtype),
                                 (b * lengths.flip(0)).to(dtype));
      // By the rows' directions.
      result[1] = result[1] * lengths;
      result[2] = result[2] * lengths.flip(0);
      return result;
    };
    expect_near(scaled(at::kFloat), scaled(at::kDouble), 1e-5);
  }
}

TEST(PairsDerivativesTest, AutocastChangesNothing) {
  const at::Tensor a = normal_rows({9, 4}, 1).to(at::kFloat);
  const at::Tensor b = normal_rows({9, 4}, 2).to(at::kFloat);
  for (const Named& named : losses()) {
    SCOPED_TRACE(named.name);
    const Tensors expected = evaluated(named.loss, a, b);
    const Tensors leaves = {a.clone().requires_grad_(),
                            b.clone().requires_grad_()};
    const at::Tensor loss = [&] {
      const Autocast on;
      return named.loss(leaves[0], leaves[1]);
    }();
    EXPECT_EQ(loss.scalar_type(), at::kFloat);
    loss.backward();
    expect_near(
        {loss.detach().to(at::kDouble), leaves[0].grad().to(at::kDouble),
         leaves[1].grad().to(at::kDouble)},
        expected, 0);
  }
}

// Squares of such rows, 9e4, are beyond float16.
TEST(PairsDerivativesTest, LongRowsOfNarrowDtypesStayFinite) {
  const at::Tensor a = unit(normal_rows({9, 4}, 1)) * 300;
  const at::Tensor b = unit(normal_rows({9, 4}, 2)) * 300;
  for (const Named& named : losses()) {
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
      SCOPED_TRACE(c10::str(named.name, ' ', dtype));
      const Loss loss = [&](const at::Tensor& x, const at::Tensor& y) {
        if (named.name == std::string("DistillClipLoss")) {
          // In place of rows of length 1.
          return functional::distill_clip_loss(x, y, learned(1e-4), y, x,
                                               learned(1e-4))
              .distill;
        }
        // Gradients of VICRegLoss are beyond float16 by themselves.
        const bool vicreg = std::string(named.name).find("VICReg") == 0;
        return vicreg ? named.loss(x, y) * 0.01 : named.loss(x, y);
      };
      const at::Tensor x = a.to(dtype), y = b.to(dtype);
      const Tensors exact =
          evaluated(loss, x.to(at::kDouble), y.to(at::kDouble));
      const Tensors narrow = evaluated(loss, x, y);
      EXPECT_TRUE(near(narrow[0], exact[0], {1e-5, 1e-5}));
      const double ulp = dtype == at::kHalf ? 1e-3 : 8e-3;
      for (const int i : {1, 2}) {
        EXPECT_TRUE(narrow[i].isfinite().all().item<bool>());
        EXPECT_TRUE(near(narrow[i], exact[i], {ulp, 1e-3}));
      }
    }
  }
}

TEST(PairsDerivativesTest, WithoutRowsTheLossIsZero) {
  for (const Named& named : losses()) {
    for (const int ranks : {1, 3}) {
      SCOPED_TRACE(c10::str(named.name, ", ", ranks, " ranks"));
      run_thread_ranks(ranks, [&](const auto&) {
        const at::Tensor weight = normal_rows({5, 4}, 3).requires_grad_();
        const at::Tensor rows = at::zeros({0, 5}, at::kDouble);
        const at::Tensor loss =
            named.loss(rows.matmul(weight), rows.matmul(weight));
        EXPECT_EQ(loss.scalar_type(), at::kDouble);
        EXPECT_EQ(loss.item<double>(), 0);
        loss.backward();
        EXPECT_TRUE(weight.grad().equal(at::zeros_like(weight)));
        const at::NoGradGuard no_grad;
        EXPECT_FALSE(named.loss(rows.matmul(weight), rows.matmul(weight))
                         .requires_grad());
      });
    }
  }
}

}  // namespace
}  // namespace tally::losses
