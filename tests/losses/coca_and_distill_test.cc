#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tally/losses/pairs/coca_loss.h"
#include "tally/losses/pairs/distill_clip_loss.h"
#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/losses/fixture_options.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using ::tally::testkit::refusal_of;
using testkit::check_loss;
using testkit::FixtureOptions;
using testkit::learned;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::near;
using testkit::normal_rows;
using testkit::unit_rows;
using Tensors = std::vector<at::Tensor>;

TEST(CoCaLossTest, GivesWhatOpenClipDoes) {
  for (const auto& fixture : testkit::read_fixture("peers/CoCaLoss")) {
    SCOPED_TRACE(fixture.name);
    const FixtureOptions of(fixture.options);
    Tensors inputs = testkit::tensors_of(fixture);
    for (at::Tensor& input : inputs) {
      if (input.is_floating_point()) input.requires_grad_();
    }
    CoCaLoss coca(CoCaLossOptions(of.number("caption_loss_weight", 1),
                                  of.number("clip_loss_weight", 1))
                      .pad_id(of.integer("pad_id", 0)));
    const CoCaLosses losses =
        coca->forward(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]);
    (losses.contrastive + losses.caption).backward();
    const std::map<std::string, at::Tensor> actual = {
        {"contrastive", losses.contrastive.detach()},
        {"caption", losses.caption.detach()},
        {"logits_grad", inputs[2].grad()},
        {"image_grad", inputs[0].grad()},
        {"scale_grad", inputs[4].grad()}};
    for (const auto& [name, expected] : fixture.expected) {
      EXPECT_TRUE(near(actual.at(name), expected, {fixture.rtol, fixture.atol}))
          << name;
    }
  }
}

TEST(CoCaLossTest, IsThatOfTheGlobalBatch) {
  LossSubject subject;
  subject.make = [] {
    const at::Tensor scale = learned(3);
    return LossInstance{[scale](const Tensors& batch) {
                          const CoCaLosses losses = functional::coca_loss(
                              batch[0], batch[1], batch[2], batch[3], scale,
                              CoCaLossOptions(2, 0.5).pad_id(-1));
                          return losses.contrastive + losses.caption;
                        },
                        {{"scale", scale}}};
  };
  // Rows have very different numbers of tokens, some none.
  at::Tensor labels = at::randint(5, {9, 3}, at::kLong);
  labels.narrow(0, 0, 4).narrow(1, 1, 2).fill_(-1);
  labels.narrow(0, 7, 2).fill_(-1);
  subject.batch = {unit_rows({9, 4}, 1), unit_rows({9, 4}, 2),
                   normal_rows({9, 3, 5}, 3), labels};
  subject.reference = [](const Tensors& batch, const Tensors& parameters) {
    const at::Tensor logits = batch[0].matmul(batch[1].t()) * parameters[0];
    const at::Tensor pairs =
        logits.logsumexp(0) + logits.logsumexp(1) - 2 * logits.diagonal();
    return 0.25 * pairs.mean() +
           2 * at::cross_entropy_loss(batch[2].flatten(0, 1),
                                      batch[3].flatten(), {},
                                      at::Reduction::Mean, -1);
  };
  check_loss(subject);
}

TEST(CoCaLossTest, WithoutTokensTheCaptionLossIsZero) {
  const at::Tensor logits = at::rand({2, 3, 4}).requires_grad_();
  const CoCaLosses losses = functional::coca_loss(
      {}, {}, logits, at::zeros({2, 3}, at::kLong), {}, CoCaLossOptions(1, 0));
  EXPECT_EQ(losses.caption.item<double>(), 0);
  EXPECT_EQ(losses.contrastive.item<double>(), 0);
  losses.caption.backward();
  EXPECT_EQ(logits.grad().abs().max().item<double>(), 0);
}

TEST(DistillClipLossTest, GivesWhatOpenClipDoes) {
  for (const auto& fixture : testkit::read_fixture("peers/DistillClipLoss")) {
    Tensors inputs = testkit::tensors_of(fixture);
    for (at::Tensor& input : inputs) input.requires_grad_();
    DistillClipLoss loss;
    const DistillClipLosses losses = loss->forward(
        inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5]);
    (losses.contrastive + losses.distill).backward();
    const std::map<std::string, at::Tensor> actual = {
        {"contrastive", losses.contrastive.detach()},
        {"distill", losses.distill.detach()},
        {"image_grad", inputs[0].grad()},
        {"text_grad", inputs[1].grad()},
        {"scale_grad", inputs[2].grad()}};
    for (const auto& [name, expected] : fixture.expected) {
      EXPECT_TRUE(near(actual.at(name), expected, {fixture.rtol, fixture.atol}))
          << name;
    }
    EXPECT_FALSE(inputs[3].grad().defined());
    EXPECT_FALSE(inputs[5].grad().defined());
  }
}

at::Tensor teacher_of(const at::Tensor& numbers, std::int64_t first) {
  return numbers.narrow(1, first, 3).to(at::kDouble).div(100);
}

