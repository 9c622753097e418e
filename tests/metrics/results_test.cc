#include "tally/metrics/results.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/results_json.h"
#include "tally/metrics/results_table.h"
#include "tally/sync/errors.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;

TEST(ResultsTest, KeepTheirOrder) {
  Results results;
  EXPECT_TRUE(results.empty());
  results.add("b", at::scalar_tensor(1));
  results.add("a", at::scalar_tensor(2));
  std::string names;
  for (const auto& [name, value] : results) names += name;
  EXPECT_EQ(names, "ba");
  EXPECT_EQ(results.size(), 2);
  EXPECT_TRUE(results.contains("a"));
  EXPECT_FALSE(results.contains("c"));
  EXPECT_EQ(results["a"].item<double>(), 2);
}

TEST(ResultsTest, RefuseANameTwice) {
  Results results;
  results.add("a", at::scalar_tensor(1));
  try {
    results.add("a", at::scalar_tensor(2));
    FAIL();
  } catch (const c10::ValueError& error) {
    EXPECT_EQ(sync::describe(error),
              "expected one result of each name, got 'a' twice");
  }
  EXPECT_EQ(results["a"].item<double>(), 1);
}

TEST(ResultsTest, SayWhichNamesThereAre) {
  Results results;
  const auto message = [&] {
    return refusal_of<c10::IndexError>([&] { results.at("x"); });
  };
  EXPECT_EQ(message(), "unknown result 'x'; there are: none");
  results.add("a", at::scalar_tensor(1));
  results.add("b", at::scalar_tensor(1));
  EXPECT_EQ(message(), "unknown result 'x'; there are: a, b");
}

TEST(ResultsTest, GiveTheOneTensorThereIs) {
  Results results;
  const auto message = [&] {
    return refusal_of<c10::IndexError>([&] { results.value(); });
  };
  EXPECT_EQ(message(), "expected one result, got 0: none");
  results.add("a", at::scalar_tensor(1));
  EXPECT_EQ(results.value().item<int>(), 1);
  results.add("b", at::scalar_tensor(1));
  EXPECT_EQ(message(), "expected one result, got 2: a, b");
}

TEST(ResultsTest, GiveNumbers) {
  Results results;
  results.add("f1", at::full({}, 0.5));
  EXPECT_EQ(results.number(), 0.5);
  EXPECT_EQ(results.number("f1"), 0.5);
  results.add("by_class", at::ones({3}));
  EXPECT_EQ(results.number("f1"), 0.5);
  EXPECT_THAT(
      refusal_of([&] { results.number("by_class"); }),
      HasSubstr("expected a number as 'by_class', got a tensor of sizes "
                "[3]"));
  EXPECT_THAT(refusal_of<c10::IndexError>([&] { results.number(); }),
              HasSubstr("expected one result, got 2: f1, by_class"));
  EXPECT_THAT(refusal_of<c10::IndexError>([&] { results.number("f2"); }),
              HasSubstr("'f2'"));
  // Beside its count.
  Results counted;
  counted.add("", at::full({}, 2));
  counted.add("cases", at::full({}, 7));
  EXPECT_EQ(counted.number(), 2);
}

TEST(ResultsTest, PartsCanBeReplaced) {
  Results results;
  results.add("a", at::scalar_tensor(1));
  ResultParts parts;
  results.visit(parts);
  for (const ResultParts::Part& part : parts) *part.value = part.value->add(1);
  EXPECT_EQ(results["a"].item<double>(), 2);
}

