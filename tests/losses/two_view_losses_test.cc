#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <string>
#include <vector>

#include "tally/losses/common/row_pieces.h"
#include "tally/losses/pairs/barlow_twins_loss.h"
#include "tally/losses/pairs/dcl_loss.h"
#include "tally/losses/pairs/vicreg_loss.h"
#include "tally/sync/average_gradients.h"
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
using testkit::FixtureOptions;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::near;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Tensors = std::vector<at::Tensor>;
using Loss = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

struct Named {
  const char* name;
  /// From a fixture's options.
  std::function<Loss(const FixtureOptions&)> make;
};

std::vector<Named> losses() {
  return {
      {"DCLLoss",
       [](const FixtureOptions& of) -> Loss {
         DCLLoss loss(
             DCLLossOptions().temperature(of.number("temperature", 0.1)));
         return [loss](const auto& a, const auto& b) mutable {
           return loss->forward(a, b);
         };
       }},
      {"DCLWLoss",
       [](const FixtureOptions& of) -> Loss {
         DCLWLoss loss(DCLWLossOptions()
                           .temperature(of.number("temperature", 0.1))
                           .sigma(of.number("sigma", 0.5)));
         return [loss](const auto& a, const auto& b) mutable {
           return loss->forward(a, b);
         };
       }},
      {"BarlowTwinsLoss",
       [](const FixtureOptions& of) -> Loss {
         BarlowTwinsLoss loss(
             BarlowTwinsLossOptions().lambda(of.number("lambda", 5e-3)));
         return [loss](const auto& a, const auto& b) mutable {
           return loss->forward(a, b);
         };
       }},
      {"VICRegLoss",
       [](const FixtureOptions& of) -> Loss {
         VICRegLoss loss(VICRegLossOptions()
                             .lambda(of.number("lambda", 25))
                             .mu(of.number("mu", 25))
                             .nu(of.number("nu", 1))
                             .eps(of.number("eps", 1e-4)));
         return [loss](const auto& a, const auto& b) mutable {
           return loss->forward(a, b);
         };
       }},
  };
}

Loss default_loss(const Named& named) { return named.make(FixtureOptions({})); }

TEST(TwoViewLossesTest, GiveWhatLightlyDoes) {
  for (const Named& named : losses()) {
    for (const auto& fixture :
         testkit::read_fixture(std::string("peers/") + named.name)) {
      SCOPED_TRACE(std::string(named.name) + ", " + fixture.name);
      const std::vector<at::Tensor> inputs = testkit::tensors_of(fixture);
      at::Tensor a = inputs[0], b = inputs[1];
      a.requires_grad_();
      b.requires_grad_();
      const at::Tensor value =
          named.make(FixtureOptions(fixture.options))(a, b);
      value.backward();
      const testkit::Tolerance tolerance{fixture.rtol, fixture.atol};
      EXPECT_TRUE(near(value.detach(), fixture.expected.at(""), tolerance));
      EXPECT_TRUE(near(a.grad(), fixture.expected.at("grad_0"), tolerance));
      EXPECT_TRUE(near(b.grad(), fixture.expected.at("grad_1"), tolerance));
    }
  }
}

LossSubject subject_of(const Loss& loss) {
  return testkit::two_views_through_a_layer(loss, 11, 5);
}

TEST(TwoViewLossesTest, AreThoseOfTheGlobalBatch) {
  for (const Named& named : losses()) {
    SCOPED_TRACE(named.name);
    LossSubject subject = subject_of(default_loss(named));
    // The weights' gradient is cut on purpose.
    subject.numerical = named.name != std::string("DCLWLoss");
    check_loss(subject);
  }
}

at::Tensor unit(const at::Tensor& rows) {
  return rows / rows.norm(2, {1}, /*keepdim=*/true);
}

at::Tensor dcl_by_definition(const Tensors& batch, const Tensors& parameters) {
  const at::Tensor a = unit(batch[0].matmul(parameters[0]));
  const at::Tensor b = unit(batch[1].matmul(parameters[0]));
  const at::Tensor all = at::cat({a, b});
  const at::Tensor same = at::eye(a.size(0), at::kBool);
  const at::Tensor skip =
      at::cat({at::cat({same, same}, 1), at::cat({same, same}, 1)});
  const at::Tensor logits = all.matmul(all.t()) / 0.1;
  const at::Tensor alike = (a * b).sum(1) / 0.1;
  return (logits.masked_fill(skip, -1e300).logsumexp(1) -
          at::cat({alike, alike}))
      .mean();
}

