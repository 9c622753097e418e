#include "tally/losses/contrastive/clip_loss.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <functional>
#include <string>

#include "tally/sync/collectives.h"
#include "tally/sync/errors.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

using ::testing::HasSubstr;
using testkit::check_loss;
using testkit::learned;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::unit_rows;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<sync::Communicator>;
using Options = ClipLossOptions;

at::Tensor reference(const Tensors& batch, const Tensors& parameters) {
  const at::Tensor logits = batch[0].matmul(batch[1].t()).mul(parameters[0]);
  const at::Tensor labels = at::arange(batch[0].size(0), at::kLong);
  return at::cross_entropy_loss(logits, labels)
      .add(at::cross_entropy_loss(logits.t(), labels))
      .div(2);
}

LossSubject subject(const Options& options, double scale = 7) {
  LossSubject result;
  result.make = [=] {
    const at::Tensor logit_scale = learned(scale), bias = learned(-3);
    ClipLoss loss(options);
    return LossInstance{[=](const Tensors& batch) mutable {
                          return loss->forward(batch[0], batch[1], logit_scale,
                                               bias);
                        },
                        {{"logit_scale", logit_scale}, {"logit_bias", bias}}};
  };
  result.batch = {unit_rows({11, 5}, 1), unit_rows({11, 5}, 2)};
  result.reference = [](const Tensors& batch, const Tensors& parameters) {
    return reference(batch, parameters).add(parameters[1].mul(0));
  };
  return result;
}

TEST(ClipLossTest, IsThatOfTheGlobalBatch) {
  for (const PairwiseLogits pairwise_logits :
       {PairwiseLogits::kTiled, PairwiseLogits::kGathered}) {
    for (const bool local : {false, true}) {
      SCOPED_TRACE(c10::str(static_cast<int>(pairwise_logits), local));
      check_loss(subject(
          Options().pairwise_logits(pairwise_logits).local_loss(local)));
    }
  }
}

TEST(ClipLossTest, MayKeepItsLogits) {
  check_loss(subject(Options().logits_budget_bytes(1 << 20)));
  // Enough on the ranks with few rows only.
  check_loss(subject(Options().logits_budget_bytes(2 * 11 * 8)));
}

TEST(ClipLossTest, IsThatOfTheGlobalBatchOverGloo) {
  LossSubject over_gloo = subject(Options());
  over_gloo.transport = testkit::ThreadTransport::kGloo;
  over_gloo.ranks = {2, 3};
  check_loss(over_gloo);
}

// With more than one tile in both directions, and ragged ones.
TEST(ClipLossTest, GoesThroughTheLogitsByTiles) {
  LossSubject large = subject(Options(), 20);
  large.batch = {unit_rows({1500, 4}, 1), unit_rows({1500, 4}, 2)};
  large.numerical = false;
  large.ranks = {2};
  large.tolerance = 1e-9;  // of sums of many terms
  check_loss(large);
}

/// The loss and its gradients in float64, from inputs of another dtype.
struct Evaluation {
  double loss;
  at::Tensor image, text;
  double scale;
};

Evaluation evaluate(const at::Tensor& image, const at::Tensor& text,
                    double scale, const Options& options) {
  const at::Tensor a = image.detach().clone().requires_grad_();
  const at::Tensor b = text.detach().clone().requires_grad_();
  const at::Tensor s = learned(scale);
  const at::Tensor loss = functional::clip_loss(a, b, s, {}, options);
  loss.backward();
  return {loss.item<double>(), a.grad().to(at::kDouble),
          b.grad().to(at::kDouble), s.grad().item<double>()};
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return a.sub(b).norm().item<double>() / b.norm().item<double>();
}

// One shift for rows and columns would underflow where their maxima differ.
TEST(ClipLossTest, IsRightAtScale100InFloat32) {
  // Some images are like no text at all.
  const at::Tensor text = unit_rows({600, 8}, 1);
  at::Tensor image = text.add(unit_rows({600, 8}, 2).mul(0.3));
  image = image.div(image.norm(2, {1}, true));
  image.narrow(0, 0, 50).neg_();
  for (const std::int64_t budget : {0, 1 << 30}) {
    const Options options = Options().logits_budget_bytes(budget);
    const Evaluation wide = evaluate(image, text, 100, options);
    const Evaluation narrow =
        evaluate(image.to(at::kFloat), text.to(at::kFloat), 100, options);
    EXPECT_GT(wide.loss, 5);
    EXPECT_NEAR(narrow.loss, wide.loss, 1e-5 * wide.loss);
    EXPECT_LT(difference(narrow.image, wide.image), 1e-4);
    EXPECT_LT(difference(narrow.text, wide.text), 1e-4);
    EXPECT_NEAR(narrow.scale, wide.scale, 1e-4 * std::abs(wide.scale));
  }
}