TEST(ResultsTest, PrintOneAlignedLineEach) {
  Results results;
  results.add("accuracy", at::scalar_tensor(0.8125, at::kDouble));
  results.add("n", at::scalar_tensor(7, at::kLong));
  results.add("ok", at::scalar_tensor(true, at::kBool));
  results.add("each", at::arange(3, at::kFloat).div(2));
  results.add("long", at::zeros({11}));
  results.add("matrix", at::zeros({2, 2}, at::kLong));
  results.add("none", at::Tensor());
  results.add("x", at::scalar_tensor(std::copysign(std::nan(""), -1)));
  results.add("z", at::full({}, c10::complex<double>(1, 2)));
  std::ostringstream out;
  out << results;
  EXPECT_EQ(out.str(),
            "accuracy  0.8125\n"
            "n         7\n"
            "ok        true\n"
            "each      [0, 0.5, 1]\n"
            "none      undefined\n"
            "x         nan\n"
            "z         (1,2)\n"
            "\n"
            "    long\n"
            "0      0\n"
            "1      0\n"
            "2      0\n"
            "3      0\n"
            "4      0\n"
            "5      0\n"
            "6      0\n"
            "7      0\n"
            "8      0\n"
            "9      0\n"
            "10     0\n"
            "\n"
            "matrix  0  1\n"
            "0       0  0\n"
            "1       0  0\n");
}

const Dimensions kOfClasses{Dimension::kClass};
const Dimensions kOfPairsOfClasses{Dimension::kClass, Dimension::kClass};

TEST(ResultsTest, TablesHaveLabels) {
  Results results;
  results.add("accuracy", at::scalar_tensor(0.8125), kOfClasses);
  results.add("recall", at::arange(3, at::kDouble).div(4), kOfClasses);
  results.add("curve", at::zeros({101}));
  results.add("images", at::arange(8, 11, at::kLong), kOfClasses);
  results.add("confusion", at::arange(9, at::kLong).view({3, 3}),
              kOfPairsOfClasses);
  results.add("by rank", at::zeros({2, 3}),
              {Dimension::kUnknown, Dimension::kClass});
  EXPECT_EQ(to_table(results, {"cat", "dog", "v\u00f6gel"}),
            "accuracy  0.8125\n"
            "curve     Float [101]\n"
            "\n"
            "       recall  images\n"
            "cat         0       8\n"
            "dog      0.25       9\n"
            "v\u00f6gel     0.5      10\n"
            "\n"
            "confusion  cat  dog  v\u00f6gel\n"
            "cat          0    1      2\n"
            "dog          3    4      5\n"
            "v\u00f6gel        6    7      8\n"
            "\n"
            "by rank  cat  dog  v\u00f6gel\n"
            "0          0    0      0\n"
            "1          0    0      0\n");
  EXPECT_EQ(to_table(Results()), "");
}

TEST(ResultsTest, LabelsNameClassesAlone) {
  Results results;
  results.add("f1", at::arange(2), kOfClasses);
  results.add("groups", at::arange(2), {Dimension::kPair});
  results.add("thresholds", at::arange(2), {Dimension::kPoint});
  results.add("mine", at::arange(2));
  results.add("rates", at::arange(10).view({2, 5}),
              {Dimension::kClass, Dimension::kCount});
  results.add("square", at::arange(4).view({2, 2}));
  EXPECT_EQ(to_table(results, {"cat", "dog"}),
            "groups      [0, 1]\n"
            "thresholds  [0, 1]\n"
            "mine        [0, 1]\n"
            "\n"
            "     f1\n"
            "cat   0\n"
            "dog   1\n"
            "\n"
            "rates  tp  fp  tn  fn  support\n"
            "cat     0   1   2   3        4\n"
            "dog     5   6   7   8        9\n"
            "\n"
            "square  0  1\n"
            "0       0  1\n"
            "1       2  3\n");
}

