#include "tally/losses/calibration/cross_entropy_loss.h"

#include <ATen/Parallel.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

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

const auto cross_entropy =
    made<GlobalCrossEntropyLoss, GlobalCrossEntropyLossOptions>;
const auto focal = made<FocalLoss, FocalLossOptions>;

TEST(CrossEntropyLossTest, GiveWhatPeersDo) {
  check_peers("CrossEntropyLoss", cross_entropy);
  check_peers("FocalLoss", focal);
}

LossSubject subject_of(const Loss& loss, const at::Tensor& labels) {
  LossSubject subject;
  subject.make = [loss] {
    const at::Tensor weight = normal_rows({4, 3}, 3).requires_grad_();
    return LossInstance{[loss, weight](const Tensors& batch) {
                          return loss(batch[0].matmul(weight).transpose(1, 2),
                                      batch[1]);
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({9, 2, 4}, 1), labels};
  return subject;
}

TEST(CrossEntropyLossTest, AreThoseOfTheGlobalBatch) {
  const at::Tensor classes = labels_of({9, 2}, 3);
  const at::Tensor labels = labels_of({9, 3, 2}, 2);
  const std::string weights = "[0.2, 3, 1]";
  check_loss(subject_of(cross_entropy({{"class_weights", weights},
                                       {"label_smoothing", "0.1"},
                                       {"ignore_index", "2"}}),
                        classes));
  LossSubject subject = subject_of(
      focal({{"class_weights", weights}, {"gamma", "1.5"}}), classes);
  check_loss(subject);
  subject.ranks = {3};
  check_second_derivatives(subject);
  subject = subject_of(focal({{"class_weights", weights},
                              {"mode", "multilabel"},
                              {"alpha", "0.25"},
                              {"label_smoothing", "0.1"}}),
                       labels);
  subject.ranks = {1, 3};
  check_loss(subject);
  subject.make =
      subject_of(
          [](const at::Tensor& x, const at::Tensor& y) {
            return functional::cross_entropy_loss(x, y.to(at::kDouble).div(4));
          },
          labels)
          .make;
  check_loss(subject);
}

TEST(CrossEntropyLossTest, ExtremeLogitsHaveFiniteGradients) {
  const double infinity = std::numeric_limits<double>::infinity();
  // Certain of the right class, of the wrong one, and a class ruled out.
  const at::Tensor scores =
      at::tensor({200.0, 0.0, 0.0, 0.0, 200.0, 0.0, 1.0, 2.0, -infinity},
                 at::kDouble)
          .view({3, 3});
  // Few classes and many are read in different ways.
  const at::Tensor more =
      at::cat({scores, at::full({3, 8}, -infinity, at::kDouble)}, 1);
  for (const double gamma : {0.0, 0.5, 2.0}) {
    for (const at::Tensor& each : {scores, more}) {
      at::Tensor x = each.clone();
      x.requires_grad_();
      const at::Tensor loss = functional::focal_loss(
          x, at::tensor({0, 0, 1}), FocalLossOptions().gamma(gamma));
      const double last = std::log1p(std::exp(-1.0));
      EXPECT_NEAR(loss.item<double>(),
                  (200 + last * std::pow(-std::expm1(-last), gamma)) / 3, 1e-9);
      loss.backward();
      EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << gamma;
    }
  }
}

TEST(CrossEntropyLossTest, NanShows) {
  for (const std::int64_t classes : {3, 11}) {
    for (const double strange :
         {std::nan(""), std::numeric_limits<double>::infinity()}) {
      for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
        for (const char* const smoothing : {"0", "0.1"}) {
          at::Tensor x = normal_rows({4, classes}, 1).to(dtype);
          x[1][2].fill_(strange);
          x.requires_grad_();
          const at::Tensor loss = cross_entropy(
              {{"label_smoothing", smoothing}})(x, at::tensor({0, 1, 2, 0}));
          EXPECT_TRUE(std::isnan(loss.item<double>())) << strange;
          loss.backward();
          EXPECT_TRUE(x.grad()[1].isnan().all().item<bool>()) << x.grad();
          EXPECT_TRUE(x.grad()[2].isfinite().all().item<bool>()) << x.grad();
        }
      }
    }
  }
}

TEST(CrossEntropyLossTest, AreZeroWhereNothingCounts) {
  for (const std::int64_t rows : {0, 2}) {
    for (const std::vector<std::int64_t>& sizes :
         {std::vector<std::int64_t>{rows, 3, 2}, {rows, 3}, {rows, 11}}) {
      std::vector<std::int64_t> of_target = sizes;
      of_target.erase(of_target.begin() + 1);
      at::Tensor x = at::full(sizes, std::nan(""), at::kDouble);
      x.requires_grad_();
      const at::Tensor loss = focal({{"ignore_index", "-1"}})(
          x, at::full(of_target, -1, at::kLong));
      EXPECT_EQ(loss.item<double>(), 0);
      loss.backward();
      EXPECT_EQ(x.grad().abs().sum().item<double>(), 0);
    }
  }
}

TEST(CrossEntropyLossTest, TakeEveryFloatingDtype) {
  for (const std::int64_t classes : {3, 11}) {
    at::Tensor x = normal_rows({9, classes}, 1).mul(16).round().div(16);
    x.requires_grad_();
    const at::Tensor y = labels_of({9}, classes);
    const at::Tensor expected = focal({})(x, y);
    expected.backward();
    for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
      const at::Tensor narrow = x.detach().to(dtype).requires_grad_();
      const at::Tensor loss = focal({})(narrow, y.to(at::kInt));
      EXPECT_EQ(loss.scalar_type(), at::kFloat);
      EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-6);
      loss.backward();
      EXPECT_EQ(narrow.grad().scalar_type(), dtype);
      EXPECT_TRUE(near(narrow.grad(), x.grad(), {1e-2, 1e-3}));
    }
  }
}