TEST(TwoViewLossesTest, DclIsItsDefinition) {
  LossSubject subject = subject_of(default_loss(losses()[0]));
  subject.reference = dcl_by_definition;
  check_loss(subject);
}

TEST(TwoViewLossesTest, DclTakesWeights) {
  const PairWeights weights = [](const at::Tensor& a, const at::Tensor& b) {
    return (a - 2 * b).square().sum(1);
  };
  check_loss(subject_of([weights](const auto& a, const auto& b) {
    return functional::dcl_loss(a, b, DCLLossOptions().weight_fn(weights));
  }));
}

TEST(TwoViewLossesTest, VicregTakesPositions) {
  LossSubject subject;
  subject.make = [] {
    return LossInstance{[](const Tensors& batch) {
                          return functional::vicreg_loss(batch[0], batch[1]);
                        },
                        {}};
  };
  subject.batch = {normal_rows({9, 2, 3, 4}, 1), normal_rows({9, 2, 3, 4}, 2)};
  check_loss(subject);
}

// lightly compares training over ranks with parameters of one process, too.
TEST(TwoViewLossesTest, TrainALinearLayerAsInOneProcess) {
  const at::Tensor x = normal_rows({8, 4}, 5), y = normal_rows({8, 4}, 6);
  for (const Named& named : losses()) {
    SCOPED_TRACE(named.name);
    const auto trained = [&](std::int64_t first, std::int64_t count) {
      const Loss loss = default_loss(named);
      at::Tensor weight = normal_rows({4, 3}, 7).requires_grad_();
      for (int step = 0; step < 10; ++step) {
        loss(x.narrow(0, first, count).matmul(weight),
             y.narrow(0, first, count).matmul(weight))
            .backward();
        sync::average_gradients({weight});
        weight.set_data(weight.detach() - 0.01 * weight.grad());
        weight.mutable_grad() = at::Tensor();
      }
      return weight.detach();
    };
    const at::Tensor one = trained(0, 8);
    run_thread_ranks(3, [&](const auto& communicator) {
      const std::int64_t begins[] = {0, 1, 6, 8};
      const int rank = communicator->rank();
      EXPECT_TRUE(near(trained(begins[rank], begins[rank + 1] - begins[rank]),
                       one, {1e-9, 1e-9}));
    });
  }
}

TEST(TwoViewLossesTest, EveryRankGetsTheLoss) {
  const at::Tensor a = normal_rows({7, 3}, 1), b = normal_rows({7, 3}, 2);
  for (const Named& named : losses()) {
    const double whole = default_loss(named)(a, b).item<double>();
    run_thread_ranks(2, [&](const auto& communicator) {
      const int first = communicator->rank() * 5;
      const at::Tensor mine = default_loss(named)(a.slice(0, first, first + 5),
                                                  b.slice(0, first, first + 5));
      EXPECT_NEAR(mine.template item<double>(), whole, 1e-12 * whole);
    });
  }
}

TEST(TwoViewLossesTest, TakeEveryFloatingDtype) {
  const at::Tensor a = normal_rows({9, 4}, 1), b = normal_rows({9, 4}, 2);
  for (const Named& named : losses()) {
    for (at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
      SCOPED_TRACE(c10::str(named.name, ' ', dtype));
      const Loss loss = default_loss(named);
      const at::Tensor narrow = a.to(dtype).requires_grad_();
      const at::Tensor value = loss(narrow, b.to(dtype));
      EXPECT_EQ(value.scalar_type(), at::kFloat);
      const at::Tensor exact =
          loss(narrow.detach().to(at::kDouble), b.to(dtype).to(at::kDouble));
      EXPECT_TRUE(near(value.detach(), exact, {1e-5, 1e-5}));
      value.backward();
      EXPECT_EQ(narrow.grad().scalar_type(), dtype);
      EXPECT_TRUE(narrow.grad().isfinite().all().item<bool>());
    }
  }
}

TEST(TwoViewLossesTest, PiecesDoNotShow) {
  const at::Tensor rows = normal_rows({7, 3}, 1), all = normal_rows({5, 3}, 2);
  const internal::PieceFunction function = [](const Tensors& by_row,
                                              const Tensors& shared) {
    return by_row[0].matmul(shared[0].t()).logsumexp(1).square().sum();
  };
  const auto gradients = [&](std::int64_t at_once) {
    Tensors inputs = {rows.clone().requires_grad_(),
                      all.clone().requires_grad_()};
    const at::Tensor sum =
        internal::sum_over_pieces({inputs[0]}, {inputs[1]}, at_once, function);
    const Tensors first =
        torch::autograd::grad({sum.square()}, inputs, {}, true, true);
    const Tensors second = torch::autograd::grad(
        {first[0].square().sum() + first[1].square().sum()}, inputs);
    return at::cat({sum.detach().reshape({1}), first[0].detach().flatten(),
                    first[1].detach().flatten(), second[0].flatten(),
                    second[1].flatten()});
  };
  EXPECT_TRUE(near(gradients(2), gradients(100), {1e-11, 1e-11}));
  // One that needs no gradient, and no rows.
  const at::Tensor shared = all.clone().requires_grad_();
  const at::Tensor sum =
      internal::sum_over_pieces({rows.narrow(0, 0, 0)}, {shared}, 2, function);
  EXPECT_EQ(sum.item<double>(), 0);
  sum.backward();
  EXPECT_EQ(shared.grad().abs().max().item<double>(), 0);
}

