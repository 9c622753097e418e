#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/codebook/lfq.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/errors.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using ::tally::testkit::refusal_of;
using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;

TEST(LFQErrorsTest, RefusesOptionsThatDoNotFit) {
  const auto refusal = [](const LFQOptions& options) {
    return refusal_of([&] { LFQ lfq(options); });
  };
  EXPECT_EQ(refusal({}),
            "LFQ: expected option 'dim' or 'codebook_size' to be above 0, got "
            "0 and 0");
  EXPECT_EQ(refusal(LFQOptions().dim(-1).codebook_size(2)),
            "LFQ: option 'dim': expected at least 0, got -1");
  EXPECT_EQ(refusal(LFQOptions().dim(40)),
            "LFQ: option 'dim': expected at most 30 without a codebook_size, "
            "got 40");
  EXPECT_EQ(refusal(LFQOptions().codebook_size(1000)),
            "LFQ: option 'codebook_size': expected a power of 2 from 2 to "
            "2^30, got 1000");
  EXPECT_EQ(refusal(LFQOptions().dim(4).num_codebooks(0)),
            "LFQ: option 'num_codebooks': expected at least 1, got 0");
  EXPECT_EQ(
      refusal(LFQOptions().dim(5).codebook_size(4).has_projections(false)),
      "LFQ: option 'dim': expected 2, the number of bits, without "
      "projections, got 5");
  EXPECT_EQ(
      refusal(
          LFQOptions().codebook_size(4).num_codebooks(2).keep_num_codebooks_dim(
              false)),
      "LFQ: option 'keep_num_codebooks_dim': expected true with 2 "
      "codebooks, got false");
  EXPECT_EQ(refusal(LFQOptions().dim(4).codebook_scale(0)),
            "LFQ: option 'codebook_scale': expected a positive number, got 0");
  EXPECT_EQ(refusal(LFQOptions().dim(4).soft_clamp_input_value(0.5)),
            "LFQ: option 'soft_clamp_input_value': expected at least the "
            "codebook_scale, 1, got 0.5");
  EXPECT_EQ(refusal(LFQOptions().dim(4).frac_per_sample_entropy(0)),
            "LFQ: option 'frac_per_sample_entropy': expected above 0 and at "
            "most 1, got 0");
  EXPECT_EQ(refusal(LFQOptions().dim(4).inverse_temperature(-1)),
            "LFQ: option 'inverse_temperature': expected at least 0, got -1");
}

TEST(LFQErrorsTest, TellsOtherRanksOfInputThatDoesNotFit) {
  const std::vector<std::pair<std::function<void(LFQ&)>, std::string>> calls = {
      {[](LFQ& lfq) {
         lfq->forward(at::zeros({2, 3}));
       },
       "LFQ: x: expected 4 channels in dimension 1, got sizes [2, 3]"},
      {[](LFQ& lfq) { lfq->forward(at::zeros({4})); },
       "LFQ: x: expected at least 2 dimensions, got sizes [4]"},
      {[](LFQ& lfq) {
         lfq->forward(at::zeros({2, 4}, at::kLong));
       },
       "LFQ: x: expected a floating dtype, got Long"},
      {[](LFQ& lfq) { lfq->forward(at::Tensor()); },
       "LFQ: x: expected a floating dtype, got an undefined tensor"},
      {[](LFQ& lfq) {
         lfq->forward(at::zeros({2, 4}), at::zeros({2}));
       },
       "LFQ: mask: expected dtype bool, got Float"},
      {[](LFQ& lfq) {
         lfq->forward(at::zeros({2, 3, 4}), at::zeros({3}, at::kBool));
       },
       "LFQ: mask: expected the sizes of the tokens, [2, 3], or the first of "
       "them, got [3]"},
      {[](LFQ&) {
         functional::lfq(at::zeros({2, 4}), LFQOptions());
       },
       "LFQ: expected option 'dim' or 'codebook_size' to be above 0, got 0 and "
       "0"},
      {[](LFQ& lfq) {
         lfq->forward(at::zeros({2, 4}), {}, -1);
       },
       "LFQ: option 'inverse_temperature': expected at least 0, got -1"},
  };
  run_thread_ranks(2, [&](const auto& communicator) {
    LFQ lfq(LFQOptions().dim(4));
    for (const auto& [call, text] : calls) {
      if (communicator->rank() == 1) {
        EXPECT_EQ(refusal_of([&, &bad = call] { bad(lfq); }), text);
        continue;
      }
      try {
        lfq->forward(at::zeros({2, 4}));
        ADD_FAILURE() << text;
      } catch (const sync::SyncError& error) {
        EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
        EXPECT_NE(error.message().find(text), std::string::npos)
            << error.message();
      }
    }
    // Nobody is out of step.
    EXPECT_TRUE(lfq->forward(at::rand({2, 4})).aux_loss.defined());
  });
  LFQ lfq(LFQOptions().dim(4));
  EXPECT_EQ(refusal_of([&] { lfq->indices_to_codes(at::zeros({2})); }),
            "LFQ: indices: expected int64 as forward() returns them, got Float "
            "[2]");
}

TEST(LFQErrorsTest, RanksBeginWithTheSameRotation) {
  run_thread_ranks(2, [](const auto& communicator) {
    LFQ lfq(LFQOptions().dim(4).orthogonal_rotation(true));
    if (communicator->rank() == 1) lfq->rotation.neg_();
    const auto forward = [&] { lfq->forward(at::rand({2, 4})); };
    EXPECT_THAT(refusal_of<sync::SyncError>(forward),
                HasSubstr("LFQ with the rotation of checksum "));
    sync::broadcast_parameters(lfq->buffers());
    forward();
  });
}

}  // namespace
}  // namespace tally::losses