// Value and gradient are those of LibTorch's function.
void expect_like(const Loss& loss, const Loss& expected, const at::Tensor& x,
                 const at::Tensor& y) {
  const bool narrow = x.scalar_type() == at::kFloat;
  const Tolerance tolerance =
      narrow ? Tolerance{1e-5, 1e-7} : Tolerance{1e-10, 1e-14};
  Tensors values, gradients;
  for (const Loss& each : {loss, expected}) {
    at::Tensor leaf = x.detach();
    leaf.requires_grad_();
    values.push_back(each(leaf, y));
    values.back().backward();
    gradients.push_back(leaf.grad());
  }
  EXPECT_TRUE(near(values[0].detach(), values[1].detach(), tolerance));
  EXPECT_TRUE(near(gradients[0], gradients[1], tolerance));
}

// Of classes, with a weight for each.
std::string weights_of(std::int64_t classes) {
  std::string text;
  for (std::int64_t c = 0; c < classes; ++c) {
    text += (c == 0 ? "[" : ", ") + std::to_string(c % 3 + 1);
  }
  return text + "]";
}

// The mean of (1 - p)^2 times the cross-entropy, by LibTorch's functions.
at::Tensor focal_of(const at::Tensor& x, const at::Tensor& y,
                    const at::Tensor& weights) {
  const at::Tensor counts = y.ne(2), index = y.mul(counts);
  const at::Tensor log_p =
      x.log_softmax(1).gather(1, index.unsqueeze(1)).squeeze(1);
  const at::Tensor weight =
      weights.index_select(0, index.flatten()).view(y.sizes()).mul(counts);
  return log_p.neg()
      .mul(log_p.exp().neg().add(1).square())
      .mul(weight)
      .sum()
      .div(weight.sum());
}

