#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/lovasz/lovasz_hinge_loss.h"
#include "tally/losses/lovasz/lovasz_softmax_loss.h"
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

Loss hinge(const LovaszHingeLossOptions& options = {}) {
  return [loss = LovaszHingeLoss(options)](const at::Tensor& x,
                                           const at::Tensor& y) mutable {
    return loss->forward(x, y);
  };
}
Loss softmax(const LovaszSoftmaxLossOptions& options = {}) {
  return [loss = LovaszSoftmaxLoss(options)](const at::Tensor& x,
                                             const at::Tensor& y) mutable {
    return loss->forward(x, y);
  };
}

TEST(LovaszTest, GiveWhatPeersDo) {
  check_peers("LovaszHingeLoss", made<LovaszHingeLoss, LovaszHingeLossOptions>);
  check_peers("LovaszSoftmaxLoss",
              made<LovaszSoftmaxLoss, LovaszSoftmaxLossOptions>);
}

LossSubject subject_of(const Loss& loss, std::int64_t classes) {
  LossSubject subject;
  subject.make = [loss, classes] {
    const at::Tensor weight = normal_rows({4, classes}, 3).requires_grad_();
    return LossInstance{[loss, weight](const Tensors& batch) {
                          const at::Tensor scores = batch[0].matmul(weight);
                          return loss(weight.size(1) == 1
                                          ? scores.squeeze(2)
                                          : scores.transpose(1, 2),
                                      batch[1]);
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({9, 2, 4}, 1),
                   labels_of({9, 2}, std::max<std::int64_t>(classes, 2))};
  return subject;
}

TEST(LovaszTest, AreThoseOfTheGlobalBatch) {
  for (const bool per_image : {false, true}) {
    check_loss(
        subject_of(hinge(LovaszHingeLossOptions().per_image(per_image)), 1));
    LossSubject subject =
        subject_of(softmax(LovaszSoftmaxLossOptions().per_image(per_image)), 3);
    check_loss(subject);
    subject.ranks = {3};
    check_second_derivatives(subject);
  }
  LossSubject subject = subject_of(softmax(LovaszSoftmaxLossOptions()
                                               .classes(LovaszClasses::kAll)
                                               .only_classes({0, 2})
                                               .ignore_index(1)),
                                   3);
  subject.ranks = {1, 3};
  check_loss(subject);
}

/// The sum over thresholds of the Jaccard loss of positions whose error is
/// above, an integral with as many parts as there are errors.
double integral(const std::vector<double>& errors,
                const std::vector<int>& labels) {
  std::vector<double> bounds = errors;
  bounds.push_back(0);
  std::sort(bounds.begin(), bounds.end());
  double sum = 0;
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    double positives = 0, wrong_positives = 0, wrong_negatives = 0;
    for (std::size_t j = 0; j < errors.size(); ++j) {
      const bool wrong = errors[j] >= bounds[i];
      positives += labels[j];
      wrong_positives += wrong && labels[j] == 1;
      wrong_negatives += wrong && labels[j] == 0;
    }
    sum += (bounds[i] - bounds[i - 1]) *
           (1 - (positives - wrong_positives) / (positives + wrong_negatives));
  }
  return sum;
}

TEST(LovaszTest, IsTheIntegralOfJaccardLosses) {
  const std::vector<double> errors = {0.5, 1.5, 1.5, 2, 1.5, 0.25, 2, 0.5};
  const std::vector<int> labels = {1, 0, 1, 0, 0, 1, 1, 0};
  at::Tensor x = at::zeros({8}, at::kDouble);
  for (int i = 0; i < 8; ++i) x[i] = (1 - errors[i]) * (2 * labels[i] - 1);
  const double expected = integral(errors, labels);
  EXPECT_NEAR(hinge()(x, at::tensor(labels)).item<double>(), expected, 1e-12);
  EXPECT_NEAR(hinge()(x.to(at::kFloat), at::tensor(labels)).item<double>(),
              expected, 1e-6);
}

TEST(LovaszTest, TiesShareTheirGradient) {
  // Three errors of 1.5 behind one of 2, then one of 0.5.
  const at::Tensor y = at::tensor({0, 1, 0, 0, 1});
  const at::Tensor errors = at::tensor({2.0, 1.5, 1.5, 1.5, 0.5}, at::kDouble);
  const at::Tensor z = y.mul(2).sub(1);
  const double positive = 1.0 / 3, negative = 1.0 / (3 * 5);
  // J is 1/3 after the first, 2/3 after the positive, 4/5 after both others.
  const at::Tensor expected = at::tensor(
      {1 - 2.0 / 3, -positive, negative, negative, -0.2}, at::kDouble);
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    for (const auto& order :
         {at::tensor({0, 1, 2, 3, 4}), at::tensor({4, 3, 2, 1, 0}),
          at::tensor({2, 1, 0, 4, 3})}) {
      at::Tensor x = errors.neg().add(1).mul(z).to(dtype).index_select(
          0, order.to(at::kLong));
      x.requires_grad_();
      hinge()(x, y.index_select(0, order.to(at::kLong))).backward();
      EXPECT_TRUE(near(x.grad().to(at::kDouble),
                       expected.index_select(0, order.to(at::kLong)),
                       {1e-6, 1e-7}));
    }
  }
}

