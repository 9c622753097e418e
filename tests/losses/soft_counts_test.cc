#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tally/losses/soft_counts/balanced_accuracy_loss.h"
#include "tally/losses/soft_counts/dice_loss.h"
#include "tally/losses/soft_counts/f_beta_loss.h"
#include "tally/losses/soft_counts/jaccard_loss.h"
#include "tally/losses/soft_counts/matthews_loss.h"
#include "tally/losses/soft_counts/tversky_loss.h"
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
  return {{"DiceLoss", made<DiceLoss, DiceLossOptions>},
          {"GeneralizedDiceLoss",
           made<GeneralizedDiceLoss, GeneralizedDiceLossOptions>},
          {"JaccardLoss", made<JaccardLoss, JaccardLossOptions>},
          {"TverskyLoss",
           made<TverskyLoss, TverskyLossOptions>,
           {{"alpha", "0.3"}, {"beta", "0.7"}}},
          {"FocalTverskyLoss",
           made<FocalTverskyLoss, FocalTverskyLossOptions>,
           {{"beta", "0.8"}}},
          {"FBetaLoss", made<FBetaLoss, FBetaLossOptions>, {{"beta", "2"}}},
          {"MatthewsLoss", made<MatthewsLoss, MatthewsLossOptions>},
          {"BalancedAccuracyLoss",
           made<BalancedAccuracyLoss, BalancedAccuracyLossOptions>}};
}

TEST(SoftCountsTest, GiveWhatPeersDo) {
  for (const NamedLoss& named : losses()) {
    if (named.name == std::string("FBetaLoss") ||
        named.name == std::string("BalancedAccuracyLoss")) {
      continue;
    }
    check_peers(named.name, named.make);
  }
}

