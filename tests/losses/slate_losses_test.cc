#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tally/losses/slates/approx_ndcg_loss.h"
#include "tally/losses/slates/lambda_loss.h"
#include "tally/losses/slates/list_net_loss.h"
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
  return {{"ApproxNDCGLoss", made<ApproxNDCGLoss, ApproxNDCGLossOptions>},
          {"LambdaLoss", made<LambdaLoss, LambdaLossOptions>},
          {"ListNetLoss", made<ListNetLoss, ListNetLossOptions>}};
}

/// Grades 0 to 3 of slates of different lengths, the third of which has no
/// relevant item.
at::Tensor grades_of(std::int64_t slates, std::int64_t items) {
  at::Tensor grades = at::arange(slates * items, at::kLong)
                          .mul(7)
                          .remainder(11)
                          .remainder(4)
                          .view({slates, items})
                          .clone();
  grades[1].slice(0, items - 2).fill_(-1);
  grades[2].fill_(0);
  return grades;
}

TEST(SlateLossesTest, GiveWhatPeersDo) {
  for (const NamedLoss& named : losses()) check_peers(named.name, named.make);
}

LossSubject subject_of(const Loss& loss) {
  LossSubject subject;
  subject.make = [loss] {
    const at::Tensor weight = normal_rows({3}, 3).requires_grad_();
    return LossInstance{[loss, weight](const Tensors& batch) {
                          return loss(batch[0].matmul(weight), batch[1]);
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({7, 4, 3}, 1), grades_of(7, 4)};
  return subject;
}

TEST(SlateLossesTest, AreThoseOfTheGlobalBatch) {
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    LossSubject subject = subject_of(named.loss());
    check_loss(subject);
    subject.ranks = {3};
    check_second_derivatives(subject);
  }
  LossSubject subject = subject_of(
      made<LambdaLoss, LambdaLossOptions>({{"mean_over", "slates"},
                                           {"weight", "ndcg2_plus_plus"},
                                           {"top_k", "3"}}));
  subject.ranks = {1, 3};
  check_loss(subject);
}

/// The items of slates one after the other, with their queries, in no order.
template <class Module>
LossSubject subject_of_items(const LossSubject& of_slates) {
  const at::Tensor grades = of_slates.batch[1];
  const at::Tensor items = grades.ge(0).flatten().nonzero().squeeze(1);
  const at::Tensor mixed =
      items.index_select(0, labels_of({items.size(0)}, 11).argsort());
  LossSubject subject;
  subject.make = [] {
    const at::Tensor weight = normal_rows({3}, 3).requires_grad_();
    return LossInstance{
        [loss = Module(), weight](const Tensors& batch) mutable {
          return loss->forward(batch[0].matmul(weight), batch[1], batch[2]);
        },
        {{"weight", weight}}};
  };
  subject.batch = {of_slates.batch[0].flatten(0, 1).index_select(0, mixed),
                   grades.flatten().index_select(0, mixed),
                   mixed.floor_divide(grades.size(1)).mul(3).sub(5)};
  return subject;
}

template <class Module>
void check_items(const Loss& of_slates) {
  const LossSubject slates = subject_of(of_slates);
  LossSubject subject = subject_of_items<Module>(slates);
  EXPECT_NEAR(subject.make().loss(subject.batch).template item<double>(),
              slates.make().loss(slates.batch).template item<double>(), 1e-12);
  check_loss(subject);
}

TEST(SlateLossesTest, ListsMayBeSplitOverRanks) {
  check_items<ApproxNDCGLoss>(losses()[0].loss());
  check_items<LambdaLoss>(losses()[1].loss());
  check_items<ListNetLoss>(losses()[2].loss());
}

TEST(SlateLossesTest, PaddingIsAsIfCut) {
  const at::Tensor x = normal_rows({2, 4}, 1);
  const at::Tensor y = at::tensor({3, 0, 1, 2, 2, 1, 0, 3}).view({2, 4});
  const at::Tensor more = at::full({2, 3}, -1, at::kLong);
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    const double cut = named.loss()(x, y).item<double>();
    for (const double anything : {0.0, 1e30, -1e30, std::nan("")}) {
      at::Tensor padded =
          at::cat({x, at::full({2, 3}, anything, at::kDouble)}, 1);
      padded.requires_grad_();
      const at::Tensor loss = named.loss()(padded, at::cat({y, more}, 1));
      EXPECT_NEAR(loss.item<double>(), cut, 1e-12);
      loss.backward();
      EXPECT_EQ(padded.grad().slice(1, 4).abs().sum().item<double>(), 0);
      EXPECT_TRUE(padded.grad().isfinite().all().item<bool>());
    }
  }
}

TEST(SlateLossesTest, WrongOrdersHaveGradientsHoweverFarApart) {
  at::Tensor x = at::tensor({0.0f, 400.0f}).view({1, 2});
  x.requires_grad_();
  const at::Tensor loss = functional::lambda_loss(
      x, at::tensor({1, 0}).view({1, 2}),
      LambdaLossOptions().weight(LambdaWeight::kRankNet));
  EXPECT_NEAR(loss.item<double>(), 400 / std::log(2.0), 1e-3);
  loss.backward();
  EXPECT_NEAR(x.grad()[0][0].item<double>(), -1 / std::log(2.0), 1e-6);
}