TEST(ClipLossTest, SumsInFloat32AtLeast) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const at::Tensor image = unit_rows({300, 16}, 1).to(dtype);
    const at::Tensor text = unit_rows({300, 16}, 2).to(dtype);
    const Evaluation narrow = evaluate(image, text, 30, Options());
    const Evaluation wide =
        evaluate(image.to(at::kDouble), text.to(at::kDouble), 30, Options());
    EXPECT_NEAR(narrow.loss, wide.loss, 1e-5 * wide.loss);
    EXPECT_LT(difference(narrow.image, wide.image), 4e-3);
    EXPECT_LT(difference(narrow.text, wide.text), 4e-3);
    const at::Tensor loss =
        ClipLoss()->forward(image, text, at::scalar_tensor(30.0));
    EXPECT_EQ(loss.scalar_type(), at::kFloat);
    const at::Tensor leaf = image.clone().requires_grad_();
    ClipLoss()->forward(leaf, text, at::scalar_tensor(30.0)).backward();
    EXPECT_EQ(leaf.grad().scalar_type(), dtype);
  }
}

TEST(ClipLossTest, WithoutGatheredGradientsFeaturesFitSums) {
  for (const PairwiseLogits pairwise_logits :
       {PairwiseLogits::kTiled, PairwiseLogits::kGathered}) {
    const LossSubject of = subject(
        Options().gather_with_grad(false).pairwise_logits(pairwise_logits));
    testkit::run_thread_ranks(3, [&](const Group&) {
      const LossInstance instance = of.make();
      const auto report = check_distributed_gradients(
          instance.loss, of.batch, instance.parameters,
          CheckDistributedGradientsOptions().gradients(
              GradientReduction::kSum));
      EXPECT_TRUE(report.loss_exact);
      EXPECT_EQ(report.at("input 0").verdict, GradientVerdict::kExact);
      EXPECT_EQ(report.at("input 1").verdict, GradientVerdict::kExact);
      // All of it on each rank, as in OpenCLIP.
      EXPECT_EQ(report.at("logit_scale").verdict, GradientVerdict::kFactor);
      EXPECT_NEAR(report.at("logit_scale").factor, 3, 1e-10);
    });
  }
}

TEST(ClipLossTest, TheLossIsTheSameOnEveryRankOrAShareOfIt) {
  const at::Tensor image = unit_rows({6, 3}, 1), text = unit_rows({6, 3}, 2);
  const at::Tensor scale = at::scalar_tensor(9.0, at::kDouble);
  const double expected = reference({image, text}, {scale}).item<double>();
  testkit::run_thread_ranks(3, [&](const Group& group) {
    const std::int64_t rows = group->rank() + 1;
    const std::int64_t first = group->rank() * (group->rank() + 1) / 2;
    const auto loss = [&](bool local) {
      return functional::clip_loss(image.narrow(0, first, rows),
                                   text.narrow(0, first, rows), scale, {},
                                   Options().local_loss(local))
          .item<double>();
    };
    EXPECT_NEAR(loss(false), expected, 1e-12);
    const at::Tensor share = at::scalar_tensor(loss(true), at::kDouble);
    EXPECT_NEAR(sync::all_reduce(share, sync::Reduction::kMean).item<double>(),
                expected, 1e-12);
  });
}

TEST(ClipLossTest, GivesLogits) {
  const at::Tensor image = unit_rows({4, 3}, 1), text = unit_rows({4, 3}, 2);
  const at::Tensor scale = learned(5), bias = learned(-10);
  // OpenCLIP adds the bias to these twice where it gathers all rows.
  const at::Tensor expected = image.matmul(text.t()).mul(5).sub(10);
  const auto same = [](const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() &&
           a.sub(b).abs().max().item<double>() < 1e-12;
  };
  testkit::run_thread_ranks(2, [&](const Group& group) {
    const std::int64_t first = group->rank() == 0 ? 0 : 1;
    const std::int64_t rows = group->rank() == 0 ? 1 : 3;
    const at::Tensor a = image.narrow(0, first, rows);
    const at::Tensor b = text.narrow(0, first, rows);
    const ClipLogits all = ClipLoss()->logits(a, b, scale, bias);
    EXPECT_TRUE(same(all.per_image, expected));
    EXPECT_TRUE(same(all.per_text, expected.t()));
    const ClipLogits own =
        ClipLoss(Options().local_loss(true))->logits(a, b, scale, bias);
    EXPECT_TRUE(same(own.per_image, expected.narrow(0, first, rows)));
    EXPECT_TRUE(same(own.per_text, expected.t().narrow(0, first, rows)));
    EXPECT_TRUE(own.per_image.requires_grad());
  });
}

