#include "tally/losses/contrastive/nt_xent_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/sync/errors.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using testkit::check_loss;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::normal_rows;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<sync::Communicator>;
using Options = NTXentLossOptions;

at::Tensor unit(const at::Tensor& rows) {
  return rows.div(rows.norm(2, {1}, true));
}

at::Tensor reference(const at::Tensor& out0, const at::Tensor& out1,
                     double temperature) {
  const std::int64_t rows = out0.size(0);
  const at::Tensor z = at::cat({unit(out0), unit(out1)});
  const at::Tensor logits = z.matmul(z.t()).div(temperature);
  const at::Tensor index = at::arange(2 * rows, at::kLong);
  return at::cross_entropy_loss(
      logits.masked_fill(index.unsqueeze(1).eq(index),
                         -std::numeric_limits<double>::infinity()),
      index.add(rows).remainder(2 * rows));
}

LossSubject subject(const Options& options) {
  LossSubject result;
  result.make = [=] {
    NTXentLoss loss(options);
    return LossInstance{[=](const Tensors& batch) mutable {
                          return loss->forward(batch[0], batch[1]);
                        },
                        {}};
  };
  result.batch = {normal_rows({9, 5}, 1), normal_rows({9, 5}, 2)};
  result.reference = [=](const Tensors& batch, const Tensors&) {
    return reference(batch[0], batch[1], options.temperature());
  };
  return result;
}

TEST(NTXentLossTest, IsThatOfTheGlobalBatch) {
  check_loss(subject(Options()));
  check_loss(subject(Options().temperature(0.05)));
  check_loss(subject(Options().temperature(-0.5)));
  check_loss(subject(Options().logits_budget_bytes(1 << 20)));
  check_loss(subject(Options().pairwise_logits(PairwiseLogits::kGathered)));
}

TEST(NTXentLossTest, IsThatOfTheGlobalBatchOverGloo) {
  LossSubject over_gloo = subject(Options());
  over_gloo.transport = testkit::ThreadTransport::kGloo;
  over_gloo.ranks = {2, 3};
  check_loss(over_gloo);
}

TEST(NTXentLossTest, GoesThroughTheLogitsByTiles) {
  for (const std::int64_t budget : {0, 1 << 30}) {
    LossSubject large = subject(Options().logits_budget_bytes(budget));
    large.batch = {normal_rows({700, 4}, 1), normal_rows({700, 4}, 2)};
    large.numerical = false;
    large.ranks = {2};
    large.tolerance = 1e-9;
    check_loss(large);
  }
}

TEST(NTXentLossTest, IsRightInFloat32AndNarrower) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor a = normal_rows({200, 8}, 1).to(dtype);
    const at::Tensor b = normal_rows({200, 8}, 2).to(dtype);
    const auto evaluate = [&](at::ScalarType of) {
      const at::Tensor leaf = a.to(of, false, /*copy=*/true).requires_grad_();
      const at::Tensor loss =
          functional::nt_xent_loss(leaf, b.to(of), Options().temperature(0.01));
      loss.backward();
      return std::pair(loss.item<double>(), leaf.grad().to(at::kDouble));
    };
    const auto [loss, gradient] = evaluate(dtype);
    const auto [wide_loss, wide_gradient] = evaluate(at::kDouble);
    EXPECT_NEAR(loss, wide_loss, 1e-5 * wide_loss);
    EXPECT_LT(gradient.sub(wide_gradient).norm().item<double>(),
              (dtype == at::kFloat ? 1e-4 : 4e-3) *
                  wide_gradient.norm().item<double>());
  }
}

TEST(NTXentLossTest, WithoutGatheringRanksAreOnTheirOwn) {
  testkit::run_thread_ranks(2, [](const Group& group) {
    const std::int64_t rows = 2 + group->rank();
    const at::Tensor a = normal_rows({rows, 4}, rows);
    const at::Tensor b = normal_rows({rows, 4}, 10 + rows);
    const std::int64_t before = group->collectives();
    const at::Tensor loss =
        NTXentLoss(Options().gather_distributed(false))->forward(a, b);
    EXPECT_NEAR(loss.item<double>(), reference(a, b, 0.5).item<double>(),
                1e-12);
    EXPECT_EQ(group->collectives(), before);
  });
}

TEST(NTXentLossTest, FewSamples) {
  const auto loss_of = [](std::int64_t rows) {
    const at::Tensor a = normal_rows({rows, 4}, 1).requires_grad_();
    const at::Tensor loss =
        functional::nt_xent_loss(a, normal_rows({rows, 4}, 2));
    loss.backward();
    EXPECT_EQ(a.grad().abs().sum().item<double>(), 0) << rows;
    return loss.item<double>();
  };
  EXPECT_EQ(loss_of(0), 0);
  EXPECT_EQ(loss_of(1), 0);  // a pair without negatives
}

/// Lightly's loss with a memory bank.
at::Tensor reference_with_bank(const at::Tensor& out0, const at::Tensor& out1,
                               const at::Tensor& bank, double temperature) {
  const at::Tensor q = unit(out0), k = unit(out1);
  const at::Tensor logits =
      at::cat({q.mul(k).sum(1, true), q.matmul(bank.t())}, 1).div(temperature);
  return at::cross_entropy_loss(logits, at::zeros({q.size(0)}, at::kLong));
}

