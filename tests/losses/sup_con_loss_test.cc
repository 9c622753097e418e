#include "tally/losses/contrastive/sup_con_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <limits>
#include <string>

#include "tally/losses/contrastive/nt_xent_loss.h"
#include "tally/sync/errors.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using ::testing::HasSubstr;
using testkit::check_loss;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::refusal_of;
using testkit::unit_rows;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<sync::Communicator>;
using Options = SupConLossOptions;

/// Of rows and their labels, by the paper's formula.
at::Tensor reference(const at::Tensor& z, const at::Tensor& labels,
                     double temperature) {
  const at::Tensor index = at::arange(z.size(0), at::kLong);
  const at::Tensor self = index.unsqueeze(1).eq(index);
  const at::Tensor logits = z.matmul(z.t()).div(temperature);
  const at::Tensor log_sum =
      logits.masked_fill(self, -std::numeric_limits<double>::infinity())
          .logsumexp(1, true);
  const at::Tensor alike =
      labels.unsqueeze(1).eq(labels).logical_and(self.logical_not());
  const at::Tensor counts = alike.sum(1);
  const at::Tensor losses =
      logits.sub(log_sum).mul(alike).sum(1).neg().div(counts.clamp_min(1));
  return losses.sum().div(counts.gt(0).sum());
}

LossSubject subject(const Options& options, const at::Tensor& labels) {
  LossSubject result;
  result.make = [=] {
    const SupConLoss loss(options);
    return LossInstance{
        [=](const Tensors& batch) { return loss->forward(batch[0], batch[1]); },
        {}};
  };
  result.batch = {unit_rows({labels.size(0), 5}, 1), labels};
  result.reference = [=](const Tensors& batch, const Tensors&) {
    return reference(batch[0], batch[1], options.temperature());
  };
  return result;
}

at::Tensor some_labels() {
  // One of a kind (7), and labels far apart.
  return at::tensor({3, 1, 3, 7, 1, 3, -5, 1, 3, -5, 1'000'000'007}, at::kLong);
}

TEST(SupConLossTest, IsThatOfTheGlobalBatch) {
  check_loss(subject(Options(), some_labels()));
  check_loss(subject(Options().temperature(0.5), some_labels()));
  check_loss(subject(Options().logits_budget_bytes(1 << 20), some_labels()));
  check_loss(subject(Options().pairwise_logits(PairwiseLogits::kGathered),
                     some_labels()));
}

TEST(SupConLossTest, GoesThroughTheLogitsByTiles) {
  LossSubject large = subject(Options().temperature(0.3),
                              at::arange(1300, at::kLong).mul(7).remainder(11));
  large.numerical = false;
  large.ranks = {2};
  large.tolerance = 1e-9;
  check_loss(large);
}

TEST(SupConLossTest, ViewsAreAlike) {
  const at::Tensor views = unit_rows({6, 3}, 1).reshape({3, 2, 3});
  const at::Tensor rows = views.reshape({6, 3});
  const at::Tensor labels = at::tensor({4, 4, 8}, at::kInt);
  const SupConLoss loss;
  EXPECT_NEAR(
      loss->forward(views, labels).item<double>(),
      reference(rows, at::tensor({4, 4, 4, 4, 8, 8}), 0.07).item<double>(),
      1e-12);
  // Without labels it is NT-Xent, here over ranks.
  const double expected =
      functional::nt_xent_loss(views.select(1, 0), views.select(1, 1),
                               NTXentLossOptions().temperature(0.07))
          .item<double>();
  testkit::run_thread_ranks(2, [&](const Group& group) {
    const at::Tensor own =
        group->rank() == 0 ? views.narrow(0, 0, 2) : views.narrow(0, 2, 1);
    EXPECT_NEAR(loss->forward(own).item<double>(), expected, 1e-12);
  });
}

TEST(SupConLossTest, ScalesByTheBaseTemperature) {
  const at::Tensor rows = unit_rows({4, 3}, 1);
  const at::Tensor labels = at::tensor({1, 1, 2, 2});
  const Options options = Options().temperature(0.2);
  const double plain =
      functional::sup_con_loss(rows, labels, options).item<double>();
  EXPECT_NEAR(functional::sup_con_loss(rows, labels,
                                       Options(options).base_temperature(0.05))
                  .item<double>(),
              4 * plain, 1e-12);
}

TEST(SupConLossTest, WithoutRowsAlikeThereIsNoLoss) {
  for (const PairwiseLogits pairwise_logits :
       {PairwiseLogits::kTiled, PairwiseLogits::kGathered}) {
    for (const std::int64_t rows : {0, 1, 4}) {
      const at::Tensor leaf = unit_rows({rows, 3}, 1).requires_grad_();
      const at::Tensor loss =
          functional::sup_con_loss(leaf, at::arange(rows, at::kLong),
                                   Options().pairwise_logits(pairwise_logits));
      EXPECT_EQ(loss.item<double>(), 0);
      loss.backward();
      EXPECT_EQ(leaf.grad().abs().sum().item<double>(), 0);
    }
  }
}

TEST(SupConLossTest, RefusesBadOptionsAndArguments) {
  EXPECT_THAT(refusal_of([] { SupConLoss(Options().temperature(0)); }),
              HasSubstr("SupConLoss: expected a temperature above 0, got 0"));
  EXPECT_THAT(refusal_of([] { SupConLoss(Options().base_temperature(-1)); }),
              HasSubstr("expected base_temperature of at least 0, got -1"));
  EXPECT_THAT(refusal_of([] { SupConLoss(Options().logits_budget_bytes(-1)); }),
              HasSubstr("expected logits_budget_bytes of at least 0, got -1"));
  const at::Tensor rows = unit_rows({4, 3}, 1);
  EXPECT_THAT(refusal_of([&] { functional::sup_con_loss({}); }),
              HasSubstr("expected features, got an undefined tensor"));
  EXPECT_THAT(refusal_of([&] { functional::sup_con_loss(rows[0]); }),
              HasSubstr("or [rows, views, features] and a floating dtype, got "
                        "CPUDoubleType [3]"));
  EXPECT_THAT(refusal_of([&] {
                functional::sup_con_loss(rows, at::tensor({1, 2}));
              }),
              HasSubstr("expected 4 integer labels, got CPUIntType [2]"));
  EXPECT_THAT(
      refusal_of([&] { functional::sup_con_loss(rows, at::ones({4})); }),
      HasSubstr("expected 4 integer labels, got CPUFloatType [4]"));
  const auto errors = testkit::collect_thread_ranks(2, [&](const Group& group) {
    functional::sup_con_loss(
        rows, group->rank() == 0 ? at::tensor({1, 2}) : at::Tensor());
  });
  EXPECT_THAT(refusal_of([&] { std::rethrow_exception(errors[0]); }),
              HasSubstr("expected 4 integer labels"));
  try {
    std::rethrow_exception(errors[1]);
  } catch (const sync::SyncError& error) {
    EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
  }
}

TEST(SupConLossTest, IsPrinted) {
  EXPECT_EQ(c10::str(SupConLoss()),
            "tally::losses::SupConLoss(temperature=0.07, base_temperature=0, "
            "pairwise_logits=tiled, logits_budget_bytes=0)");
}

}  // namespace
}  // namespace tally::losses