TEST(ClipLossTest, TakesAnyNumberOfRowsNext) {
  ClipLoss loss(Options().pairwise_logits(PairwiseLogits::kGathered));
  const at::Tensor scale = at::scalar_tensor(3.0, at::kDouble);
  for (const std::int64_t rows : {4, 4, 7, 0, 3}) {
    const at::Tensor image = unit_rows({rows, 3}, rows);
    const at::Tensor text = unit_rows({rows, 3}, rows + 1);
    const double value = loss->forward(image, text, scale).item<double>();
    if (rows == 0) continue;
    EXPECT_NEAR(value, reference({image, text}, {scale}).item<double>(), 1e-12);
  }
}

TEST(ClipLossTest, WithoutPairsIsZero) {
  testkit::run_thread_ranks(2, [](const Group&) {
    for (const PairwiseLogits pairwise_logits :
         {PairwiseLogits::kTiled, PairwiseLogits::kGathered}) {
      const at::Tensor none = unit_rows({0, 3}, 1).requires_grad_();
      const at::Tensor loss =
          functional::clip_loss(none, none, learned(2), {},
                                Options().pairwise_logits(pairwise_logits));
      EXPECT_EQ(loss.item<double>(), 0);
      loss.backward();
      EXPECT_EQ(none.grad().numel(), 0);
    }
  });
}

TEST(ClipLossTest, NaNShows) {
  at::Tensor image = unit_rows({5, 3}, 1);
  image.view(-1)[7] = std::nan("");
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor loss = functional::clip_loss(
        image.to(dtype), unit_rows({5, 3}, 2).to(dtype), learned(2));
    EXPECT_TRUE(std::isnan(loss.item<double>())) << dtype;
  }
}

/// What each rank throws when rank 1 alone calls the loss like this.
std::vector<std::string> errors_of(
    const std::function<at::Tensor(const at::Tensor& rows)>& wrong) {
  const at::Tensor rows = unit_rows({3, 4}, 1);
  const auto errors = testkit::collect_thread_ranks(3, [&](const Group& group) {
    if (group->rank() == 1) {
      wrong(rows);
    } else {
      functional::clip_loss(rows, rows, learned(2));
    }
  });
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    try {
      if (errors[r]) std::rethrow_exception(errors[r]);
      texts.push_back("nothing");
    } catch (const sync::SyncError& error) {
      texts.push_back(
          c10::str(sync::to_string(error.code()), ' ', sync::describe(error)));
    } catch (const c10::ValueError& error) {
      texts.push_back("ValueError " + sync::describe(error));
    }
  }
  return texts;
}

TEST(ClipLossTest, BadArgumentsAreTheirRanksErrorAndReachAll) {
  struct Bad {
    std::function<at::Tensor(const at::Tensor& rows)> call;
    const char* text;
  };
  const at::Tensor two = learned(2);
  const std::vector<Bad> all = {
      {[&](const at::Tensor& rows) {
         return functional::clip_loss({}, rows, two);
       },
       "ClipLoss: expected image_features, got an undefined tensor"},
      {[&](const at::Tensor& rows) {
         return functional::clip_loss(rows, rows.sum(), two);
       },
       "expected text_features of size [rows, features] and a floating dtype, "
       "got CPUDoubleType []"},
      {[&](const at::Tensor& rows) {
         return functional::clip_loss(rows.to(at::kLong), rows, two);
       },
       "expected image_features of size [rows, features] and a floating dtype, "
       "got CPULongType [3, 4]"},
      {[&](const at::Tensor& rows) {
         return functional::clip_loss(rows.narrow(0, 0, 2), rows, two);
       },
       "expected image_features and text_features of one size, dtype and "
       "device, got CPUDoubleType [2, 4] on cpu and CPUDoubleType [3, 4] on "
       "cpu"},
      {[&](const at::Tensor& rows) {
         return functional::clip_loss(rows, rows, rows);
       },
       "expected logit_scale to be one floating number, got CPUDoubleType "
       "[3, 4]"},
      {[&](const at::Tensor& rows) {
         return functional::clip_loss(rows, rows, two, rows);
       },
       "expected logit_bias to be one floating number"},
      {[&](const at::Tensor& rows) {
         return functional::clip_loss(
             rows, rows, two, {},
             Options().local_loss(true).gather_with_grad(false));
       },
       "local_loss without gather_with_grad is biased"},
      {[&](const at::Tensor& rows) {
         return functional::clip_loss(rows, rows, two, {},
                                      Options().logits_budget_bytes(-1));
       },
       "expected logits_budget_bytes of at least 0, got -1"},
  };
  for (const Bad& bad : all) {
    const auto errors = errors_of(bad.call);
    EXPECT_THAT(errors[1], HasSubstr("ValueError"));
    EXPECT_THAT(errors[1], HasSubstr(bad.text));
    for (int rank : {0, 2}) {
      EXPECT_THAT(errors[rank], HasSubstr("kPeerFailed")) << bad.text;
      EXPECT_THAT(errors[rank], HasSubstr(bad.text));
    }
  }
  EXPECT_THROW(ClipLoss(Options().local_loss(true).gather_with_grad(false)),
               c10::ValueError);
}

