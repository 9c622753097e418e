#include "tally/losses/registry/loss_registry.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <string>

#include "tally/losses/losses.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/refusal.h"

namespace tally::losses {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::refusal_of;

std::string example_of(const LossEntry& entry) {
  if (entry.name == "LFQ") return "LFQ(dim=4)";  // or codebook_size
  return entry.example();
}

TEST(LossRegistryTest, KnowsEveryLoss) {
  EXPECT_EQ(loss_entries().size(), 38u);
  for (const auto& [name, entry] : loss_entries()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(entry.name, name);
    const std::string what = entry.summary.what;
    EXPECT_LT(what.size(), 79u);
    EXPECT_EQ(what.back(), '.');
    EXPECT_THAT(entry.inputs, Not(IsEmpty()));
    EXPECT_STRNE(entry.summary.formula, "");
    EXPECT_STRNE(entry.summary.aliases, "");
    for (const OptionInfo& option : entry.options) {
      SCOPED_TRACE(option.name);
      ASSERT_FALSE(option.words.empty());
      EXPECT_EQ(option.words.back(), '.');
      EXPECT_LE(option.words.size(), 72u);
    }
  }
}

// What a loss prints makes it again.
TEST(LossRegistryTest, TextsOfLossesAreParsedBack) {
  const std::string prefix = "tally::losses::";
  for (const auto& [name, entry] : loss_entries()) {
    SCOPED_TRACE(name);
    const auto printed = [](Loss& loss) {
      std::ostringstream stream;
      loss.module().pretty_print(stream);
      return stream.str();
    };
    const std::string text = printed(*make_loss(example_of(entry)));
    ASSERT_EQ(text.substr(0, prefix.size()), prefix);
    EXPECT_EQ(printed(*make_loss(text.substr(prefix.size()))), text);
  }
}

TEST(LossRegistryTest, MakesTheLossOfTheClass) {
  const at::Tensor preds = at::tensor({.2, .9, .6}, at::kDouble);
  const at::Tensor target = at::tensor({0, 1, 1}, at::kLong);
  const auto made = make_loss("DiceLoss(mode=binary, smooth_nr=1)");
  EXPECT_TRUE(testkit::same_bits(
      made->forward({preds, target})[0],
      DiceLoss(DiceLossOptions().mode(LabelMode::kBinary).smooth_nr(1))
          ->forward(preds, target)));
  const auto quantizer = make_loss("LFQ(dim=4)");
  EXPECT_EQ(quantizer->forward({at::ones({2, 4}), {}, {}}).size(), 6u);
  EXPECT_THAT(loss_entries().at("LFQ").results,
              ElementsAre("quantized", "indices", "aux_loss",
                          "per_sample_entropy", "batch_entropy", "commitment"));
  EXPECT_THAT(loss_entries().at("SupConLoss").inputs,
              ElementsAre("features", "labels?"));
}

TEST(LossRegistryTest, OptionalInputsMayBeUndefined) {
  const auto loss = make_loss("ClipLoss()");
  const at::Tensor rows = at::ones({2, 3}), scale = at::full({}, 2.0);
  EXPECT_EQ(loss->forward({rows, rows, scale, {}}).size(), 1u);
  EXPECT_EQ(loss->logits({rows, rows, scale, {}}).size(), 2u);
  EXPECT_EQ(refusal_of([&] {
              loss->forward({rows, rows});
            }),
            "ClipLoss: expected 4 inputs, image_features, text_features, "
            "logit_scale, logit_bias?, got 2");
}

TEST(LossRegistryTest, MistakesAreExplained) {
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { make_loss(text); });
  };
  EXPECT_EQ(refused("DiseLoss"),
            "unknown loss 'DiseLoss'; did you mean 'DiceLoss'?");
  EXPECT_THAT(refused("DiceLoss(smoth_nr=1)"),
              HasSubstr("DiceLoss: unknown option 'smoth_nr'; did you mean "
                        "'smooth_nr'?"));
  EXPECT_THAT(refused("DiceLoss(mode=many)"), HasSubstr("expected one of"));
  EXPECT_THAT(refused("VectorQuantize()"), HasSubstr("option 'dim'"));
  EXPECT_EQ(refusal_of([] {
              make_loss("SoftRank", {nullptr, std::chrono::seconds(1)});
            }),
            "timeout: expected none, got 1000 ms");
  EXPECT_THAT(refusal_of<c10::Error>([] { make_loss("DiceLoss")->logits({}); }),
              HasSubstr("this loss has no logits"));
  EXPECT_THAT(
      refusal_of<c10::Error>([] {
        make_loss("DiceLoss")->indices_to_codes(at::zeros({1}, at::kLong));
      }),
      HasSubstr("this loss has no codes"));
}

}  // namespace
}  // namespace tally::losses