TEST(LovaszTest, SlopesKeepTheirDigitsInLargeBatches) {
  // Differences of J in float32 would be 1 % off, and often negative.
  const std::int64_t rows = 300000;
  const at::Tensor x = normal_rows({rows}, 1);
  const at::Tensor y = labels_of({rows}, 11).eq(0);
  at::Tensor wide = x.clone().requires_grad_();
  at::Tensor narrow = x.to(at::kFloat).requires_grad_();
  const at::Tensor expected = hinge()(wide, y), loss = hinge()(narrow, y);
  EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-6);
  expected.backward();
  loss.backward();
  EXPECT_GE(narrow.grad().masked_select(y.logical_not()).min().item<double>(),
            0);
  EXPECT_LT(narrow.grad().sub(wide.grad()).norm().item<double>(),
            1e-3 * wide.grad().norm().item<double>());
}

TEST(LovaszTest, WithoutPositivesTheLossIsTheLargestError) {
  at::Tensor x = at::tensor({0.5, -0.25, 0.25, 0.5}, at::kDouble);
  x.requires_grad_();
  const at::Tensor loss = hinge()(x, at::zeros({4}, at::kLong));
  EXPECT_EQ(loss.item<double>(), 1.5);
  loss.backward();
  EXPECT_TRUE(near(x.grad(), at::tensor({0.5, 0.0, 0.0, 0.5}, at::kDouble)));
}

TEST(LovaszTest, AreZeroWhereNothingCounts) {
  for (const bool per_image : {false, true}) {
    for (const std::int64_t rows : {0, 2}) {
      const at::Tensor ignored = at::full({rows, 4}, 9, at::kLong);
      const at::Tensor x = normal_rows({rows, 3, 4}, 1).requires_grad_();
      at::Tensor loss = softmax(
          LovaszSoftmaxLossOptions().per_image(per_image).ignore_index(9))(
          x, ignored);
      EXPECT_EQ(loss.item<double>(), 0);
      loss.backward();
      EXPECT_EQ(x.grad().abs().sum().item<double>(), 0);
      const at::Tensor z = normal_rows({rows, 4}, 1).requires_grad_();
      loss =
          hinge(LovaszHingeLossOptions().per_image(per_image).ignore_index(9))(
              z, ignored);
      EXPECT_EQ(loss.item<double>(), 0);
      loss.backward();
      EXPECT_EQ(z.grad().abs().sum().item<double>(), 0);
    }
  }
}

TEST(LovaszTest, NanShows) {
  at::Tensor x = normal_rows({5}, 1);
  x[2] = std::nan("");
  EXPECT_TRUE(std::isnan(hinge()(x, labels_of({5}, 2)).item<double>()));
}

