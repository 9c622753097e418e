#include "tally/losses/grad_cache.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/losses/codebook/lfq.h"
#include "tally/losses/contrastive/clip_loss.h"
#include "tally/losses/contrastive/nt_xent_loss.h"
#include "tally/losses/contrastive/sig_lip_loss.h"
#include "tally/losses/pairs/dcl_loss.h"
#include "tally/losses/pairs/vicreg_loss.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/internal/numerical_gradient.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/autocast.h"
#include "tally/tests/losses/loss_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using ::tally::testkit::refusal_of;
using testkit::match_gradient;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Tensors = std::vector<at::Tensor>;

constexpr std::int64_t kRows = 13;

/// Two towers, and what the loss itself learns.
struct Towers {
  at::Tensor image = normal_rows({6, 4}, 1).requires_grad_();
  at::Tensor text = normal_rows({5, 4}, 2).requires_grad_();
  at::Tensor scale = testkit::learned(3.5);
  at::Tensor bias = testkit::learned(-0.7);

  Tensors encode(const Tensors& rows) const {
    const auto side = [](const at::Tensor& x, const at::Tensor& weight) {
      const at::Tensor features = x.matmul(weight).tanh();
      return features / features.norm(2, {1}, /*keepdim=*/true);
    };
    return {side(rows[0], image), side(rows[1], text)};
  }
  Tensors parameters() const { return {image, text, scale, bias}; }
};

struct Named {
  const char* name;
  std::function<at::Tensor(const Towers&, const Tensors&)> loss;
};

std::vector<Named> all_losses() {
  return {
      {"ClipLoss",
       [](const Towers& towers, const Tensors& features) {
         return functional::clip_loss(features[0], features[1], towers.scale);
       }},
      {"SigLipLoss",
       [](const Towers& towers, const Tensors& features) {
         return functional::sig_lip_loss(features[0], features[1], towers.scale,
                                         towers.bias);
       }},
      {"NTXentLoss",
       [](const Towers&, const Tensors& features) {
         return functional::nt_xent_loss(features[0], features[1]);
       }},
      {"DCLLoss",
       [](const Towers&, const Tensors& features) {
         return functional::dcl_loss(features[0], features[1]);
       }},
      {"VICRegLoss",
       [](const Towers&, const Tensors& features) {
         return functional::vicreg_loss(features[0], features[1]);
       }},
      {"LFQ",
       [](const Towers& towers, const Tensors& features) {
         return functional::lfq(features[0] * towers.scale,
                                LFQOptions().dim(4).inverse_temperature(1))
             .aux_loss;
       }},
  };
}

Tensors batch_of(std::int64_t first, std::int64_t count) {
  return {normal_rows({kRows, 6}, 3).narrow(0, first, count),
          normal_rows({kRows, 5}, 4).narrow(0, first, count)};
}

at::Tensor flat_gradients(const Towers& towers) {
  Tensors flat;
  for (const at::Tensor& parameter : towers.parameters()) {
    flat.push_back(parameter.grad().defined()
                       ? parameter.grad().flatten()
                       : at::zeros({parameter.numel()}, at::kDouble));
  }
  return at::cat(flat);
}

TEST(CachedBackwardTest, GradientsAreThoseOfTheLargeBatch) {
  for (const Named& named : all_losses()) {
    const Towers whole;
    const at::Tensor expected =
        named.loss(whole, whole.encode(batch_of(0, kRows)));
    expected.backward();
    for (int ranks : {1, 2, 3, 5}) {
      for (std::int64_t pieces : {1, 2, 3, 50}) {
        SCOPED_TRACE(c10::str(named.name, ", ", ranks, " ranks, ", pieces,
                              " micro-batches"));
        run_thread_ranks(ranks, [&](const auto& communicator) {
          // Uneven, and one without rows where there are many.
          const std::int64_t ends[] = {0, 2, 5, 5, 12, 13};
          const int rank = communicator->rank();
          const std::int64_t first = ends[rank];
          const std::int64_t end = rank + 1 == ranks ? kRows : ends[rank + 1];
          const Towers towers;
          const at::Tensor value = cached_backward(
              [&](const Tensors& rows) { return towers.encode(rows); },
              [&](const Tensors& features) {
                EXPECT_EQ(features[0].size(0), end - first);
                return named.loss(towers, features);
              },
              batch_of(first, end - first), pieces);
          EXPECT_FALSE(value.requires_grad());
          EXPECT_NEAR(value.item<double>(), expected.item<double>(), 1e-10);
          sync::average_gradients(towers.parameters());
          const auto match =
              match_gradient(flat_gradients(towers), flat_gradients(whole));
          EXPECT_NEAR(match.scale, 1, 1e-10);
          EXPECT_LT(match.residual, 1e-10);
        });
      }
    }
  }
}

TEST(CachedBackwardTest, RandomNumbersComeAgain) {
  at::Generator generator =
      at::globalContext().defaultGenerator(at::Device(at::kCPU));
  const Tensors batch = batch_of(0, kRows);
  const auto encode = [](const Towers& towers, const Tensors& rows) {
    return towers.encode({at::dropout(rows[0], 0.5, /*train=*/true), rows[1]});
  };
  const Named clip = all_losses()[0];
  // Drawn in the same order, the graphs kept.
  generator.set_current_seed(5);
  const Towers kept;
  const Tensors first = encode(kept, batch_of(0, 6));
  const Tensors second = encode(kept, batch_of(6, 7));
  clip.loss(kept,
            {at::cat({first[0], second[0]}), at::cat({first[1], second[1]})})
      .backward();
  const at::Tensor next = at::rand({3});

  generator.set_current_seed(5);
  const Towers towers;
  cached_backward(
      [&](const Tensors& rows) { return encode(towers, rows); },
      [&](const Tensors& features) { return clip.loss(towers, features); },
      batch, 2);
  EXPECT_TRUE(testkit::near(flat_gradients(towers), flat_gradients(kept),
                            {1e-11, 1e-11}));
  // What follows is as if nothing had been drawn twice.
  EXPECT_TRUE(testkit::same_bits(at::rand({3}), next));
}