/// Scores of 3 classes at 2 positions of each row, from features, and what is
/// made of the losses of classes.
LossSubject subject_of(const Loss& loss, const at::Tensor& labels) {
  LossSubject subject;
  subject.make = [loss] {
    const at::Tensor weight = normal_rows({4, 3}, 3).requires_grad_();
    return LossInstance{[loss, weight](const Tensors& batch) {
                          const at::Tensor value =
                              loss(batch[0].matmul(weight).transpose(1, 2),
                                   batch[1]);
                          if (value.dim() == 0) return value;
                          return value.mul(at::tensor({1.0, -2.0, 0.5})).sum();
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({9, 2, 4}, 1), labels};
  return subject;
}

TEST(SoftCountsTest, AreThoseOfTheGlobalBatch) {
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    check_loss(subject_of(named.make(named.options), labels_of({9, 2}, 3)));
  }
}

TEST(SoftCountsTest, FormsAreThoseOfTheGlobalBatch) {
  const at::Tensor classes = labels_of({9, 2}, 3);
  const at::Tensor labels = labels_of({9, 3, 2}, 2);
  // Of the last class there is none.
  const at::Tensor two = labels_of({9, 2}, 2);
  const auto check = [&](const char* what, const OptionTexts& options,
                         const at::Tensor& target) {
    SCOPED_TRACE(what);
    LossSubject subject =
        subject_of(made<DiceLoss, DiceLossOptions>(options), target);
    subject.ranks = {1, 3};
    check_loss(subject);
  };
  check("samples", {{"batch", "false"}, {"smooth_nr", "0.1"}}, classes);
  check("samples of present classes",
        {{"batch", "false"}, {"absent", "skip"}, {"average", "none"}}, two);
  check("multilabel", {{"mode", "multilabel"}, {"average", "micro"}}, labels);
  check("binary", {{"mode", "binary"}}, labels);
  check("each class", {{"average", "none"}, {"absent", "zero"}}, two);
  check("weighted", {{"average", "weighted"}}, classes);
  check("ignored", {{"ignore_index", "1"}, {"absent", "skip"}}, classes);
  check("foreground", {{"include_background", "false"}}, classes);
}

TEST(SoftCountsTest, LabelsMayBeSoft) {
  const Loss loss = made<DiceLoss, DiceLossOptions>({{"soft_labels", "true"}});
  LossSubject subject = subject_of(
      [loss](const at::Tensor& x, const at::Tensor& y) {
        return loss(x, y.to(at::kDouble).div(10));
      },
      labels_of({9, 3, 2}, 11));
  check_loss(subject);
  // The prediction of the labels is the best one.
  const at::Tensor y = at::full({2, 2}, 0.5, at::kDouble);
  const DiceLossOptions binary = DiceLossOptions()
                                     .mode(LabelMode::kBinary)
                                     .input(ScoreKind::kProbabilities);
  EXPECT_NEAR(functional::dice_loss(y, y, binary).item<double>(), 0.5, 1e-5);
  EXPECT_NEAR(
      functional::dice_loss(y, y, DiceLossOptions(binary).soft_labels(true))
          .item<double>(),
      0, 1e-12);
}

/// Of probabilities [N, C, P] and labels of the same size.
struct Counts {
  explicit Counts(const Tensors& batch, const Tensors& parameters) {
    const at::Tensor p =
        batch[0].matmul(parameters[0]).transpose(1, 2).softmax(1);
    const at::Tensor y =
        at::one_hot(batch[1], 3).transpose(1, 2).to(at::kDouble);
    tp = p.mul(y).sum(at::IntArrayRef({0, 2}));
    predicted = p.sum(at::IntArrayRef({0, 2}));
    actual = y.sum(at::IntArrayRef({0, 2}));
    total = static_cast<double>(batch[1].numel());
  }
  at::Tensor tp, predicted, actual;
  double total;
};

TEST(SoftCountsTest, AreTheirDefinitions) {
  const auto check = [&](const Loss& loss, const auto& definition) {
    LossSubject subject = subject_of(loss, labels_of({9, 2}, 3));
    subject.reference = [definition](const Tensors& batch,
                                     const Tensors& parameters) {
      return definition(Counts(batch, parameters));
    };
    subject.ranks = {2};
    check_loss(subject);
  };
  check(made<FBetaLoss, FBetaLossOptions>({{"beta", "0.5"}}), [](Counts of) {
    return 1 -
           ((1.25 * of.tp + 1e-5) / (of.predicted + 0.25 * of.actual + 1e-5))
               .mean();
  });
  check(made<BalancedAccuracyLoss, BalancedAccuracyLossOptions>({}),
        [](Counts of) {
          return 1 - ((of.tp + 1e-5) / (of.actual + 1e-5)).mean();
        });
  check(made<MatthewsLoss, MatthewsLossOptions>({}), [](Counts of) {
    const double n = of.total;
    return 1 - (n * of.tp.sum() - (of.predicted * of.actual).sum() + 1e-5) /
                   ((n * n - of.predicted.square().sum()) *
                        (n * n - of.actual.square().sum()) +
                    1e-5)
                       .sqrt();
  });
  check(made<FocalTverskyLoss, FocalTverskyLossOptions>({{"gamma", "2"}}),
        [](Counts of) {
          return (1 - (2 * of.tp + 2e-5) / (of.predicted + of.actual + 2e-5))
              .sqrt()
              .mean();
        });
}

TEST(SoftCountsTest, BinaryBalancedAccuracyIsOfBothRecalls) {
  const at::Tensor p = at::tensor({0.9, 0.6, 0.2, 0.7, 0.1}, at::kDouble);
  const at::Tensor y = at::tensor({1, 1, 0, 0, 0});
  const at::Tensor loss =
      functional::balanced_accuracy_loss(p, y,
                                         BalancedAccuracyLossOptions()
                                             .mode(LabelMode::kBinary)
                                             .input(ScoreKind::kProbabilities)
                                             .smooth_nr(0)
                                             .smooth_dr(1e-12));
  EXPECT_NEAR(loss.item<double>(), 1 - (0.75 + 2.0 / 3) / 2, 1e-9);
}

TEST(SoftCountsTest, HaveSecondDerivatives) {
  for (const OptionTexts& options :
       {OptionTexts{}, OptionTexts{{"batch", "false"}, {"mode", "multilabel"}},
        OptionTexts{{"input", "probabilities"}, {"soft_labels", "true"}}}) {
    const Loss loss = made<DiceLoss, DiceLossOptions>(options);
    const bool multilabel = options.count("mode") > 0;
    LossSubject subject = subject_of(
        loss, multilabel ? labels_of({9, 3, 2}, 2) : labels_of({9, 2}, 3));
    subject.ranks = {1, 3};
    check_second_derivatives(subject);
  }
}

/// In one pass and in backward, as by LibTorch's functions.
TEST(SoftCountsTest, KernelsAgreeWithPlainFunctions) {
  const auto naive = [](const at::Tensor& x, const at::Tensor& y) {
    const at::Tensor p = x.softmax(1);
    const at::Tensor label =
        at::one_hot(y, x.size(1)).movedim(-1, 1).to(x.scalar_type());
    const at::Tensor tp = p.mul(label).sum(at::IntArrayRef({0, 2, 3}));
    const at::Tensor all = p.sum(at::IntArrayRef({0, 2, 3})) +
                           label.sum(at::IntArrayRef({0, 2, 3}));
    return 1 - ((2 * tp + 1e-5) / (all + 1e-5)).mean();
  };
  for (const auto& [channels, height, width] :
       {std::tuple(3, 97, 101), std::tuple(2, 1, 1), std::tuple(70, 5, 13)}) {
    const at::Tensor scores =
        normal_rows({3, channels, height, width}, 5).mul(3);
    const at::Tensor labels = labels_of({3, height, width}, channels);
    at::Tensor wide = scores.clone().requires_grad_();
    naive(wide, labels).backward();
    for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kHalf}) {
      for (const char* layout : {"contiguous", "channels last", "a slice"}) {
        SCOPED_TRACE(c10::str(channels, " classes, ", dtype, ", ", layout));
        at::Tensor x = scores.to(dtype).clone();
        if (layout != std::string("contiguous")) {
          x = x.contiguous(at::MemoryFormat::ChannelsLast);
        }
        if (layout == std::string("a slice")) {
          x = at::cat({x, x}, 1).narrow(1, 0, channels).detach();
        }
        x.requires_grad_();
        const at::Tensor loss = functional::dice_loss(x, labels.to(at::kInt));
        // float16 has no small numbers.
        loss.mul(4096).backward();
        const double tolerance = dtype == at::kDouble  ? 1e-12
                                 : dtype == at::kFloat ? 1e-5
                                                       : 5e-3;
        EXPECT_EQ(loss.scalar_type(),
                  dtype == at::kDouble ? at::kDouble : at::kFloat);
        EXPECT_TRUE(near(loss.detach(), naive(wide, labels).detach(),
                         {tolerance, tolerance}));
        const double largest = wide.grad().abs().max().item<double>();
        EXPECT_TRUE(near(x.grad().to(at::kDouble).div(4096), wide.grad(),
                         {0, tolerance * largest}));
      }
    }
  }
}