TEST(ClipLossTest, RanksThatDifferAreAMismatch) {
  const at::Tensor two = learned(2);
  const std::vector<std::function<at::Tensor(const at::Tensor& rows)>> all = {
      [&](const at::Tensor& rows) {
        return functional::clip_loss(rows, rows, learned(3));
      },
      [&](const at::Tensor& rows) {
        const at::Tensor narrow = rows.narrow(1, 0, 2);
        return functional::clip_loss(narrow, narrow, two);
      },
      [&](const at::Tensor& rows) {
        const at::Tensor single = rows.to(at::kFloat);
        return functional::clip_loss(single, single, two);
      },
      [&](const at::Tensor& rows) {
        return functional::clip_loss(
            rows, rows, two, {},
            Options().pairwise_logits(PairwiseLogits::kGathered));
      },
  };
  for (const auto& call : all) {
    for (const std::string& error : errors_of(call)) {
      EXPECT_THAT(error, HasSubstr("kMismatch"));
    }
  }
}

TEST(ClipLossTest, BackwardFindsChangedInputsAndHigherGradients) {
  const auto errors = testkit::collect_thread_ranks(2, [](const Group& group) {
    const at::Tensor rows = unit_rows({3, 4}, 1);
    const at::Tensor scale = learned(2);
    const at::Tensor loss = functional::clip_loss(rows, rows, scale);
    if (group->rank() == 1) rows.mul_(2);
    loss.backward();
  });
  for (const auto& error : errors) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& exception) {
      EXPECT_THAT(sync::describe(exception), HasSubstr("was changed in place"));
    }
  }
  const at::Tensor rows = unit_rows({3, 4}, 1), scale = learned(2);
  EXPECT_THROW(functional::clip_loss(rows, rows, scale)
                   .backward({}, /*retain_graph=*/true, /*create_graph=*/true),
               c10::Error);
}

TEST(ClipLossTest, BackwardMayRunTwice) {
  for (const std::int64_t budget : {0, 1 << 20}) {
    const at::Tensor image = unit_rows({5, 4}, 1).requires_grad_();
    const at::Tensor loss =
        functional::clip_loss(image, unit_rows({5, 4}, 2), learned(2), {},
                              Options().logits_budget_bytes(budget));
    loss.backward({}, /*retain_graph=*/true);
    const at::Tensor once = image.grad().clone();
    loss.backward();
    EXPECT_LT(difference(image.grad(), once.mul(2)), 1e-14);
  }
}

TEST(ClipLossTest, ThreadsShareTiles) {
  const at::Tensor image = unit_rows({1100, 4}, 1);
  const at::Tensor text = unit_rows({1100, 4}, 2);
  const int before = at::get_num_threads();
  const Evaluation one = evaluate(image, text, 20, Options());
  at::set_num_threads(3);
  for (const std::int64_t budget : {0, 1 << 30}) {
    const Evaluation three =
        evaluate(image, text, 20, Options().logits_budget_bytes(budget));
    EXPECT_NEAR(three.loss, one.loss, 1e-12);
    EXPECT_LT(difference(three.image, one.image), 1e-12);
    EXPECT_LT(difference(three.text, one.text), 1e-12);
    EXPECT_NEAR(three.scale, one.scale, 1e-10);
  }
  at::set_num_threads(before);
}

TEST(ClipLossTest, ARankThatIsGoneIsAnErrorOnTheOthers) {
  for (const bool before_backward : {false, true}) {
    const auto errors = testkit::collect_thread_ranks(3, [&](const Group& g) {
      const at::Tensor rows = unit_rows({2, 4}, 1).requires_grad_();
      const bool leaves = g->rank() == 2;
      if (leaves && !before_backward) return;
      const at::Tensor loss = functional::clip_loss(rows, rows, learned(2));
      if (!leaves) loss.backward();
    });
    EXPECT_FALSE(errors[2]);
    for (int rank : {0, 1}) {
      try {
        ASSERT_TRUE(errors[rank]);
        std::rethrow_exception(errors[rank]);
      } catch (const sync::SyncError& error) {
        EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerLost);
      }
    }
  }
}

TEST(ClipLossTest, IsPrintedAndCloned) {
  const ClipLoss loss(Options().local_loss(true));
  EXPECT_EQ(c10::str(loss),
            "tally::losses::ClipLoss(local_loss=true, gather_with_grad=true, "
            "pairwise_logits=tiled, logits_budget_bytes=0)");
  const auto copy = std::dynamic_pointer_cast<ClipLossImpl>(loss->clone());
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->options().local_loss());
}

}  // namespace
}  // namespace tally::losses
