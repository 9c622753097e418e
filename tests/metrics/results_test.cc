#include "tally/metrics/results.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tally/sync/errors.h"

namespace tally {
namespace {

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
  const auto message = [&]() -> std::string {
    try {
      results.at("x");
    } catch (const c10::IndexError& error) {
      return sync::describe(error);
    }
    return "nothing";
  };
  EXPECT_EQ(message(), "there is no result 'x'; there are: none");
  results.add("a", at::scalar_tensor(1));
  results.add("b", at::scalar_tensor(1));
  EXPECT_EQ(message(), "there is no result 'x'; there are: a, b");
}

TEST(ResultsTest, GiveTheOneTensorThereIs) {
  Results results;
  const auto message = [&]() -> std::string {
    try {
      return std::to_string(results.value().item<int>());
    } catch (const c10::IndexError& error) {
      return sync::describe(error);
    }
  };
  EXPECT_EQ(message(), "expected one result, got 0: none");
  results.add("a", at::scalar_tensor(1));
  EXPECT_EQ(message(), "1");
  results.add("b", at::scalar_tensor(1));
  EXPECT_EQ(message(), "expected one result, got 2: a, b");
}

TEST(ResultsTest, PartsCanBeReplaced) {
  Results results;
  results.add("a", at::scalar_tensor(1));
  ResultParts parts;
  results.visit(parts);
  for (const auto& [name, part] : parts) *part = part->add(1);
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
            "long      Float [11]\n"
            "matrix    Long [2, 2]\n"
            "none      undefined\n"
            "x         nan\n"
            "z         (1,2)\n");
}

}  // namespace
}  // namespace tally