TEST(NTXentLossTest, MemoryBankIsThatOfOneProcess) {
  const Options options =
      Options().temperature(0.2).memory_bank_size(7).memory_bank_dim(3);
  const at::Tensor a = normal_rows({15, 3}, 1), b = normal_rows({15, 3}, 2);
  // Three steps: less than the bank's rows, round its end, and more than all.
  const std::vector<std::pair<std::int64_t, std::int64_t>> steps = {
      {0, 4}, {4, 2}, {6, 9}};
  NTXentLoss alone(options);
  std::vector<double> losses;
  Tensors gradients, banks;
  at::Tensor expected_bank = alone->memory_bank.to(at::kDouble);
  std::int64_t next = 0;
  for (const auto& [first, rows] : steps) {
    const at::Tensor out0 = a.narrow(0, first, rows).clone().requires_grad_();
    const at::Tensor out1 = b.narrow(0, first, rows);
    const double expected =
        reference_with_bank(out0, out1, alone->memory_bank.to(at::kDouble), 0.2)
            .item<double>();
    const at::Tensor loss = alone->forward(out0, out1);
    loss.backward();
    EXPECT_NEAR(loss.item<double>(), expected, 1e-12);
    for (std::int64_t i = 0; i < rows; ++i, ++next) {
      expected_bank[next % 7].copy_(unit(out1)[i]);
    }
    EXPECT_LT(expected_bank.sub(alone->memory_bank).abs().max().item<double>(),
              1e-6);
    losses.push_back(loss.item<double>());
    gradients.push_back(out0.grad());
    banks.push_back(alone->memory_bank.clone());
  }
  testkit::run_thread_ranks(3, [&](const Group& group) {
    NTXentLoss loss(Options(options).memory_bank_dim(0));
    const int rank = group->rank();
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const auto [first, rows] = steps[step];
      // The last rank has none.
      const std::int64_t begin = rank == 0 ? 0 : rank == 1 ? 1 : rows;
      const std::int64_t count = rank == 0 ? 1 : rank == 1 ? rows - 1 : 0;
      const at::Tensor out0 =
          a.narrow(0, first + begin, count).clone().requires_grad_();
      const at::Tensor value =
          loss->forward(out0, b.narrow(0, first + begin, count));
      value.backward();
      EXPECT_NEAR(value.item<double>(), losses[step], 1e-12);
      const at::Tensor expected =
          gradients[step].narrow(0, begin, count).mul(3);
      EXPECT_LE(out0.grad().sub(expected).norm().item<double>(), 1e-12);
      EXPECT_TRUE(loss->memory_bank.equal(banks[step]));
    }
  });
}

TEST(NTXentLossTest, MemoryBankStaysWithoutGradients) {
  NTXentLoss loss(Options().memory_bank_size(4).memory_bank_dim(3));
  const at::Tensor before = loss->memory_bank.clone();
  loss->forward(normal_rows({2, 3}, 1), normal_rows({2, 3}, 2));
  EXPECT_TRUE(loss->memory_bank.equal(before));
  loss->forward(normal_rows({2, 3}, 1).requires_grad_(),
                normal_rows({2, 3}, 2));
  EXPECT_FALSE(loss->memory_bank.equal(before));
  EXPECT_EQ(loss->memory_bank_next.item<std::int64_t>(), 2);
  EXPECT_EQ(loss->named_buffers().size(), 2);
  const auto copy = std::dynamic_pointer_cast<NTXentLossImpl>(loss->clone());
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->memory_bank.equal(loss->memory_bank));
  EXPECT_THROW(loss->forward(normal_rows({2, 5}, 1), normal_rows({2, 5}, 2)),
               c10::ValueError);
}

TEST(NTXentLossTest, RefusesBadOptionsAndArguments) {
  EXPECT_THAT(refusal_of([] { NTXentLoss(Options().temperature(1e-9)); }),
              HasSubstr("NTXentLoss: expected a temperature of a size of at "
                        "least 1e-8, got 1e-09"));
  EXPECT_THAT(refusal_of([] { NTXentLoss(Options().memory_bank_size(-2)); }),
              HasSubstr("expected memory_bank_size of at least 0, got -2"));
  EXPECT_THAT(refusal_of([] { NTXentLoss(Options().memory_bank_dim(-2)); }),
              HasSubstr("expected memory_bank_dim of at least 0, got -2"));
  EXPECT_THAT(refusal_of([] { NTXentLoss(Options().logits_budget_bytes(-1)); }),
              HasSubstr("expected logits_budget_bytes of at least 0, got -1"));
  const at::Tensor rows = normal_rows({2, 3}, 1);
  EXPECT_THAT(refusal_of([&] {
                functional::nt_xent_loss(rows, rows,
                                         Options().memory_bank_size(3));
              }),
              HasSubstr("expected no memory bank, got memory_bank_size 3"));
  const auto errors = testkit::collect_thread_ranks(2, [&](const Group& group) {
    functional::nt_xent_loss(rows, group->rank() == 0 ? rows : rows.t());
  });
  EXPECT_THAT(
      refusal_of([&] { std::rethrow_exception(errors[1]); }),
      HasSubstr("expected out0 and out1 of one size, dtype and device"));
  try {
    std::rethrow_exception(errors[0]);
  } catch (const sync::SyncError& error) {
    EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
  }
}

TEST(NTXentLossTest, IsPrinted) {
  EXPECT_EQ(
      c10::str(NTXentLoss()),
      "tally::losses::NTXentLoss(temperature=0.5, gather_distributed=true, "
      "memory_bank_size=0, memory_bank_dim=0, pairwise_logits=tiled, "
      "logits_budget_bytes=0)");
}

}  // namespace
}  // namespace tally::losses