TEST(CrossEntropyLossTest, AreLibTorchsOfEveryLayout) {
  // Rows of few classes and of many, which fill vectors or do not, of one block
  // or several; planes of several blocks; and a last dimension of size 1.
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{33, 3},
        {2, 5},
        {7, 8},
        {40, 16},
        {1, 19},
        {700, 37},
        {3, 3, 70, 90},
        {2, 11, 5, 7},
        {5, 3, 7, 1},
        {21, 12, 1}}) {
    const std::int64_t classes = sizes[1];
    std::vector<std::int64_t> of_target = sizes;
    of_target.erase(of_target.begin() + 1);
    const std::int64_t count = c10::multiply_integers(of_target);
    // One in two numbers of another tensor.
    const at::Tensor y = at::arange(2 * count, at::kLong)
                             .mul(7)
                             .remainder(classes)
                             .view({count, 2})
                             .select(1, 1)
                             .view(of_target);
    const at::Tensor weights =
        at::arange(classes, at::kDouble).remainder(3).add(1);
    const std::string texts = weights_of(classes);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      at::Tensor x = normal_rows({count, classes}, 5).to(dtype);
      for (int layout = 0; layout < 2; ++layout) {
        x = layout == 0 ? x.reshape(sizes)
                        : x.transpose(1, -1).contiguous().transpose(1, -1);
        SCOPED_TRACE(c10::str(x.toString(), ' ', x.sizes(), x.strides()));
        for (const double smoothing : {0.0, 0.1}) {
          expect_like(
              cross_entropy({{"class_weights", texts},
                             {"label_smoothing", std::to_string(smoothing)},
                             {"ignore_index", "2"}}),
              [&](const at::Tensor& scores, const at::Tensor& target) {
                return at::cross_entropy_loss(scores, target, weights.to(dtype),
                                              at::Reduction::Mean, 2,
                                              smoothing);
              },
              x, y);
        }
        expect_like(
            focal({{"class_weights", texts}, {"ignore_index", "2"}}),
            [&](const at::Tensor& scores, const at::Tensor& target) {
              return focal_of(scores, target, weights.to(dtype));
            },
            x, y);
        const at::Tensor labels = x.detach().sin().square();
        expect_like(
            cross_entropy({{"mode", "multilabel"}}),
            [](const at::Tensor& scores, const at::Tensor& target) {
              return at::binary_cross_entropy_with_logits(scores, target);
            },
            x, labels);
        expect_like(
            cross_entropy({{"mode", "multilabel"}, {"class_weights", texts}}),
            [&](const at::Tensor& scores, const at::Tensor& target) {
              std::vector<std::int64_t> per_class(scores.dim(), 1);
              per_class[1] = classes;
              const at::Tensor weight =
                  weights.to(dtype).view(per_class).expand_as(scores);
              return at::binary_cross_entropy_with_logits(
                         scores, target, weight, {}, at::Reduction::Sum)
                  .div(weight.sum());
            },
            x, labels);
      }
    }
  }
}

TEST(CrossEntropyLossTest, GradientsWithAGraphAreTheSame) {
  for (const std::int64_t classes : {3, 11}) {
    const at::Tensor x = normal_rows({9, classes}, 1).requires_grad_();
    const at::Tensor loss = focal({})(x, labels_of({9}, classes));
    const auto gradient = [&](bool with_graph) {
      return torch::autograd::grad({loss}, {x}, {}, /*retain_graph=*/true,
                                   with_graph)[0];
    };
    const at::Tensor first = gradient(false);
    EXPECT_TRUE(near(gradient(true).detach(), first, {1e-10, 1e-14}));
    EXPECT_TRUE(gradient(false).equal(first));
  }
}

TEST(CrossEntropyLossTest, SmallLossesKeepTheirDigits) {
  at::Tensor x = at::tensor({20.0f, 0.0f, 0.0f}).view({1, 3});
  x.requires_grad_();
  const at::Tensor loss = functional::cross_entropy_loss(x, at::tensor({0}));
  const double expected = std::log1p(2 * std::exp(-20.0));
  EXPECT_NEAR(loss.item<double>(), expected, 1e-6 * expected);
  loss.backward();
  EXPECT_NEAR(x.grad()[0][0].item<double>(), -expected, 1e-6 * expected);
}