TEST(SoftCountsTest, PositionsThatDoNotCountMayHoldAnything) {
  at::Tensor x = normal_rows({2, 3, 4}, 1);
  at::Tensor y = labels_of({2, 4}, 3);
  const at::Tensor kept = functional::dice_loss(
      at::cat({x.select(0, 0), x.select(0, 1).narrow(1, 1, 3)}, 1).unsqueeze(0),
      at::cat({y[0], y[1].narrow(0, 1, 3)}).unsqueeze(0));
  x.select(0, 1).select(1, 0).fill_(std::nan(""));
  y[1][0] = 255;
  x.requires_grad_();
  const at::Tensor loss =
      functional::dice_loss(x, y, DiceLossOptions().ignore_index(255));
  EXPECT_NEAR(loss.item<double>(), kept.item<double>(), 1e-12);
  loss.backward();
  EXPECT_EQ(x.grad().select(0, 1).select(1, 0).abs().max().item<double>(), 0);
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
  // Where they count, they show.
  EXPECT_TRUE(std::isnan(
      functional::dice_loss(x.detach(), y.clamp_max(2)).item<double>()));
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    for (const std::int64_t place : {0, 1, 2}) {
      at::Tensor scores = at::zeros({1, 3, 4}, dtype);
      scores.select(1, place).fill_(std::nan(""));
      EXPECT_TRUE(std::isnan(
          functional::dice_loss(scores, y[0].unsqueeze(0)).item<double>()));
      const auto labels = DiceLossOptions().mode(LabelMode::kMultilabel);
      EXPECT_TRUE(
          std::isnan(functional::dice_loss(scores, at::ones({1, 3, 4}), labels)
                         .item<double>()));
    }
  }
}

