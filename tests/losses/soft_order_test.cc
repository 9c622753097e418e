#include "tally/losses/soft_order/soft_order.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tally/losses/soft_order/soft_spearman_loss.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/losses/labeled_losses.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using namespace testkit;  // NOLINT(google-build-using-namespace)
using Tensors = std::vector<at::Tensor>;

const auto spearman = made<SoftSpearmanLoss, SoftSpearmanLossOptions>;

/// The operation's result times weights, as a loss.
template <class Module, class Options>
LabelledLoss weighted(const OptionTexts& texts) {
  Options options;
  parse_options(options, "options", texts);
  return [module = Module(options)](const at::Tensor& x,
                                    const at::Tensor& w) mutable {
    return module->forward(x).mul(w).sum();
  };
}
const auto soft_rank = weighted<SoftRank, SoftRankOptions>;
const auto soft_sort = weighted<SoftSort, SoftSortOptions>;

TEST(SoftOrderTest, GivesWhatPeersDo) {
  check_peers("SoftRank", soft_rank);
  check_peers("SoftSort", soft_sort);
  check_peers("SoftSpearmanLoss", spearman);
}

TEST(SoftOrderTest, HasTheDerivativesOfItsValue) {
  for (const bool sorts : {false, true}) {
    for (const char* const penalty : {"quadratic", "entropic"}) {
      for (const char* const relative : {"false", "true"}) {
        SCOPED_TRACE(c10::str(sorts, penalty, relative));
        const OptionTexts options = {{"penalty", penalty},
                                     {"relative", relative},
                                     {"strength", "0.4"},
                                     {"descending", relative}};
        const LabelledLoss loss =
            sorts ? soft_sort(options) : soft_rank(options);
        LossSubject subject;
        subject.make = [loss] {
          return LossInstance{[loss](const Tensors& batch) {
                                return loss(batch[0], batch[1]).square();
                              },
                              {}};
        };
        subject.batch = {normal_rows({3, 8}, 1), normal_rows({3, 8}, 2)};
        subject.ranks = {1};
        check_loss(subject);
        check_second_derivatives(subject);
      }
    }
  }
}

TEST(SoftOrderTest, SmallStrengthsAreHard) {
  const at::Tensor x = at::tensor({0.5, -1.0, 2.0, 0.25}, at::kDouble);
  for (const double strength : {1e-3, 1e-9, 1e-14}) {
    for (const auto penalty :
         {SoftOrderPenalty::kQuadratic, SoftOrderPenalty::kEntropic}) {
      const auto rank = SoftRankOptions().penalty(penalty).strength(strength);
      const auto sort = SoftSortOptions().penalty(penalty).strength(strength);
      EXPECT_TRUE(near(functional::soft_rank(x, rank),
                       at::tensor({3.0, 1.0, 4.0, 2.0}, at::kDouble),
                       {1e-12, 1e-12}));
      EXPECT_TRUE(
          near(functional::soft_rank(x, SoftRankOptions(rank).descending(true)),
               at::tensor({2.0, 4.0, 1.0, 3.0}, at::kDouble), {1e-12, 1e-12}));
      if (strength < 1e-9) continue;
      EXPECT_TRUE(near(functional::soft_sort(x, sort),
                       at::tensor({-1.0, 0.25, 0.5, 2.0}, at::kDouble),
                       {1e-6, 1e-6}));
    }
  }
}

TEST(SoftOrderTest, EqualValuesHaveEqualRanks) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor x = at::tensor({1.0, 3.0, 1.0, 1.0, 0.0}).to(dtype);
    const at::Tensor ranks = functional::soft_rank(
        x, SoftRankOptions().strength(dtype == at::kDouble ? 1e-12 : 0.01));
    EXPECT_EQ(ranks.scalar_type(),
              dtype == at::kDouble ? at::kDouble : at::kFloat);
    EXPECT_TRUE(near(ranks.to(at::kDouble),
                     at::tensor({3.0, 5.0, 3.0, 3.0, 1.0}, at::kDouble),
                     {1e-6, 1e-6}));
  }
}

TEST(SoftOrderTest, ManyFloatsAreOrderedAsDoublesAre) {
  const at::Tensor x = normal_rows({2, 3000}, 5).to(at::kFloat);
  const auto options = SoftRankOptions().strength(0.002);
  EXPECT_TRUE(near(functional::soft_rank(x, options).to(at::kDouble),
                   functional::soft_rank(x.to(at::kDouble), options),
                   {1e-6, 1e-6}));
}