TEST(CrossEntropyLossTest, DoNotDependOnThreads) {
  const int before = at::get_num_threads();
  for (const std::int64_t classes : {7, 37}) {
    const at::Tensor x = normal_rows({20000, classes}, 2).to(at::kFloat);
    const at::Tensor y = labels_of({20000}, classes);
    Tensors values;
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      at::Tensor leaf = x.detach();
      leaf.requires_grad_();
      const at::Tensor loss = focal({})(leaf, y);
      loss.backward();
      values.push_back(
          at::cat({loss.detach().view({1}), leaf.grad().flatten()}));
    }
    EXPECT_TRUE(values[0].equal(values[1]));
    EXPECT_TRUE(values[0].equal(values[2]));
  }
  at::set_num_threads(before);
}

TEST(CrossEntropyLossTest, RefuseATargetThatWasChanged) {
  at::Tensor x = normal_rows({4, 3}, 1).requires_grad_();
  const at::Tensor y = labels_of({4}, 3).clone();
  const at::Tensor loss = functional::cross_entropy_loss(x, y);
  y.zero_();
  try {
    loss.backward();
    ADD_FAILURE() << "no error";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what_without_backtrace())
                  .find("GlobalCrossEntropyLoss: target, which the backward "
                        "pass needs, was changed in place"),
              std::string::npos);
  }
}

THREAD_RANKS_TEST(CrossEntropyLossTest, SendTwoNumbers, 2) {
  const auto sent = [&](std::int64_t rows) {
    return bytes_sent(self, focal({}), normal_rows({rows, 3}, 1),
                      labels_of({rows}, 3));
  };
  EXPECT_EQ(sent(1000 * self.rank()), sent(2));
}

THREAD_RANKS_TEST(CrossEntropyLossTest, TellOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({4, 3}, 1), y = labels_of({4}, 3);
  const auto refused = [&](const at::Tensor& preds, const at::Tensor& target,
                           const std::string& message) {
    expect_refused_on_all_ranks(self, focal({}), x, y, preds, target, message);
  };
  refused(x, y.add(2),
          "FocalLoss: expected target to be a class below 3, got 3");
  refused(x, x.abs().add(2).floor(),
          "FocalLoss: expected target in [0, 1], got 2");
  refused(x, y.narrow(0, 0, 3),
          "FocalLoss: expected target of size [4] or [4, 3], got [3]");
}

TEST(CrossEntropyLossTest, RefuseOptionsThatDoNotFit) {
  const auto refusal = [](const OptionTexts& texts) {
    return refusal_of([&] { focal(texts); });
  };
  EXPECT_EQ(refusal({{"gamma", "-1"}}),
            "FocalLoss: expected gamma of at least 0, got -1");
  EXPECT_EQ(refusal({{"alpha", "2"}, {"mode", "binary"}}),
            "FocalLoss: expected alpha in [0, 1], got 2");
  EXPECT_EQ(refusal({{"alpha", "0.5"}}),
            "FocalLoss: expected class_weights instead of alpha with "
            "LabelMode::kMulticlass");
  EXPECT_EQ(refusal({{"label_smoothing", "1.5"}}),
            "FocalLoss: expected label_smoothing in [0, 1], got 1.5");
  EXPECT_EQ(refusal({{"class_weights", "[1, -2]"}}),
            "FocalLoss: expected class_weights of at least 0, got -2");
  EXPECT_EQ(refusal_of([] {
              focal({{"class_weights", "[1, 2]"}})(normal_rows({2, 3}, 1),
                                                   at::tensor({0, 1}));
            }),
            "FocalLoss: expected 3 class_weights, got 2");
  EXPECT_EQ(c10::str(GlobalCrossEntropyLoss()),
            "tally::losses::GlobalCrossEntropyLoss(mode=multiclass, "
            "class_weights=[], label_smoothing=0, ignore_index=none)");
}

}  // namespace
}  // namespace tally::losses