TEST(TwoViewLossesTest, RefuseOptionsThatDoNotFit) {
  EXPECT_EQ(refusal_of([] { DCLLoss loss(DCLLossOptions().temperature(0)); }),
            "DCLLoss: expected temperature above 0, got 0");
  EXPECT_EQ(refusal_of([] { DCLWLoss loss(DCLWLossOptions().sigma(-1)); }),
            "DCLWLoss: expected sigma above 0, got -1");
  EXPECT_EQ(refusal_of([] {
              BarlowTwinsLoss loss(BarlowTwinsLossOptions().lambda(-1));
            }),
            "BarlowTwinsLoss: expected lambda of at least 0, got -1");
  EXPECT_EQ(
      refusal_of([] { BarlowTwinsLoss loss(BarlowTwinsLossOptions().eps(0)); }),
      "BarlowTwinsLoss: expected eps above 0, got 0");
  EXPECT_EQ(refusal_of([] { VICRegLoss loss(VICRegLossOptions().mu(-2)); }),
            "VICRegLoss: expected mu of at least 0, got -2");
  EXPECT_EQ(refusal_of([] { VICRegLoss loss(VICRegLossOptions().eps(0)); }),
            "VICRegLoss: expected eps above 0, got 0");
  const PairWeights wrong = [](const at::Tensor&, const at::Tensor&) {
    return at::zeros({2});
  };
  EXPECT_EQ(
      refusal_of([&] {
        functional::dcl_loss(at::rand({3, 2}), at::rand({3, 2}),
                             DCLLossOptions().weight_fn(wrong));
      }),
      "DCLLoss: expected weight_fn to return a weight for each of 3 rows, "
      "got [2]");
}

THREAD_RANKS_TEST(TwoViewLossesTest, RefuseLessThanTwoRowsOnAllRanks, 2) {
  for (const Named& named : losses()) {
    const at::Tensor rows = at::rand({self.rank(), 3});
    EXPECT_EQ(refusal_of([&] { default_loss(named)(rows, rows); }),
              std::string(named.name) +
                  ": expected at least 2 rows over all ranks, or none, got "
                  "1");
  }
}

THREAD_RANKS_TEST(TwoViewLossesTest, TellOtherRanksOfInputThatDoesNotFit, 2) {
  const at::Tensor good = at::rand({4, 3});
  for (const Named& named : losses()) {
    const Loss loss = default_loss(named);
    for (const at::Tensor& bad :
         {at::Tensor(), at::rand({4, 2}), at::rand({4}), at::rand({5, 3}),
          at::zeros({4, 3}, at::kLong), good.to(at::kDouble)}) {
      if (self.rank() == 1) {
        const std::string text = refusal_of([&] { loss(good, bad); });
        EXPECT_EQ(text.rfind(std::string(named.name) + ": expected ", 0), 0)
            << text;
        continue;
      }
      try {
        loss(good, good);
        ADD_FAILURE() << named.name;
      } catch (const sync::SyncError& error) {
        EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
      }
    }
    // Nobody is out of step.
    EXPECT_TRUE(loss(good, good).defined());
  }
}

TEST(TwoViewLossesTest, PrintThemselves) {
  EXPECT_EQ(c10::str(DCLLoss()), "tally::losses::DCLLoss(temperature=0.1)");
  EXPECT_EQ(c10::str(DCLWLoss()),
            "tally::losses::DCLWLoss(temperature=0.1, sigma=0.5)");
  EXPECT_EQ(c10::str(BarlowTwinsLoss()),
            "tally::losses::BarlowTwinsLoss(lambda_=0.005, eps=1e-05)");
  EXPECT_EQ(c10::str(VICRegLoss()),
            "tally::losses::VICRegLoss(lambda_=25, mu=25, nu=1, eps=1e-04)");
}

}  // namespace
}  // namespace tally::losses
