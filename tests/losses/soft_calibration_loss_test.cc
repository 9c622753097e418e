#include "tally/losses/calibration/soft_calibration_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tally/testing/ranks_test.h"
#include "tally/tests/losses/labeled_losses.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using namespace testkit;  // NOLINT(google-build-using-namespace)
using Tensors = std::vector<at::Tensor>;

const auto calibration = made<SoftCalibrationLoss, SoftCalibrationLossOptions>;

/// Bin by bin; of 5 bins and the temperature 0.02.
at::Tensor by_definition(const at::Tensor& confidence,
                         const at::Tensor& accuracy, int norm) {
  std::vector<at::Tensor> weights;
  at::Tensor total;
  for (int bin = 0; bin < 5; ++bin) {
    const double center = (2 * bin + 1) / 10.0;
    weights.push_back((-(confidence - center).square() / 0.02).exp());
    total = bin == 0 ? weights[0] : total + weights[bin];
  }
  at::Tensor sum;
  for (const at::Tensor& unscaled : weights) {
    const at::Tensor u = unscaled / total;
    const at::Tensor gap =
        (u * accuracy).sum() / u.sum() - (u * confidence).sum() / u.sum();
    const at::Tensor part = u.sum() * gap.abs().pow(norm);
    sum = sum.defined() ? sum + part : part;
  }
  return (sum / double(confidence.numel())).pow(1.0 / norm);
}

LossSubject subject_of(const OptionTexts& options, bool binary, int norm) {
  LossSubject subject;
  OptionTexts all = options;
  all["n_bins"] = "5";
  all["temperature"] = "0.02";
  all["norm"] = std::to_string(norm);
  subject.make = [loss = calibration(all), binary] {
    const at::Tensor weight = normal_rows({4, 3}, 3).requires_grad_();
    return LossInstance{[loss, weight, binary](const Tensors& batch) {
                          const at::Tensor scores = batch[0].matmul(weight);
                          return loss(binary ? scores.select(1, 0) : scores,
                                      batch[1]);
                        },
                        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({17, 4}, 1), labels_of({17}, binary ? 2 : 3)};
  subject.reference = [binary, norm](const Tensors& batch,
                                     const Tensors& parameters) {
    const at::Tensor scores = batch[0].matmul(parameters[0]);
    if (binary) {
      return by_definition(scores.select(1, 0).sigmoid(), batch[1], norm);
    }
    const at::Tensor p = scores.softmax(1);
    const at::Tensor best = p.argmax(1);
    return by_definition(p.gather(1, best.unsqueeze(1)).squeeze(1),
                         best.eq(batch[1]), norm);
  };
  return subject;
}

TEST(SoftCalibrationLossTest, IsThatOfTheGlobalBatch) {
  LossSubject subject = subject_of({}, false, 2);
  check_loss(subject);
  subject.reference = {};
  subject.ranks = {3};
  check_second_derivatives(subject);
  subject = subject_of({{"mode", "binary"}}, true, 1);
  subject.ranks = {1, 3};
  check_loss(subject);
}

TEST(SoftCalibrationLossTest, IsZeroWithoutSamplesOrErrors) {
  const at::Tensor none = normal_rows({0, 3}, 1).requires_grad_();
  at::Tensor loss = calibration({})(none, labels_of({0}, 3));
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  // Of one bin, right half of the time and confident by half.
  const at::Tensor half = at::full({4}, 0.5, at::kDouble).requires_grad_();
  loss = calibration(
      {{"mode", "binary"}, {"input", "probabilities"}, {"n_bins", "1"}})(
      half, at::tensor({0, 1, 1, 0}));
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  EXPECT_EQ(half.grad().abs().sum().item<double>(), 0);
}

THREAD_RANKS_TEST(SoftCalibrationLossTest, SendsThreeNumbersForEachBin, 2) {
  const auto sent = [&](std::int64_t rows) {
    return bytes_sent(self, calibration({}), normal_rows({rows, 3}, 1),
                      labels_of({rows}, 3));
  };
  EXPECT_EQ(sent(1000 * self.rank()), sent(2));
}

THREAD_RANKS_TEST(SoftCalibrationLossTest, TellsOtherRanksOfBadInput, 2) {
  const at::Tensor x = normal_rows({4, 3}, 1), y = labels_of({4}, 3);
  const auto refused = [&](const at::Tensor& preds, const at::Tensor& target,
                           const std::string& message) {
    expect_refused_on_all_ranks(self, calibration({}), x, y, preds, target,
                                "SoftCalibrationLoss: expected " + message);
  };
  refused(x, y.add(2), "target to be a class below 3, got 3");
  refused(x, x,
          "target of integers, a class for each sample, got CPUDoubleType [4, "
          "3]");
  refused(x, y.narrow(0, 0, 3), "target of size [4] or [4, 3], got [3]");
}

TEST(SoftCalibrationLossTest, RefusesOptionsThatDoNotFit) {
  const auto refusal = [](const OptionTexts& texts) {
    return refusal_of([&] { calibration(texts); });
  };
  EXPECT_EQ(refusal({{"n_bins", "0"}}),
            "SoftCalibrationLoss: expected n_bins of at least 1, got 0");
  EXPECT_EQ(refusal({{"temperature", "0"}}),
            "SoftCalibrationLoss: expected temperature above 0, got 0");
  EXPECT_EQ(refusal({{"norm", "3"}}),
            "SoftCalibrationLoss: expected norm to be 1 or 2, got 3");
  EXPECT_EQ(refusal({{"mode", "multilabel"}}),
            "SoftCalibrationLoss: expected mode to be binary or multiclass, "
            "got multilabel");
  EXPECT_EQ(refusal({{"input", "scores"}}),
            "SoftCalibrationLoss: expected input to be probabilities or "
            "logits, got scores");
  EXPECT_EQ(c10::str(SoftCalibrationLoss()),
            "tally::losses::SoftCalibrationLoss(mode=multiclass, input=logits, "
            "n_bins=15, temperature=0.01, norm=2)");
}

}  // namespace
}  // namespace tally::losses