THREAD_RANKS_TEST(LovaszTest, SendErrorsThatCount, 2) {
  const auto sent = [&](const at::Tensor& x) {
    return bytes_sent(self, hinge(), x.to(at::kFloat),
                      at::full({x.size(0)}, 1, at::kLong));
  };
  // Of 5000 positions, 1000 have an error.
  const at::Tensor x = at::arange(5000).remainder(5).mul(2);
  EXPECT_EQ(sent(x) - sent(at::full({0}, 2.0)), 4 * 1000);
}

THREAD_RANKS_TEST(LovaszTest, SendEveryPositionAndClass, 2) {
  const auto sent = [&](std::int64_t images) {
    return bytes_sent(self, softmax(),
                      normal_rows({images, 3, 50}, 1).to(at::kFloat),
                      labels_of({images, 50}, 3));
  };
  EXPECT_EQ(sent(30) - sent(10), 4 * 20 * 50 * 3);
}

THREAD_RANKS_TEST(LovaszTest, SendTwoNumbersForImages, 2) {
  const auto sent = [&](std::int64_t images) {
    const at::Tensor y = labels_of({images, 50}, 2);
    return std::pair(
        bytes_sent(self, hinge(LovaszHingeLossOptions().per_image(true)),
                   normal_rows({images, 50}, 1), y),
        bytes_sent(self, softmax(LovaszSoftmaxLossOptions().per_image(true)),
                   normal_rows({images, 2, 50}, 1), y));
  };
  EXPECT_EQ(sent(30), sent(10 * self.rank()));
}

THREAD_RANKS_TEST(LovaszTest, TellOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({4, 3, 2}, 1), y = labels_of({4, 2}, 3);
  const at::Tensor b = normal_rows({4, 2}, 1);
  const auto refused = [&](const Loss& loss, const at::Tensor& preds,
                           const at::Tensor& good, const at::Tensor& bad,
                           const std::string& message) {
    expect_refused_on_all_ranks(self, loss, preds, good, preds, bad, message);
  };
  refused(softmax(), x, y, y.add(1),
          "LovaszSoftmaxLoss: expected target to be a class below 3, got 3");
  refused(softmax(), x, y, x,
          "LovaszSoftmaxLoss: expected target of classes, of one dimension "
          "less than preds, got [4, 3, 2]");
  refused(hinge(), b, y.remainder(2), y.sub(1),
          "LovaszHingeLoss: expected target to be a class below 2, got -1");
  refused(hinge(), b, y.remainder(2), b,
          "LovaszHingeLoss: expected target of integers or bool, got "
          "CPUDoubleType");
  refused(hinge(), b, y.remainder(2), y.narrow(0, 0, 3),
          "LovaszHingeLoss: expected target of size [4, 2], got [3, 2]");
}

TEST(LovaszTest, RefuseOptionsThatDoNotFit) {
  EXPECT_EQ(refusal_of(
                [] { softmax(LovaszSoftmaxLossOptions().only_classes({-1})); }),
            "LovaszSoftmaxLoss: expected only_classes of at least 0, got -1");
  EXPECT_EQ(refusal_of([] {
              softmax(LovaszSoftmaxLossOptions().only_classes({3}))(
                  normal_rows({2, 3}, 1), at::tensor({0, 1}));
            }),
            "LovaszSoftmaxLoss: expected only_classes below 3, got 3");
  EXPECT_EQ(refusal_of([] {
              softmax(LovaszSoftmaxLossOptions().input(ScoreKind::kScores));
            }),
            "LovaszSoftmaxLoss: expected input to be probabilities or logits, "
            "got scores");
  EXPECT_EQ(c10::str(LovaszHingeLoss()),
            "tally::losses::LovaszHingeLoss(per_image=false, "
            "ignore_index=none)");
}

}  // namespace
}  // namespace tally::losses
