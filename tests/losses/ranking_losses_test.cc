#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tally/losses/ranking/aucm_loss.h"
#include "tally/losses/ranking/fast_ap_loss.h"
#include "tally/losses/ranking/pairwise_auc_loss.h"
#include "tally/losses/ranking/partial_auc_loss.h"
#include "tally/losses/ranking/smooth_ap_loss.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/losses/labeled_losses.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using namespace testkit;  // NOLINT(google-build-using-namespace)
using Tensors = std::vector<at::Tensor>;
using Loss = LabelledLoss;

std::vector<NamedLoss> losses() {
  const auto auc = made<PairwiseAUCLoss, PairwiseAUCLossOptions>;
  const auto partial = made<PartialAUCLoss, PartialAUCLossOptions>;
  return {
      {"PairwiseAUCLoss", auc, {{"surrogate", "squared"}}, true},
      {"PairwiseAUCLoss", auc, {}, false},
      {"PairwiseAUCLoss", auc, {{"surrogate", "logistic"}}, false},
      {"AUCMLoss", made<AUCMLoss, AUCMLossOptions>, {}, true},
      {"SmoothAPLoss",
       made<SmoothAPLoss, SmoothAPLossOptions>,
       {{"temperature", "0.5"}},
       false},
      {"FastAPLoss",
       made<FastAPLoss, FastAPLossOptions>,
       {{"n_bins", "7"}, {"lowest", "-3.1"}, {"highest", "3.3"}},
       true},
      {"PartialAUCLoss", partial, {{"max_fpr", "0.4"}}, false},
      {"PartialAUCLoss",
       partial,
       {{"form", "log_sum_exp"}, {"lambda_", "0.5"}, {"surrogate", "logistic"}},
       false}};
}

/// Of 13 samples, 4 of one label, of which a rank may have none.
at::Tensor few(bool positives) {
  const at::Tensor rare =
      at::tensor({0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0}, at::kLong);
  return positives ? rare : rare.neg().add(1);
}

