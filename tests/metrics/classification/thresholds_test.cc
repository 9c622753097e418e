#include "tally/metrics/classification/options/thresholds.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tally/metrics/classification/kernels/bin_kernels.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally {

namespace classification = internal::classification;
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Options {
  Thresholds thresholds;
  void visit(OptionVisitor& v) { v("thresholds", thresholds.value()); }
};

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
    EXPECT_THAT(refusal_of([&] { parsed(text); }),
                HasSubstr("option 'thresholds': expected none, an integer, or "
                          "a list such as [0.1, 0.9], got '"))
        << text;
  }
  EXPECT_THAT(refusal_of([] { parsed("[0.1, half]"); }),
              HasSubstr("expected a number, got 'half'"));
}

TEST(ThresholdsTest, AreValidated) {
  EXPECT_NO_THROW(Thresholds().validate("Curve"));
  EXPECT_NO_THROW(Thresholds(2).validate("Curve"));
  EXPECT_NO_THROW(Thresholds({0.5}).validate("Curve"));
  EXPECT_THAT(refusal_of([] { Thresholds(1).validate("Curve"); }),
              HasSubstr("Curve: expected thresholds to be at least 2, got 1"));
  EXPECT_THAT(
      refusal_of([] { Thresholds(std::vector<double>()).validate("Curve"); }),
      HasSubstr("Curve: expected at least one threshold, got an empty list"));
  for (const Thresholds& thresholds :
       {Thresholds({0.5, 0.4}), Thresholds({0.5, 0.5}), Thresholds({-0.1, 0.5}),
        Thresholds({0.5, 1.1}), Thresholds({0.5, kNaN})}) {
    EXPECT_THAT(refusal_of([&] { thresholds.validate("Curve"); }),
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
    const classification::ThresholdGrid equal{Thresholds(count)};
    const classification::ThresholdGrid listed{Thresholds(edges)};
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

// Floats at and beside edges, and others.
std::vector<float> floats_near(const std::vector<double>& edges) {
  std::vector<float> scores = {0.0f, -0.0f, 1.0f, 1e-45f,
                               std::nextafter(1.0f, 0.0f)};
  for (const double edge : edges) {
    const auto near = static_cast<float>(edge);
    scores.push_back(near);
    scores.push_back(std::min(std::nextafter(near, 2.0f), 1.0f));
    if (near > 0) scores.push_back(std::nextafter(near, 0.0f));
  }
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (int i = 0; i < 200; ++i) scores.push_back(uniform(random));
  return scores;
}

using Places = std::vector<std::uint32_t>;

// What the kernels should find where every third code is 1.
Places places_of(const std::vector<double>& edges,
                 const std::vector<float>& scores, std::int64_t columns,
                 std::vector<std::uint8_t>& codes) {
  Places places;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    codes.push_back(i % 3 == 0);
    places.push_back(static_cast<std::uint32_t>(
        std::upper_bound(edges.begin(), edges.end(), double{scores[i]}) -
        edges.begin() + codes.back() * columns));
  }
  return places;
}

void expect_uniform_places() {
  for (const std::int64_t count :
       {2, 3, 5, 7, 10, 50, 101, 200, 997, 1 << 14, 100'003}) {
    const classification::ThresholdGrid grid{Thresholds(count)};
    const std::vector<double> edges(grid.edges(), grid.edges() + count);
    const std::vector<float> scores = floats_near(edges);
    const auto size = static_cast<std::int64_t>(scores.size());
    std::vector<std::uint8_t> codes;
    const Places expected = places_of(edges, scores, count + 2, codes);
    Places places(size);
    EXPECT_TRUE(classification::uniform_places(
        scores.data(), codes.data(), size, static_cast<double>(count - 1),
        count + 2, places.data()));
    EXPECT_EQ(places, expected) << count;
  }
}

TEST(BinKernelsTest, UniformPlacesAreExact) {
  testkit::for_each_vector_target(expect_uniform_places);
}

void expect_listed_places() {
  std::vector<std::vector<double>> lists = {{0.5}, {0.0}, {1.0}, {0.0, 1.0}};
  std::vector<double> squares, clustered, thirds;
  for (int i = 0; i < 200; ++i) squares.push_back(i * i / 40000.0);
  for (int i = 40; i > 0; --i) clustered.push_back(std::pow(0.7, i));
  // As many within one cell as a search of all is for.
  for (int i = 0; i < 300; ++i) clustered.push_back(0.9 + i * 1e-7);
  for (int i = 0; i < 3000; ++i) thirds.push_back(i / 3000.0 + 1e-17);
  lists.insert(lists.end(), {squares, clustered, thirds});
  for (const std::vector<double>& edges : lists) {
    const std::vector<float> scores = floats_near(edges);
    const auto size = static_cast<std::int64_t>(scores.size());
    const auto count = static_cast<std::int64_t>(edges.size());
    std::vector<std::uint8_t> codes;
    const Places expected = places_of(edges, scores, count + 2, codes);
    const classification::EdgeTable table(edges.data(), count);
    Places places(size);
    EXPECT_TRUE(classification::listed_places(scores.data(), codes.data(), size,
                                              table, count + 2, places.data()));
    EXPECT_EQ(places, expected) << count;
    for (std::int64_t i = 0; i < size; ++i) {
      EXPECT_EQ(table.bucket(scores[i]) + codes[i] * (count + 2), expected[i]);
    }
  }
}

TEST(BinKernelsTest, ListedPlacesAreExact) {
  testkit::for_each_vector_target(expect_listed_places);
}

void expect_no_places() {
  const classification::ThresholdGrid grid{Thresholds(5)};
  const classification::EdgeTable table(grid.edges(), 5);
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const float odd :
       {-tiny, std::nextafter(1.0f, 2.0f), static_cast<float>(kNaN), 1e30f}) {
    for (const std::int64_t place : {0, 20, 40}) {
      std::vector<float> scores(41, 0.5f);
      scores[place] = odd;
      Places places(41);
      EXPECT_FALSE(classification::uniform_places(scores.data(), nullptr, 41, 4,
                                                  7, places.data()));
      EXPECT_FALSE(classification::listed_places(scores.data(), nullptr, 41,
                                                 table, 7, places.data()));
    }
  }
}

TEST(BinKernelsTest, OtherScoresHaveNoPlace) {
  testkit::for_each_vector_target(expect_no_places);
}

void expect_inside() {
  for (const std::int64_t size : {0, 1, 16, 41}) {
    std::vector<float> scores(size, 0.25f);
    EXPECT_TRUE(classification::are_probabilities(scores.data(), size));
    if (size == 0) continue;
    for (const std::int64_t place : {std::int64_t{0}, size - 1}) {
      for (const float fine : {0.0f, -0.0f, 1.0f}) {
        scores[place] = fine;
        EXPECT_TRUE(classification::are_probabilities(scores.data(), size));
      }
      for (const float odd :
           {-1e-30f, std::nextafter(1.0f, 2.0f), static_cast<float>(kNaN)}) {
        scores[place] = odd;
        EXPECT_FALSE(classification::are_probabilities(scores.data(), size))
            << odd;
        const std::vector<double> wide(scores.begin(), scores.end());
        EXPECT_FALSE(classification::are_probabilities(wide.data(), size))
            << odd;
      }
      scores[place] = 0.5f;
    }
  }
}

TEST(BinKernelsTest, ProbabilitiesAreInside) {
  testkit::for_each_vector_target(expect_inside);
}

TEST(ThresholdGridTest, NoThresholdsMeanNoBuckets) {
  EXPECT_EQ(classification::ThresholdGrid(Thresholds()).size(), 0);
  EXPECT_TRUE(Thresholds().exact());
  EXPECT_FALSE(Thresholds(5).exact());
}

}  // namespace
}  // namespace tally