TEST(SoftCountsTest, AreZeroWhereNothingCounts) {
  for (const NamedLoss& named : losses()) {
    for (const char* batch : {"true", "false"}) {
      SCOPED_TRACE(named.name);
      OptionTexts options = named.options;
      options["batch"] = batch;
      options["ignore_index"] = "-1";
      const Loss loss = named.make(options);
      for (const std::int64_t rows : {0, 2}) {
        const at::Tensor x = normal_rows({rows, 3, 2}, 1).requires_grad_();
        const at::Tensor value = loss(x, at::full({rows, 2}, -1, at::kLong));
        EXPECT_EQ(value.item<double>(), 0);
        value.backward();
        EXPECT_EQ(x.grad().abs().sum().item<double>(), 0);
      }
    }
  }
}

TEST(SoftCountsTest, AbsentClassesCostWhatIsAsked) {
  const at::Tensor p = at::tensor({0.5, 0.25, 0.25}, at::kDouble).view({1, 3});
  const at::Tensor y = at::tensor({0});
  const auto options = DiceLossOptions()
                           .input(ScoreKind::kProbabilities)
                           .average(Average::kNone)
                           .smooth_nr(0)
                           .smooth_dr(1e-15);
  const auto with = [&](AbsentClassLoss absent, Average average) {
    return functional::dice_loss(
        p, y, DiceLossOptions(options).absent(absent).average(average));
  };
  const double one = 1.0 / 3;  // 1 - 2 * 0.5 / 1.5
  EXPECT_TRUE(near(with(AbsentClassLoss::kSmooth, Average::kNone),
                   at::tensor({one, 1.0, 1.0}, at::kDouble), {0, 1e-12}));
  EXPECT_TRUE(near(with(AbsentClassLoss::kZero, Average::kNone),
                   at::tensor({one, 0.0, 0.0}, at::kDouble), {0, 1e-12}));
  EXPECT_NEAR(with(AbsentClassLoss::kZero, Average::kMacro).item<double>(),
              one / 3, 1e-12);
  EXPECT_NEAR(with(AbsentClassLoss::kSkip, Average::kMacro).item<double>(), one,
              1e-12);
}

TEST(SoftCountsTest, HaveFiniteGradientsWherePredictionsArePerfect) {
  const at::Tensor y = labels_of({4, 5}, 3);
  for (const NamedLoss& named : losses()) {
    SCOPED_TRACE(named.name);
    const at::Tensor x =
        at::one_hot(y, 3).transpose(1, 2).mul(200.0f).requires_grad_();
    const at::Tensor loss = named.make(named.options)(x, y);
    EXPECT_NEAR(loss.item<double>(), 0, 1e-4);
    loss.backward();
    EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
  }
}

TEST(SoftCountsTest, RunInInferenceMode) {
  const at::Tensor x = normal_rows({2, 3, 4}, 1), y = labels_of({2, 4}, 3);
  const at::Tensor expected = functional::dice_loss(x, y);
  const c10::InferenceMode inference;
  EXPECT_TRUE(near(functional::dice_loss(x.clone(), y.clone()), expected));
}

TEST(SoftCountsTest, RefuseATargetThatWasChanged) {
  const at::Tensor x = normal_rows({4, 3}, 1).requires_grad_();
  const at::Tensor y = labels_of({4}, 3).clone();
  const at::Tensor loss = functional::dice_loss(x, y);
  y.zero_();
  try {
    loss.backward();
    ADD_FAILURE() << "no error";
  } catch (const c10::Error& error) {
    EXPECT_EQ(std::string(error.what_without_backtrace()),
              "DiceLoss: target, which the backward pass needs, was changed in "
              "place");
  }
}

THREAD_RANKS_TEST(SoftCountsTest, SendSumsOfAnyNumberOfPositions, 2) {
  const at::Tensor x = normal_rows({100 * self.rank(), 5, 8}, 1);
  const at::Tensor y = labels_of({x.size(0), 8}, 5);
  const at::Tensor more_x = normal_rows({400, 5, 80}, 1);
  const at::Tensor more_y = labels_of({400, 80}, 5);
  for (const NamedLoss& named : losses()) {
    for (const char* const batch : {"true", "false"}) {
      SCOPED_TRACE(std::string(named.name) + ", batch=" + batch);
      OptionTexts options = named.options;
      options["batch"] = batch;
      const Loss loss = named.make(options);
      EXPECT_EQ(bytes_sent(self, loss, x, y),
                bytes_sent(self, loss, more_x, more_y));
    }
  }
  // Four for each class; those of few classes have room in a slot.
  const auto sent = [&](std::int64_t classes) {
    return bytes_sent(self, losses()[0].loss(), normal_rows({9, classes}, 1),
                      labels_of({9}, classes));
  };
  EXPECT_EQ(sent(3000) - sent(2000), 1000 * 4 * 8);
}