LossSubject subject_of(const Loss& loss, const at::Tensor& labels) {
  LossSubject subject;
  subject.make = [loss] {
    const at::Tensor weight = normal_rows({4}, 3).requires_grad_();
    return LossInstance{[loss, weight](const Tensors& batch) {
                          return loss(batch[0].matmul(weight), batch[1]);
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({labels.size(0), 4}, 1), labels};
  return subject;
}

TEST(RankingLossesTest, AreThoseOfTheGlobalBatch) {
  for (const NamedLoss& named : losses()) {
    for (const bool positives : {true, false}) {
      SCOPED_TRACE(c10::str(named.name, positives));
      LossSubject subject = subject_of(named.loss(), few(positives));
      if (!positives) subject.ranks = {1, 3};
      check_loss(subject);
    }
  }
}

TEST(RankingLossesTest, HaveSecondDerivativesOrSaySo) {
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    LossSubject subject = subject_of(named.loss(), few(true));
    subject.ranks = {1, 3};
    if (named.twice) {
      check_second_derivatives(subject);
    } else {
      check_second_derivatives_are_refused(subject, "are not supported");
    }
  }
}

TEST(RankingLossesTest, GiveWhatPeersDo) {
  check_peers("PairwiseAUCLoss", made<PairwiseAUCLoss, PairwiseAUCLossOptions>);
  check_peers("AUCMLoss", made<AUCMLoss, AUCMLossOptions>);
}

at::Tensor smooth_ap_by_definition(const at::Tensor& s, const at::Tensor& y) {
  const at::Tensor above = s.unsqueeze(0)
                               .sub(s.unsqueeze(1))
                               .div(0.5)
                               .sigmoid()
                               .masked_fill(at::eye(s.size(0), at::kBool), 0);
  const at::Tensor label = y.to(at::kDouble);
  const at::Tensor ratio = above.matmul(label).add(1).div(above.sum(1).add(1));
  return 1 - ratio.mul(label).sum() / label.sum();
}

at::Tensor fast_ap_by_definition(const at::Tensor& s, const at::Tensor& y) {
  const double width = 6.4 / 7;
  const at::Tensor centers = at::linspace(3.3, -3.1, 8, at::kDouble);
  const at::Tensor h = s.clamp(-3.1, 3.3)
                           .unsqueeze(1)
                           .sub(centers)
                           .abs()
                           .div(width)
                           .neg()
                           .add(1)
                           .clamp_min(0);
  const at::Tensor positive = h.mul(y.unsqueeze(1)).sum(0);
  const at::Tensor all = h.sum(0).cumsum(0);
  return 1 - (positive * positive.cumsum(0) /
              at::where(all.eq(0), at::ones({}, at::kDouble), all))
                     .sum() /
                 y.sum();
}

/// x_j - x_i of positives i and negatives j.
at::Tensor pairs_of(const at::Tensor& x, const at::Tensor& y) {
  return x.masked_select(y.eq(0)).unsqueeze(0) -
         x.masked_select(y.eq(1)).unsqueeze(1);
}

at::Tensor top_auc_by_definition(const at::Tensor& x, const at::Tensor& y) {
  // 4 of 9 negatives.
  const at::Tensor highest =
      std::get<0>(pairs_of(x, y).sort(1, /*descending=*/true)).narrow(1, 0, 4);
  return highest.add(1).clamp_min(0).square().mean();
}

at::Tensor log_sum_exp_auc_by_definition(const at::Tensor& x,
                                         const at::Tensor& y) {
  return pairs_of(x, y).exp().log1p().div(0.5).exp().mean(1).log().mean().mul(
      0.5);
}

TEST(RankingLossesTest, AreTheirDefinitions) {
  const auto check = [&](const NamedLoss& named, const auto& definition) {
    SCOPED_TRACE(named.name);
    LossSubject subject = subject_of(named.loss(), few(true));
    subject.reference = [&](const Tensors& batch, const Tensors& parameters) {
      return definition(batch[0].matmul(parameters[0]), batch[1]);
    };
    subject.ranks = {2};
    check_loss(subject);
  };
  check(losses()[4], smooth_ap_by_definition);
  check(losses()[5], fast_ap_by_definition);
  check(losses()[6], top_auc_by_definition);
  check(losses()[7], log_sum_exp_auc_by_definition);
}

/// Of 17 samples of queries -5, 2 and 9; that of the last has no positive.
const at::Tensor kQuery = at::tensor(
    {2, -5, 2, -5, 2, 2, -5, 9, 2, -5, 9, 2, -5, 2, 2, -5, 2}, at::kLong);
const at::Tensor kRelevant =
    at::tensor({0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0}, at::kLong);

/// SmoothAPLoss or FastAPLoss, of a batch of rows, labels and queries.
template <class Module, class Options>
LossSubject subject_with_queries(const OptionTexts& texts) {
  Options options;
  parse_options(options, "options", texts);
  LossSubject subject;
  subject.make = [module = Module(options)] {
    const at::Tensor weight = normal_rows({4}, 3).requires_grad_();
    return LossInstance{[loss = module, weight](const Tensors& batch) mutable {
                          return loss->forward(batch[0].matmul(weight),
                                               batch[1], batch[2]);
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({17, 4}, 1), kRelevant, kQuery};
  return subject;
}

template <class Definition>
auto mean_over_queries(const Definition& definition) {
  return [definition](const Tensors& batch, const Tensors& parameters) {
    const at::Tensor scores = batch[0].matmul(parameters[0]);
    at::Tensor sum;
    for (const std::int64_t id : {-5, 2}) {
      const at::Tensor of_query = batch[2].eq(id);
      const at::Tensor loss = definition(scores.masked_select(of_query),
                                         batch[1].masked_select(of_query));
      sum = sum.defined() ? sum + loss : loss;
    }
    return sum / 2;
  };
}

TEST(RankingLossesTest, QueriesMayBeSplitOverRanks) {
  LossSubject subject = subject_with_queries<SmoothAPLoss, SmoothAPLossOptions>(
      losses()[4].options);
  subject.reference = mean_over_queries(smooth_ap_by_definition);
  check_loss(subject);
  subject =
      subject_with_queries<FastAPLoss, FastAPLossOptions>(losses()[5].options);
  subject.reference = mean_over_queries(fast_ap_by_definition);
  check_loss(subject);
  subject.reference = {};
  subject.ranks = {3};
  check_second_derivatives(subject);
}

TEST(RankingLossesTest, AreZeroWithoutQueriesThatHavePositives) {
  const at::Tensor x = normal_rows({3}, 1).requires_grad_();
  const at::Tensor none = at::zeros({3}, at::kLong);
  for (const bool smooth : {false, true}) {
    const at::Tensor loss = smooth
                                ? functional::smooth_ap_loss(x, none, {}, none)
                                : functional::fast_ap_loss(x, none, {}, none);
    EXPECT_EQ(loss.item<double>(), 0);
    loss.backward();
    EXPECT_EQ(x.grad().abs().sum().item<double>(), 0);
  }
  EXPECT_EQ(refusal_of([&] {
              functional::smooth_ap_loss(x, none, {}, none.narrow(0, 0, 2));
            }),
            "SmoothAPLoss: expected query of integers of size [3] on cpu, got "
            "CPULongType [2]");
}

TEST(RankingLossesTest, TiedScoresCostTheSameInAnyOrder) {
  const at::Tensor y = few(true);
  const at::Tensor x = y.mul(0).to(at::kDouble).add(0.25);
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    at::Tensor scores = x.clone().requires_grad_();
    named.loss()(scores, y).backward();
    // All samples of a label are alike.
    for (const std::int64_t label : {0, 1}) {
      const at::Tensor of_label = scores.grad().masked_select(y.eq(label));
      EXPECT_LT((of_label.max() - of_label.min()).item<double>(), 1e-12);
    }
  }
}

TEST(RankingLossesTest, TiesDoNotDependOnTheirRanks) {
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    LossSubject subject;
    subject.make = [loss = named.loss()] {
      return LossInstance{
          [loss](const Tensors& batch) { return loss(batch[0], batch[1]); },
          {}};
    };
    // 9 negatives with the scores 0 and 1.
    subject.batch = {at::arange(13).remainder(2).to(at::kDouble), few(true)};
    subject.numerical = false;
    subject.ranks = {2, 5};
    check_loss(subject);
  }
}

TEST(RankingLossesTest, OffsetsCostNoPrecision) {
  const at::Tensor y = few(true),
                   x = normal_rows({13}, 1).mul(64).round().div(64);
  for (const NamedLoss& named : losses()) {
    if (named.name == std::string("FastAPLoss")) continue;
    SCOPED_TRACE(named.name);
    const auto gradient = [&](double offset) {
      at::Tensor scores = x.add(offset).requires_grad_();
      const at::Tensor loss = named.loss()(scores, y);
      loss.backward();
      return at::cat({loss.detach().view({1}), scores.grad()});
    };
    EXPECT_TRUE(near(gradient(1 << 20), gradient(0), {1e-9, 1e-9}));
  }
}

TEST(RankingLossesTest, AreZeroWithoutPairs) {
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    for (const std::int64_t rows : {0, 3}) {
      const at::Tensor x = normal_rows({rows}, 1).requires_grad_();
      const at::Tensor loss = named.loss()(x, at::zeros({rows}, at::kLong));
      EXPECT_EQ(loss.item<double>(), 0);
      loss.backward();
      EXPECT_EQ(x.grad().abs().sum().item<double>(), 0);
    }
  }
}