TEST(SlateLossesTest, AreZeroWhereNothingCounts) {
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    for (const std::int64_t slates : {0, 2}) {
      const at::Tensor x = normal_rows({slates, 3}, 1).requires_grad_();
      const at::Tensor loss = named.loss()(x, at::full({slates, 3}, -1));
      EXPECT_EQ(loss.item<double>(), 0);
      loss.backward();
      EXPECT_EQ(x.grad().abs().sum().item<double>(), 0);
    }
  }
  // Nor do slates without a relevant item, unless asked for.
  const at::Tensor x = normal_rows({2, 3}, 1), none = at::zeros({2, 3});
  EXPECT_EQ(functional::approx_ndcg_loss(x, none).item<double>(), 0);
  EXPECT_EQ(functional::approx_ndcg_loss(
                x, none, ApproxNDCGLossOptions().count_irrelevant(true))
                .item<double>(),
            1);
}

TEST(SlateLossesTest, TakeEveryFloatingDtype) {
  const at::Tensor x = normal_rows({7, 4}, 1).mul(16).round().div(16);
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    const double expected = named.loss()(x, grades_of(7, 4)).item<double>();
    for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
      const at::Tensor narrow = x.to(dtype).requires_grad_();
      const at::Tensor loss =
          named.loss()(narrow, grades_of(7, 4).to(at::kHalf));
      EXPECT_EQ(loss.scalar_type(), at::kFloat);
      EXPECT_NEAR(loss.item<double>(), expected, 1e-5);
      loss.backward();
      EXPECT_EQ(narrow.grad().scalar_type(), dtype);
    }
  }
}

THREAD_RANKS_TEST(SlateLossesTest, SendTwoNumbers, 2) {
  for (const NamedLoss& named : losses()) {
    const auto sent = [&](std::int64_t slates) {
      return bytes_sent(self, named.loss(), normal_rows({slates, 20}, 1),
                        grades_of(slates, 20));
    };
    EXPECT_EQ(sent(400), sent(3));
  }
}

THREAD_RANKS_TEST(SlateLossesTest, SendItemsOfQueriesThatMayBeSplit, 2) {
  const auto sent = [&](const auto& loss_of, std::int64_t items) {
    const auto loss = [&](const at::Tensor& x, const at::Tensor& y) {
      return loss_of(x, y, at::arange(items).remainder(3));
    };
    return bytes_sent(self, loss, normal_rows({items}, 1).to(at::kFloat),
                      labels_of({items}, 4));
  };
  const auto check = [&](const auto& loss) {
    // Query, grade and score of each.
    EXPECT_EQ(sent(loss, 300) - sent(loss, 100), (8 + 8 + 4) * 200);
  };
  using Input = const at::Tensor&;
  check([](Input x, Input y, Input query) {
    return functional::approx_ndcg_loss(x, y, {}, query);
  });
  check([](Input x, Input y, Input query) {
    return functional::lambda_loss(x, y, {}, query);
  });
  check([](Input x, Input y, Input query) {
    return functional::list_net_loss(x, y, {}, query);
  });
}

THREAD_RANKS_TEST(SlateLossesTest, TellOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({3, 4}, 1), y = grades_of(3, 4);
  for (const NamedLoss& named : losses()) {
    const Loss loss = named.loss();
    const std::string name = named.name;
    const auto refused = [&](const at::Tensor& preds, const at::Tensor& target,
                             const std::string& message) {
      expect_refused_on_all_ranks(self, loss, x, y, preds, target,
                                  name + message);
    };
    const bool any_grade = name == "ListNetLoss";
    refused(x, at::full({3, 4}, std::nan("")),
            any_grade
                ? ": expected finite grades or -1, got nan"
                : ": expected finite grades of at least 0 or -1, got nan");
    if (!any_grade) {
      refused(x, y.sub(1),
              ": expected finite grades of at least 0 or -1, got -2");
    }
    refused(x, y.narrow(1, 0, 3),
            ": expected target of size [3, 4] on cpu, got CPULongType [3, 3]");
    refused(x[0], y,
            ": expected preds of size [slates, items] and a floating dtype, "
            "got CPUDoubleType [4]");
    refused(x, y.to(at::kFloat).requires_grad_(),
            ": expected target that requires no gradient; detach() it");
  }
}

TEST(SlateLossesTest, RefuseOptionsThatDoNotFit) {
  const auto refusal = [](std::size_t i, const OptionTexts& texts) {
    return refusal_of([&] { losses()[i].make(texts); });
  };
  EXPECT_EQ(refusal(0, {{"alpha", "0"}}),
            "ApproxNDCGLoss: expected alpha above 0, got 0");
  EXPECT_EQ(refusal(1, {{"sigma", "-1"}}),
            "LambdaLoss: expected sigma above 0, got -1");
  EXPECT_EQ(refusal(1, {{"mu", "-1"}}),
            "LambdaLoss: expected mu of at least 0, got -1");
  EXPECT_EQ(refusal(1, {{"top_k", "0"}}),
            "LambdaLoss: expected top_k of at least 1, got 0");
  EXPECT_EQ(c10::str(LambdaLoss()),
            "tally::losses::LambdaLoss(padding=-1, weight=lambda_rank, "
            "mean_over=pairs, top_k=none, sigma=1, mu=10)");
}

}  // namespace
}  // namespace tally::losses