TEST(CachedBackwardTest, AddsToGradients) {
  const Towers towers;
  const Named clip = all_losses()[0];
  const auto step = [&] {
    cached_backward(
        [&](const Tensors& rows) { return towers.encode(rows); },
        [&](const Tensors& features) { return clip.loss(towers, features); },
        batch_of(0, kRows), 3);
  };
  step();
  const at::Tensor once = flat_gradients(towers).clone();
  const at::NoGradGuard no_grad;  // as backward() itself, it does not care
  step();
  EXPECT_TRUE(testkit::near(flat_gradients(towers), once * 2, {1e-12, 1e-12}));
}

TEST(CachedBackwardTest, SaysWhatDoesNotFit) {
  const auto same = [](const Tensors& rows) { return rows; };
  const auto sum = [](const Tensors& rows) { return rows[0].sum(); };
  const at::Tensor x = at::rand({4, 2});
  EXPECT_EQ(refusal_of([&] { cached_backward(same, sum, {x}, 0); }),
            "cached_backward: expected at least 1 micro-batch, got 0");
  EXPECT_EQ(refusal_of([&] { cached_backward(same, sum, {}, 1); }),
            "cached_backward: expected a batch of at least one tensor");
  EXPECT_EQ(
      refusal_of([&] {
        cached_backward(same, sum, {x, at::rand({3})}, 1);
      }),
      "cached_backward: expected tensors with the same number of rows in the "
      "batch, got sizes [3] as tensor 1");
  EXPECT_EQ(
      refusal_of([&] {
        cached_backward(same, sum, {x, at::Tensor()}, 1);
      }),
      "cached_backward: expected tensors with the same number of rows in the "
      "batch, got an undefined tensor as tensor 1");
  EXPECT_EQ(refusal_of([&] {
              cached_backward([](const Tensors&) { return Tensors(); }, sum,
                              {x}, 2);
            }),
            "cached_backward: expected encode to return the same number of "
            "tensors each time, at least one, got 0");
  EXPECT_EQ(refusal_of([&] {
              cached_backward(
                  [](const Tensors& rows) { return Tensors{rows[0].sum(0)}; },
                  sum, {at::rand({6, 2})}, 2);
            }),
            "cached_backward: expected encode to return floating tensors of 3 "
            "rows, got CPUFloatType [2]");
  EXPECT_EQ(
      refusal_of([&] {
        cached_backward(
            same, [](const Tensors& rows) { return rows[0]; }, {x}, 2);
      }),
      "cached_backward: expected loss to return one number, got sizes [4, "
      "2]");
}

TEST(CachedBackwardTest, TellsOtherRanksWhatEncodeThrows) {
  run_thread_ranks(3, [](const auto& communicator) {
    const Towers towers;
    const auto step = [&](bool fails) {
      return cached_backward(
          [&](const Tensors& rows) {
            TORCH_CHECK_VALUE(!fails, "no memory");
            return towers.encode(rows);
          },
          [&](const Tensors& features) {
            return functional::clip_loss(features[0], features[1],
                                         towers.scale);
          },
          batch_of(communicator->rank() * 4, 4), 2);
    };
    if (communicator->rank() == 1) {
      EXPECT_EQ(refusal_of([&] { step(true); }), "no memory");
    } else {
      try {
        step(false);
        ADD_FAILURE() << "no SyncError";
      } catch (const sync::SyncError& error) {
        EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
        EXPECT_NE(error.message().find("no memory"), std::string::npos);
      }
    }
    // Nobody is out of step.
    EXPECT_TRUE(step(false).isfinite().template item<bool>());
  });
}

// The second pass uses the weights that autocast cast and kept in the first.
TEST(CachedBackwardTest, AutocastLosesNoGradients) {
  const at::Tensor x = normal_rows({8, 4}, 1).to(at::kFloat);
  const auto gradient = [&](const auto& train) {
    const at::Tensor weight =
        normal_rows({4, 3}, 2).to(at::kFloat).requires_grad_();
    const auto encode = [weight](const Tensors& rows) -> Tensors {
      return {rows[0].matmul(weight)};
    };
    const auto loss = [](const Tensors& features) {
      return features[0].to(at::kDouble).square().sum();
    };
    {
      const testkit::Autocast autocast;
      train(encode, loss);
    }
    return weight.grad();
  };
  const at::Tensor whole = gradient([&](const auto& encode, const auto& loss) {
    loss(encode({x})).backward();
  });
  const at::Tensor cached = gradient([&](const auto& encode, const auto& loss) {
    cached_backward(encode, loss, {x}, 3);
  });
  ASSERT_TRUE(cached.defined());
  const auto match =
      match_gradient(cached.to(at::kDouble), whole.to(at::kDouble));
  EXPECT_NEAR(match.scale, 1, 0.02);
  EXPECT_LT(match.residual, 0.02);
}

}  // namespace
}  // namespace tally::losses