TEST(RankingLossesTest, NanShows) {
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    for (const std::int64_t at : {1, 2}) {
      at::Tensor x = normal_rows({13}, 1);
      x[at] = std::nan("");
      EXPECT_TRUE(std::isnan(named.loss()(x, few(true)).item<double>()));
    }
  }
}

TEST(RankingLossesTest, TakeEveryFloatingDtype) {
  const at::Tensor x = normal_rows({13, 1}, 1).mul(16).round().div(16);
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    at::Tensor wide = x.clone().requires_grad_();
    const at::Tensor expected = named.loss()(wide, few(true).view({13, 1}));
    expected.backward();
    for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
      at::Tensor narrow = x.to(dtype).requires_grad_();
      const at::Tensor loss =
          named.loss()(narrow, few(true).view({13, 1}).to(at::kBool));
      EXPECT_EQ(loss.scalar_type(), at::kFloat);
      EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-6);
      loss.backward();
      EXPECT_EQ(narrow.grad().scalar_type(), dtype);
      EXPECT_TRUE(
          near(narrow.grad().to(at::kDouble), wide.grad(), {0.01, 1e-3}));
    }
  }
}

TEST(RankingLossesTest, GradientsOfSmoothApDoNotVanishInFloat) {
  // In float32, sigmoid(40) is 1.
  at::Tensor x = at::tensor({0.0f, 0.4f}).requires_grad_();
  functional::smooth_ap_loss(x, at::tensor({1, 0})).backward();
  EXPECT_LT(x.grad()[0].item<double>(), 0);
  EXPECT_GT(x.grad()[1].item<double>(), 0);
}