TEST(ResultsTest, LabelsAreThoseOfTheClassesThatThereAre) {
  const std::vector<std::string> labels{"background", "cat", "dog", "owl"};
  Results results;
  results.add("dice", at::arange(3), {Dimension::kForeground});
  results.add("map.map_per_class", at::arange(2), {Dimension::kListedClass});
  results.add("map.classes", at::tensor({3, 7}), {Dimension::kListedClass});
  EXPECT_EQ(to_table(results, labels),
            "     dice\n"
            "cat     0\n"
            "dog     1\n"
            "owl     2\n"
            "\n"
            "     map.map_per_class  map.classes\n"
            "owl                  0            3\n"
            "7                    1            7\n");
  // Names for other classes are those of none of them.
  EXPECT_THAT(to_table(results, {"cat", "dog"}),
              ::testing::HasSubstr("dice  [0, 1, 2]\n"));
}

TEST(ResultsTest, HaveDimensions) {
  Results results;
  results.add("number", at::scalar_tensor(1), kOfClasses);
  results.add("mine", at::zeros({2, 2}));
  const Dimensions curve{Dimension::kClass, Dimension::kPoint};
  results.add("curve", at::zeros({3}), curve);
  results.add("curves", at::zeros({2, 3}), curve);
  results.add("rows", at::zeros({2, 3}), {Dimension::kSample});
  const Dimensions unknown(2, Dimension::kUnknown);
  EXPECT_EQ(results.dimensions("number"), Dimensions());
  EXPECT_EQ(results.dimensions("mine"), unknown);
  EXPECT_EQ(results.dimensions("curve"), Dimensions{Dimension::kPoint});
  EXPECT_EQ(results.dimensions("curves"), curve);
  EXPECT_EQ(results.dimensions("rows"),
            (Dimensions{Dimension::kSample, Dimension::kUnknown}));
  EXPECT_THROW(results.dimensions("none"), c10::IndexError);
  EXPECT_EQ(dimensions_to_json(results),
            "{\"curve\":[\"point\"],\"curves\":[\"class\",\"point\"],"
            "\"rows\":[\"sample\",\"unknown\"]}");
  for (int i = 0; i <= static_cast<int>(Dimension::kLimit); ++i) {
    const auto dimension = static_cast<Dimension>(i);
    EXPECT_EQ(dimension_of(to_string(dimension)), dimension);
  }
  EXPECT_EQ(dimension_of("of another version"), Dimension::kUnknown);
}

struct Extremes {
  at::Tensor value, low;
  void visit(ResultParts& parts) { parts("", value)("low", low); }
};

TEST(ResultsTest, APrintedLineHasAName) {
  Results results;
  results.add("", at::scalar_tensor(0.5));
  std::ostringstream out;
  out << results;
  EXPECT_EQ(out.str(), "value  0.5\n");
}

TEST(ResultsTest, ResultsOfSeveralPartsArePrinted) {
  Extremes extremes{at::scalar_tensor(2), at::tensor({0, 1})};
  std::ostringstream out;
  out << extremes << std::as_const(extremes);
  EXPECT_EQ(out.str(), "value  2\nlow    [0, 1]\nvalue  2\nlow    [0, 1]\n");
}

TEST(ResultsTest, JsonHasEverything) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Results results;
  results.add("mean", at::scalar_tensor(0.1, at::kDouble));
  results.add("count", at::scalar_tensor(9007199254740993, at::kLong));
  results.add("flags", at::ones({2}, at::kBool));
  results.add("none", at::Tensor());
  results.add("odd \"name\"", at::tensor({std::nan(""), -kInfinity}));
  results.add("matrix", at::arange(4, at::kLong).view({2, 2}).t());
  EXPECT_EQ(to_json(results),
            "{\"mean\":0.1,\"count\":9007199254740993,\"flags\":[true,true],"
            "\"none\":null,\"odd \\\"name\\\"\":[\"NaN\",\"-Infinity\"],"
            "\"matrix\":[[0,2],[1,3]]}");
  EXPECT_EQ(to_json(Results()), "{}");
  results.add("z", at::full({}, c10::complex<double>(1, 2)));
  EXPECT_THROW(to_json(results), c10::TypeError);
}

}  // namespace
}  // namespace tally
