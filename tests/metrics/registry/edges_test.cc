#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tally/metrics/registry/registry.h"
#include "tally/tests/testing/refusal.h"

/// Values and refusals at the edges, of every metric in the registry, so that a
/// new one is checked as well.
namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

// The better end of a range like "[0, inf)"; none if the range is in words.
std::optional<double> best_of(const std::string& range, bool higher_is_better) {
  const std::size_t comma = range.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const std::string end =
      higher_is_better ? range.substr(comma + 2) : range.substr(1, comma - 1);
  if (end.rfind("pi", 0) == 0) return std::acos(-1);
  return std::strtod(end.c_str(), nullptr);
}

// What each metric says of no data at all.
template <class Check>
void for_each_empty_value(const Check& check) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    SCOPED_TRACE(name);
    const auto metric = make_metric(entry.example());
    for (const auto& [part, value] : metric->compute_results()) {
      SCOPED_TRACE("part '" + part + "'");
      if (!at::isFloatingType(value.scalar_type())) continue;
      check(entry, part, value.to(at::kDouble).reshape(-1).contiguous());
    }
  }
}

TEST(EdgesTest, NothingIsNeverPerfect) {
  for_each_empty_value([](const MetricEntry& entry, const std::string& part,
                          const at::Tensor& value) {
    const bool compares = std::any_of(
        entry.inputs.begin(), entry.inputs.end(),
        [](const InputInfo& input) { return input.name == "target"sv; });
    if (!entry.higher_is_better || !part.empty() || !compares) return;
    const auto best = best_of(entry.summary.range, *entry.higher_is_better);
    if (!best) return;
    EXPECT_FALSE(value.eq(*best).any().item<bool>()) << value;
  });
}

TEST(EdgesTest, NaNHasNoSign) {
  for_each_empty_value(
      [](const MetricEntry&, const std::string&, const at::Tensor& value) {
        const auto* const data = value.const_data_ptr<double>();
        for (std::int64_t i = 0; i < value.numel(); ++i) {
          EXPECT_FALSE(std::isnan(data[i]) && std::signbit(data[i]));
        }
      });
}

bool has_option(const MetricEntry& entry, const std::string& name) {
  return std::any_of(
      entry.options.begin(), entry.options.end(),
      [&](const OptionInfo& option) { return option.name == name; });
}

// [1, 1, 192, 192], or as a video, from 0 to 1.
at::Tensor image_for(const MetricEntry& entry) {
  const at::Tensor image =
      at::arange(192 * 192, at::kDouble).mul(0.7).sin().add(1).div(2);
  return entry.name.rfind("Video", 0) == 0 ? image.reshape({1, 1, 1, 192, 192})
                                           : image.reshape({1, 1, 192, 192});
}

TEST(EdgesTest, ImagesBeyondTheRangeAreRefused) {
  int metrics = 0;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (!has_option(entry, "data_range")) continue;
    ++metrics;
    SCOPED_TRACE(name);
    const std::string text = name + "(data_range=1)";
    const at::Tensor image = image_for(entry);
    const at::Tensor bytes = image.mul(255).to(at::kByte);
    const auto metric = make_metric(text);
    const auto refusal = [&](const at::Tensor& preds,
                             const at::Tensor& target) {
      return refusal_of([&] { metric->update(preds, target); });
    };
    EXPECT_THAT(refusal(bytes, bytes),
                HasSubstr("expected target within a data_range of 1"));
    EXPECT_THAT(refusal(image, image.mul(1.1)), HasSubstr("got values from"));
    EXPECT_THAT(refusal(bytes, image),
                HasSubstr("expected preds within a data_range of 1"));
    EXPECT_EQ(metric->update_count(), 0);
    // A range need not begin at 0, and rounding does not count.
    EXPECT_EQ(refusal(image.mul(1.3), image.mul(1.001).sub(0.5)), "nothing");
    make_metric(text, MetricOptions().validate_args(false))
        ->update(bytes, bytes);
    make_metric(name + "(data_range=255)")->update(bytes, bytes);
  }
  EXPECT_EQ(metrics, 7);
}

TEST(EdgesTest, ScoresOfOneMaskAreRefused) {
  int metrics = 0;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.domain != "segmentation") continue;
    ++metrics;
    SCOPED_TRACE(name);
    for (const std::int64_t classes : {1, 3}) {
      const std::string tolerance =
          name == "NormalizedSurfaceDistance" ? ", tolerance=1" : "";
      const auto metric = make_metric(
          name + "(num_classes=" + std::to_string(classes) + tolerance + ")");
      const at::Tensor mask = at::ones({2, classes, 8, 8}, at::kBool);
      const auto refusal = [&](const at::Tensor& preds,
                               const at::Tensor& target) {
        return refusal_of([&] { metric->update(preds, target); });
      };
      for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf}) {
        EXPECT_THAT(refusal(mask, mask.to(dtype)), HasSubstr("target > 0.5"));
        if (classes == 1) {
          EXPECT_THAT(refusal(mask.to(dtype), mask),
                      HasSubstr("threshold the scores: preds > 0.5"));
        } else {
          EXPECT_EQ(refusal(mask.to(dtype), mask), "nothing");
        }
      }
      EXPECT_EQ(refusal(mask, mask.to(at::kInt)), "nothing");
    }
  }
  EXPECT_EQ(metrics, 7);
}

// A float [N, ...] where labels are expected is a map of scores, or labels.
TEST(EdgesTest, ScoresInPlaceOfLabelsOfMasksAreRefused) {
  for (const auto& [name, entry] : builtin_registry().entries()) {
    if (entry.domain != "segmentation") continue;
    SCOPED_TRACE(name);
    const auto metric = make_metric(
        name + "(num_classes=2, input_format=index" +
        (name == "NormalizedSurfaceDistance" ? ", tolerance=1)" : ")"));
    const at::Tensor labels = at::zeros({2, 8, 8}, at::kLong);
    EXPECT_THAT(refusal_of<c10::TypeError>(
                    [&] { metric->update(labels.to(at::kFloat), labels); }),
                HasSubstr("preds > 0.5"));
    EXPECT_THAT(refusal_of<c10::TypeError>(
                    [&] { metric->update(labels, labels.to(at::kFloat)); }),
                HasSubstr("target.to(at::kLong)"));
  }
}

}  // namespace
}  // namespace tally