THREAD_RANKS_TEST(SoftCountsTest, TellOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({4, 3, 2}, 1), y = labels_of({4, 2}, 3);
  const auto refused = [&](const at::Tensor& preds, const at::Tensor& target,
                           const std::string& message,
                           const DiceLossOptions& options = {}) {
    expect_refused_on_all_ranks(
        self,
        [&](const at::Tensor& p, const at::Tensor& t) {
          return functional::dice_loss(p, t, options);
        },
        x, y, preds, target, message);
  };
  refused(x, y.add(1),
          "DiceLoss: expected target to be a class below 3, got 3");
  refused(x, y.sub(2),
          "DiceLoss: expected target to be a class below 3 or 7, got -2",
          DiceLossOptions().ignore_index(7));
  refused(x, at::full({4, 3, 2}, 1.5),
          "DiceLoss: expected target in [0, 1], got 1.5");
  refused(x, at::full({4, 3, 2}, std::nan("")),
          "DiceLoss: expected target in [0, 1], got nan");
  refused(x, y.to(at::kFloat),
          "DiceLoss: expected target of integers, got CPUFloatType");
  refused(x, y.narrow(0, 0, 3),
          "DiceLoss: expected target of size [4, 2] or [4, 3, 2], got [3, 2]");
  refused(at::Tensor(), y,
          "DiceLoss: expected preds of size [N, C, ...] with at least 2 "
          "classes and a floating dtype, got an undefined tensor");
  refused(x.narrow(1, 0, 1), y,
          "DiceLoss: expected preds of size [N, C, ...] with at least 2 "
          "classes and a floating dtype, got CPUDoubleType [4, 1, 2]");
  refused(x, at::full({4, 3, 2}, 0.5).requires_grad_(),
          "DiceLoss: expected target that requires no gradient; detach() it");
  refused(x, at::full({4, 3, 2}, 0.5),
          "DiceLoss: expected target of integers with ignore_index, got "
          "CPUFloatType",
          DiceLossOptions().ignore_index(0));
  refused(x, at::full({4, 3, 2}, 1, at::kLong),
          "DiceLoss: expected target of size [4, 2] with ignore_index, got "
          "[4, 3, 2]",
          DiceLossOptions().ignore_index(0));
}

TEST(SoftCountsTest, RefuseOptionsThatDoNotFit) {
  const auto refusal = [](const NamedLoss& named, const OptionTexts& texts) {
    return refusal_of([&] { named.make(texts); });
  };
  const auto all = losses();
  EXPECT_EQ(refusal(all[0], {{"smooth_nr", "-1"}}),
            "DiceLoss: expected smooth_nr of at least 0, got -1");
  EXPECT_EQ(refusal(all[1], {{"smooth_dr", "0"}}),
            "GeneralizedDiceLoss: expected smooth_dr above 0, got 0");
  EXPECT_EQ(refusal(all[2], {{"input", "scores"}}),
            "JaccardLoss: expected input to be probabilities or logits, got "
            "scores");
  EXPECT_EQ(refusal(all[3], {{"alpha", "-0.5"}}),
            "TverskyLoss: expected alpha of at least 0, got -0.5");
  EXPECT_EQ(refusal(all[4], {{"gamma", "0"}}),
            "FocalTverskyLoss: expected gamma above 0, got 0");
  EXPECT_EQ(refusal(all[5], {{"beta", "nan"}}),
            "FBetaLoss: expected beta above 0, got nan");
}

TEST(SoftCountsTest, PrintThemselves) {
  EXPECT_EQ(c10::str(TverskyLoss(TverskyLossOptions().alpha(0.3))),
            "tally::losses::TverskyLoss(mode=multiclass, input=logits, "
            "batch=true, soft_labels=false, absent=smooth, "
            "include_background=true, ignore_index=none, smooth_nr=1e-05, "
            "smooth_dr=1e-05, average=macro, alpha=0.3, beta=0.5)");
}

}  // namespace
}  // namespace tally::losses
