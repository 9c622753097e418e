#include "tally/metrics/classification/thresholds.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tally {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Options {
  Thresholds thresholds;
  void visit(OptionVisitor& v) { v("thresholds", thresholds.value()); }
};

template <class Function>
std::string refusal(const Function& function) {
  try {
    function();
  } catch (const c10::ValueError& error) {
    return error.what_without_backtrace();
  }
  return "nothing";
}

Thresholds parsed(const std::string& text) {
  Options options;
  parse_options(options, "Curve", {{"thresholds", text}});
  return options.thresholds;
}

std::int64_t reached(const std::vector<double>& edges, double score) {
  return std::count_if(edges.begin(), edges.end(),
                       [&](double edge) { return score >= edge; });
}

TEST(ThresholdsTest, HaveATextThatReadsBack) {
  for (const Thresholds& thresholds :
       {Thresholds(), Thresholds(200), Thresholds({0.1, 0.25, 1.0 / 3, 1})}) {
    const std::string text = options_repr(Options{thresholds});
    const std::string value = text.substr(text.find('=') + 1);
    EXPECT_EQ(parsed(value).value(), thresholds.value()) << text;
  }
  EXPECT_EQ(options_repr(Options()), "thresholds=none");
  EXPECT_EQ(options_repr(Options{200}), "thresholds=200");
  EXPECT_EQ(options_repr(Options{{0.1, 0.5}}), "thresholds=[0.1, 0.5]");
}

TEST(ThresholdsTest, RefuseOtherTexts) {
  for (const char* text : {"", "many", "0.5", "[0.1", "12x"}) {
    EXPECT_THAT(refusal([&] { parsed(text); }),
                HasSubstr("option 'thresholds': expected none, an integer, or "
                          "a list such as [0.1, 0.9], got '"))
        << text;
  }
  EXPECT_THAT(refusal([] { parsed("[0.1, half]"); }),
              HasSubstr("expected a number, got 'half'"));
}

TEST(ThresholdsTest, AreValidated) {
  EXPECT_NO_THROW(Thresholds().validate("Curve"));
  EXPECT_NO_THROW(Thresholds(2).validate("Curve"));
  EXPECT_NO_THROW(Thresholds({0.5}).validate("Curve"));
  EXPECT_THAT(refusal([] { Thresholds(1).validate("Curve"); }),
              HasSubstr("Curve: expected thresholds to be at least 2, got 1"));
  EXPECT_THAT(
      refusal([] { Thresholds(std::vector<double>()).validate("Curve"); }),
      HasSubstr("Curve: expected at least one threshold, got an empty list"));
  for (const Thresholds& thresholds :
       {Thresholds({0.5, 0.4}), Thresholds({0.5, 0.5}), Thresholds({-0.1, 0.5}),
        Thresholds({0.5, 1.1}), Thresholds({0.5, kNaN})}) {
    EXPECT_THAT(refusal([&] { thresholds.validate("Curve"); }),
                HasSubstr("expected thresholds in [0, 1] in ascending order"));
  }
}

TEST(ThresholdGridTest, CountsThresholdsThatAreReachedToTheLastBit) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const std::int64_t count : {2, 3, 10, 11, 50, 101, 200, 997}) {
    std::vector<double> edges;
    for (std::int64_t i = 0; i < count; ++i) {
      edges.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
    }
    const internal::ThresholdGrid equal{Thresholds(count)};
    const internal::ThresholdGrid listed{Thresholds(edges)};
    std::vector<double> scores = {0, 1, -0.5, 1.5, -0.0, 1e300, -1e300};
    scores.push_back(std::numeric_limits<double>::infinity());
    scores.push_back(-std::numeric_limits<double>::infinity());
    for (const double edge : edges) {
      scores.insert(scores.end(),
                    {edge, std::nextafter(edge, 2), std::nextafter(edge, -1),
                     static_cast<double>(static_cast<float>(edge))});
    }
    for (int i = 0; i < 1000; ++i) scores.push_back(uniform(random));
    const at::Tensor buckets = equal.bucket(at::tensor(scores));
    const at::Tensor listed_buckets = listed.bucket(at::tensor(scores));
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const std::int64_t expected = reached(edges, scores[i]);
      ASSERT_EQ(equal.bucket(scores[i]), expected) << scores[i];
      ASSERT_EQ(listed.bucket(scores[i]), expected) << scores[i];
      ASSERT_EQ(buckets.select(0, i).item<std::int64_t>(), expected);
      ASSERT_EQ(listed_buckets.select(0, i).item<std::int64_t>(), expected);
    }
  }
}

TEST(ThresholdGridTest, NoThresholdsMeanNoBuckets) {
  EXPECT_EQ(internal::ThresholdGrid(Thresholds()).size(), 0);
  EXPECT_TRUE(Thresholds().exact());
  EXPECT_FALSE(Thresholds(5).exact());
}

}  // namespace
}  // namespace tally