TEST(RankingLossesTest, LearnedParametersOfAucmAreExact) {
  const AUCMLossOptions options = AUCMLossOptions().learned(true).margin(0.7);
  LossSubject subject;
  subject.make = [options] {
    AUCMLoss loss(options);
    loss->to(at::kDouble);
    loss->a.set_data(at::full({}, 0.3, at::kDouble));
    loss->b.set_data(at::full({}, -0.4, at::kDouble));
    loss->alpha.set_data(at::full({}, 0.9, at::kDouble));
    return LossInstance{[loss](const Tensors& batch) mutable {
                          return loss->forward(batch[0], batch[1]);
                        },
                        loss->named_parameters().pairs()};
  };
  subject.batch = {normal_rows({13}, 1), few(true)};
  subject.reference = [](const Tensors& batch, const Tensors& parameters) {
    const at::Tensor p = batch[0].masked_select(batch[1].eq(1));
    const at::Tensor n = batch[0].masked_select(batch[1].eq(0));
    return (p - parameters[0]).square().mean() +
           (n - parameters[1]).square().mean() +
           2 * parameters[2] * (0.7 + n.mean() - p.mean()) -
           parameters[2].square();
  };
  check_loss(subject);
  EXPECT_TRUE(AUCMLoss()->parameters().empty());
  // The closed form is the best of all.
  const at::Tensor x = subject.batch[0], y = subject.batch[1];
  const at::Tensor p = x.masked_select(y.eq(1)).mean();
  const at::Tensor n = x.masked_select(y.eq(0)).mean();
  EXPECT_NEAR(
      functional::aucm_loss(x, y, options).item<double>(),
      functional::aucm_loss(x, y, options, p, n, (n - p + 0.7).clamp_min(0))
          .item<double>(),
      1e-12);
}

THREAD_RANKS_TEST(RankingLossesTest, SendTheRareClass, 2) {
  const auto sent = [&](const Loss& loss, std::int64_t rows, bool positives) {
    at::Tensor y = at::arange(rows).remainder(10).eq(0);
    if (!positives) y = y.logical_not();
    return bytes_sent(self, loss, normal_rows({rows}, 1), y);
  };
  // Between 1000 and 3000 samples there are 200 of the rare class on each rank:
  // their scores, and sums for those of both ranks.
  const auto all = losses();
  for (const bool positives : {true, false}) {
    for (const std::size_t i : {1, 2}) {
      EXPECT_EQ(sent(all[i].loss(), 3000, positives) -
                    sent(all[i].loss(), 1000, positives),
                8 * 200 + 8 * 400);
    }
  }
  EXPECT_EQ(sent(all[4].loss(), 3000, true) - sent(all[4].loss(), 1000, true),
            8 * 200 + 4 * 8 * 400);
  // 40 % of 1800 and of 5400 negatives.
  EXPECT_EQ(sent(all[6].loss(), 3000, true) - sent(all[6].loss(), 1000, true),
            3 * 8 * 1440);
  EXPECT_EQ(sent(all[7].loss(), 3000, true) - sent(all[7].loss(), 1000, true),
            8 * 200 + 3 * 8 * 400);
  for (const std::size_t i : {0, 3, 5}) {
    EXPECT_EQ(sent(all[i].loss(), 3000, true), sent(all[i].loss(), 10, true));
  }
}

