#include "tally/losses/calibration/mmce_loss.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
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

const auto mmce = made<MMCELoss, MMCELossOptions>;

at::Tensor by_definition(const at::Tensor& confidence,
                         const at::Tensor& accuracy, double bandwidth) {
  const at::Tensor error = accuracy - confidence;
  const at::Tensor kernel =
      (-(confidence.unsqueeze(1) - confidence).abs() / bandwidth).exp();
  return (error.unsqueeze(1) * error * kernel).mean();
}

TEST(MMCELossTest, GivesWhatThePapersCodeDoes) {
  check_peers("MMCELoss", mmce);
}

TEST(MMCELossTest, IsThatOfTheGlobalBatch) {
  for (const bool binary : {false, true}) {
    const LabelledLoss loss =
        binary ? mmce({{"mode", "binary"}, {"bandwidth", "0.3"}}) : mmce({});
    LossSubject subject =
        subject_of_scores(loss, normal_rows({17, 4}, 1),
                          labels_of({17}, binary ? 2 : 3), binary ? 1 : 3);
    subject.reference = [binary](const Tensors& batch,
                                 const Tensors& parameters) {
      const at::Tensor scores = batch[0].matmul(parameters[0]);
      if (binary) {
        return by_definition(scores.sigmoid(), batch[1], 0.3).sqrt();
      }
      const at::Tensor p = scores.softmax(1);
      const at::Tensor best = p.argmax(1);
      return by_definition(p.gather(1, best.unsqueeze(1)).squeeze(1),
                           best.eq(batch[1]).to(at::kDouble), 0.4)
          .sqrt();
    };
    if (binary) subject.ranks = {1, 3};
    check_loss(subject);
    subject.ranks = {2};
    check_second_derivatives_are_refused(subject, "are not supported");
  }
}

TEST(MMCELossTest, EqualConfidencesAreNotTakenApart) {
  const auto gradient = [](const std::vector<std::int64_t>& labels) {
    at::Tensor p =
        at::tensor({0.25, 0.75, 0.25, 0.75}, at::kDouble).requires_grad_();
    mmce({{"mode", "binary"}, {"input", "probabilities"}})(p,
                                                           at::tensor(labels))
        .backward();
    return p.grad();
  };
  const at::Tensor given = gradient({0, 1, 1, 1});
  const at::Tensor swapped = gradient({1, 1, 0, 1});
  EXPECT_NEAR(given[0].item<double>(), swapped[2].item<double>(), 1e-15);
  EXPECT_NEAR(given[1].item<double>(), given[3].item<double>(), 1e-15);
}

TEST(MMCELossTest, IsZeroWithoutSamplesOrErrors) {
  const at::Tensor none = normal_rows({0, 3}, 1).requires_grad_();
  at::Tensor loss = mmce({})(none, labels_of({0}, 3));
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  at::Tensor right = at::full({4}, 1.0, at::kDouble).requires_grad_();
  loss = mmce({{"mode", "binary"}, {"input", "probabilities"}})(
      right, at::tensor({1, 1, 1, 1}));
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  EXPECT_EQ(right.grad().abs().sum().item<double>(), 0);
}

TEST(MMCELossTest, NanShows) {
  at::Tensor x = normal_rows({4, 3}, 1);
  x[1][2] = std::nan("");
  EXPECT_TRUE(std::isnan(mmce({})(x, labels_of({4}, 3)).item<double>()));
}

THREAD_RANKS_TEST(MMCELossTest, SendsTwoNumbersForEachSample, 2) {
  const auto sent = [&](std::int64_t rows) {
    return bytes_sent(self, mmce({}), normal_rows({rows, 3}, 1).to(at::kFloat),
                      labels_of({rows}, 3));
  };
  EXPECT_EQ(sent(1000) - sent(10), 990 * 8);
}

THREAD_RANKS_TEST(MMCELossTest, TellsOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({4, 3}, 1), y = labels_of({4}, 3);
  expect_refused_on_all_ranks(
      self, mmce({}), x, y, x, y.add(2),
      "MMCELoss: expected target to be a class below 3, got 3");
}

TEST(MMCELossTest, RefusesOptionsThatDoNotFit) {
  EXPECT_EQ(refusal_of([&] {
              mmce({{"bandwidth", "0"}});
            }),
            "MMCELoss: expected bandwidth above 0, got 0");
  EXPECT_EQ(refusal_of([&] {
              mmce({{"mode", "multilabel"}});
            }),
            "MMCELoss: expected mode to be binary or multiclass, got "
            "multilabel");
  EXPECT_EQ(c10::str(MMCELoss()),
            "tally::losses::MMCELoss(mode=multiclass, input=logits, "
            "bandwidth=0.4, squared=false)");
}

}  // namespace
}  // namespace tally::losses