TEST(DistillClipLossTest, IsThatOfTheGlobalBatch) {
  LossSubject subject;
  subject.make = [] {
    const at::Tensor scale = learned(4);
    return LossInstance{
        [scale](const Tensors& batch) {
          const DistillClipLosses losses = functional::distill_clip_loss(
              batch[0], batch[1], scale, teacher_of(batch[2], 0),
              teacher_of(batch[2], 3), learned(6));
          return losses.contrastive + 3 * losses.distill;
        },
        {{"scale", scale}}};
  };
  // Integers have no gradient, as the teacher's features.
  subject.batch = {unit_rows({9, 4}, 1), unit_rows({9, 4}, 2),
                   normal_rows({9, 6}, 3).mul(100).to(at::kLong)};
  check_loss(subject);
}

TEST(DistillClipLossTest, ATeacherLikeTheStudentLeavesItsEntropy) {
  const at::Tensor image = unit_rows({5, 4}, 1).requires_grad_();
  const at::Tensor text = unit_rows({5, 4}, 2);
  const at::Tensor scale = learned(4);
  const DistillClipLosses losses =
      functional::distill_clip_loss(image, text, scale, image, text, scale);
  losses.distill.backward();
  EXPECT_LT(image.grad().abs().max().item<double>(), 1e-12);
  EXPECT_NEAR(scale.grad().item<double>(), 0, 1e-12);
}

TEST(CoCaLossTest, RefusesOptionsThatDoNotFit) {
  EXPECT_EQ(refusal_of([] { CoCaLoss loss(CoCaLossOptions(-1, 1)); }),
            "CoCaLoss: expected caption_loss_weight of at least 0, got -1");
  EXPECT_EQ(refusal_of([] { CoCaLoss loss(CoCaLossOptions(1, -1)); }),
            "CoCaLoss: expected clip_loss_weight of at least 0, got -1");
  const ClipLossOptions local = ClipLossOptions().local_loss(true);
  EXPECT_EQ(
      refusal_of([&] { CoCaLoss loss(CoCaLossOptions(1, 1).clip(local)); }),
      "CoCaLoss: expected a contrastive loss that is the same on every rank, "
      "as the caption loss is, got local_loss");
  EXPECT_EQ(refusal_of([&] {
              DistillClipLoss loss(DistillClipLossOptions().clip(local));
            }),
            "DistillClipLoss: expected losses that are the same on every rank, "
            "got local_loss");
}

THREAD_RANKS_TEST(CoCaLossTest, TellsOtherRanksOfInputThatDoesNotFit, 2) {
  const at::Tensor rows = at::rand({2, 4}), scale = at::full({}, 3.0);
  const at::Tensor good = at::zeros({2, 3}, at::kLong);
  const auto coca = [&](const at::Tensor& logits, const at::Tensor& labels) {
    return functional::coca_loss(rows, rows, logits, labels, scale,
                                 CoCaLossOptions(1, 1).pad_id(-5));
  };
  const at::Tensor logits = at::rand({2, 3, 7});
  const std::vector<std::pair<std::function<void()>, std::string>> calls = {
      {[&] { coca(logits[0], good); },
       "CoCaLoss: expected logits of size [rows, length, vocabulary] and a "
       "floating dtype, got CPUFloatType [3, 7]"},
      {[&] { coca(logits, good.to(at::kInt)); },
       "CoCaLoss: expected labels of size [2, 3] and dtype int64, got "
       "CPUIntType [2, 3]"},
      {[&] { coca(logits, good + 7); },
       "CoCaLoss: expected labels from 0 to 6, or pad_id, -5, got 7"},
      {[&] { coca(logits, at::Tensor()); },
       "CoCaLoss: expected labels of size [2, 3] and dtype int64, got an "
       "undefined tensor"}};
  for (const auto& [call, text] : calls) {
    if (self.rank() == 1) {
      EXPECT_EQ(refusal_of(call), text);
      continue;
    }
    try {
      coca(logits, good);
      ADD_FAILURE() << text;
    } catch (const sync::SyncError& error) {
      EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
    }
  }
  const auto distill = [&](const at::Tensor& teacher,
                           const at::Tensor& teacher_scale) {
    return functional::distill_clip_loss(rows, rows, scale, teacher, teacher,
                                         teacher_scale);
  };
  if (self.rank() == 1) {
    EXPECT_EQ(refusal_of([&] {
                distill(at::rand({3, 4}), scale);
              }),
              "DistillClipLoss: expected teacher_image_features of 2 rows on "
              "cpu, got 3 on cpu");
  } else {
    EXPECT_THROW(distill(rows, scale), sync::SyncError);
  }
  // Other scales, and then nobody is out of step.
  EXPECT_THROW(distill(rows, scale + self.rank()), sync::SyncError);
  EXPECT_TRUE(distill(rows, scale).distill.defined());
  EXPECT_TRUE(coca(logits, good).contrastive.defined());
}

TEST(CoCaLossTest, Prints) {
  EXPECT_EQ(c10::str(CoCaLoss(CoCaLossOptions(2, 1).pad_id(3))),
            "tally::losses::CoCaLoss(caption_loss_weight=2, "
            "clip_loss_weight=1, pad_id=3, local_loss=false, "
            "gather_with_grad=true, pairwise_logits=tiled, "
            "logits_budget_bytes=0)");
  EXPECT_EQ(c10::str(DistillClipLoss()),
            "tally::losses::DistillClipLoss(local_loss=false, "
            "gather_with_grad=true, pairwise_logits=tiled, "
            "logits_budget_bytes=0)");
}

}  // namespace
}  // namespace tally::losses