THREAD_RANKS_TEST(RankingLossesTest, SendQueriesOfTheRareClass, 2) {
  const auto sent = [&](const auto& loss_of, std::int64_t rows) {
    const auto loss = [&](const at::Tensor& x, const at::Tensor& y) {
      return loss_of(x, y, at::arange(rows).remainder(3));
    };
    return bytes_sent(self, loss, normal_rows({rows}, 1),
                      at::arange(rows).remainder(10).eq(0));
  };
  const auto smooth_ap = [](const at::Tensor& x, const at::Tensor& y,
                            const at::Tensor& query) {
    return functional::smooth_ap_loss(x, y, {}, query);
  };
  const auto fast_ap = [](const at::Tensor& x, const at::Tensor& y,
                          const at::Tensor& query) {
    return functional::fast_ap_loss(x, y, {}, query);
  };
  // As SendTheRareClass, and a query for each positive.
  EXPECT_EQ(sent(smooth_ap, 3000) - sent(smooth_ap, 1000),
            2 * 8 * 200 + 4 * 8 * 400);
  EXPECT_EQ(sent(fast_ap, 3000), sent(fast_ap, 1000));
}

THREAD_RANKS_TEST(RankingLossesTest, TellOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({4}, 1), y = at::tensor({0, 1, 1, 0});
  for (const NamedLoss& named : losses()) {
    const Loss loss = named.loss();
    const std::string name = named.name;
    const auto refused = [&](const at::Tensor& preds, const at::Tensor& target,
                             const std::string& message) {
      expect_refused_on_all_ranks(self, loss, x, y, preds, target,
                                  name + message);
    };
    refused(x, y.mul(2), ": expected target of 0 and 1, got 2");
    refused(x, x, ": expected target of integers or bool, got CPUDoubleType");
    refused(x, y.narrow(0, 0, 3), ": expected target of size [4], got [3]");
    refused(y, y,
            ": expected preds of size [N, ...] and a floating dtype, got "
            "CPUIntType [4]");
  }
}

TEST(RankingLossesTest, RefuseOptionsThatDoNotFit) {
  const auto refusal = [](std::size_t i, const OptionTexts& texts) {
    return refusal_of([&] { losses()[i].make(texts); });
  };
  EXPECT_EQ(refusal(0, {{"margin", "inf"}}),
            "PairwiseAUCLoss: expected a finite margin, got inf");
  EXPECT_EQ(refusal(0, {{"scale", "0"}}),
            "PairwiseAUCLoss: expected scale above 0, got 0");
  EXPECT_EQ(refusal(3, {{"margin", "nan"}}),
            "AUCMLoss: expected a finite margin, got nan");
  EXPECT_EQ(refusal(4, {{"temperature", "-1"}}),
            "SmoothAPLoss: expected temperature above 0, got -1");
  EXPECT_EQ(refusal(5, {{"n_bins", "0"}}),
            "FastAPLoss: expected n_bins of at least 1, got 0");
  EXPECT_EQ(refusal(5, {{"lowest", "2"}}),
            "FastAPLoss: expected highest above lowest, got 1 and 2");
  EXPECT_EQ(refusal(6, {{"max_fpr", "1.5"}}),
            "PartialAUCLoss: expected max_fpr above 0 and at most 1, got 1.5");
  EXPECT_EQ(refusal(6, {{"lambda_", "0"}}),
            "PartialAUCLoss: expected lambda above 0, got 0");
  EXPECT_EQ(refusal(6, {{"surrogate", "squared"}}),
            "PartialAUCLoss: expected the surrogate squared_hinge or logistic, "
            "got squared, which also grows above the margin");
  EXPECT_EQ(c10::str(PairwiseAUCLoss()),
            "tally::losses::PairwiseAUCLoss(surrogate=squared_hinge, margin=1, "
            "scale=1)");
}

}  // namespace
}  // namespace tally::losses