TEST(SoftOrderTest, RowsWithNanAreNanAlone) {
  at::Tensor x = normal_rows({2, 3, 4}, 1).requires_grad_();
  at::Tensor broken = x.detach().clone();
  broken[0][1][2] = std::nan("");
  broken[1][2][0] = std::numeric_limits<double>::infinity();
  const at::Tensor ranks = functional::soft_rank(broken);
  EXPECT_EQ(ranks.isnan().sum().item<std::int64_t>(), 8);
  EXPECT_TRUE(ranks[0][1].isnan().all().item<bool>());
  EXPECT_EQ(functional::soft_rank(x.detach().narrow(2, 0, 0)).numel(), 0);
  EXPECT_EQ(functional::soft_sort(x.detach().narrow(1, 0, 0)).numel(), 0);
}

TEST(SoftOrderTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal_of([&] {
              soft_rank({{"strength", "0"}});
            }),
            "SoftRank: expected strength above 0, got 0");
  EXPECT_EQ(refusal_of([&] {
              soft_sort({{"strength", "inf"}});
            }),
            "SoftSort: expected strength above 0, got inf");
  EXPECT_EQ(refusal_of([&] { functional::soft_rank(at::arange(3)); }),
            "SoftRank: expected values of size [..., n] and a floating dtype, "
            "got CPULongType [3]");
  EXPECT_EQ(c10::str(SoftRank()),
            "tally::losses::SoftRank(penalty=quadratic, strength=1, "
            "relative=false, descending=false)");
}

LossSubject spearman_subject(const OptionTexts& options) {
  return subject_of_scores(spearman(options), normal_rows({13, 4}, 1),
                           labels_of({13}, 9), 1);
}

TEST(SoftSpearmanLossTest, IsThatOfTheGlobalBatch) {
  LossSubject subject = spearman_subject({{"strength", "0.3"}});
  check_loss(subject);
  subject.ranks = {2};
  check_second_derivatives_are_refused(subject, "are not supported");
  subject = spearman_subject(
      {{"penalty", "entropic"}, {"relative", "false"}, {"strength", "2"}});
  subject.ranks = {1, 3};
  check_loss(subject);
}

TEST(SoftSpearmanLossTest, IsZeroOrOneWithoutAnOrder) {
  const auto checked = [](const at::Tensor& preds, const at::Tensor& target,
                          double expected) {
    at::Tensor x = preds.clone().requires_grad_();
    const at::Tensor loss = spearman({})(x, target);
    EXPECT_EQ(loss.item<double>(), expected);
    loss.backward();
    EXPECT_EQ(x.grad().abs().sum().item<double>(), 0);
  };
  checked(normal_rows({5}, 1), at::full({5}, 2.0), 0);
  checked(at::full({5}, 2.0, at::kDouble), normal_rows({5}, 1), 1);
  checked(normal_rows({0}, 1), at::full({0}, 2.0), 0);
}

TEST(SoftSpearmanLossTest, NanShows) {
  for (const int side : {0, 1}) {
    at::Tensor x = normal_rows({5}, 1), y = normal_rows({5}, 2);
    (side == 0 ? x : y)[3] = std::nan("");
    EXPECT_TRUE(std::isnan(spearman({})(x, y).item<double>()));
  }
}

THREAD_RANKS_TEST(SoftSpearmanLossTest, SendsRows, 2) {
  const auto sent = [&](std::int64_t rows) {
    return bytes_sent(self, spearman({}), normal_rows({rows}, 1).to(at::kFloat),
                      labels_of({rows}, 9));
  };
  EXPECT_EQ(sent(1000) - sent(10), 990 * (4 + 8));
}

THREAD_RANKS_TEST(SoftSpearmanLossTest, TellsOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({4}, 1), y = labels_of({4}, 3);
  expect_refused_on_all_ranks(
      self, spearman({}), x, y, x, y.narrow(0, 0, 3),
      "SoftSpearmanLoss: expected target of real numbers of size [4] on cpu, "
      "got CPULongType [3]");
  expect_refused_on_all_ranks(
      self, spearman({}), x, y, y, y,
      "SoftSpearmanLoss: expected preds of a floating dtype, got CPULongType "
      "[4]");
}

}  // namespace
}  // namespace tally::losses
