#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tally/cli/compare_runs.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

/// Of a metric with the parts "a", a number, and "b", a vector.
Replicates replicates_of(double shift, const std::string& metric = "M()") {
  Replicates replicates;
  replicates.metric = metric;
  replicates.n = 7;
  replicates.digest = 3;
  const at::Tensor drawn = at::arange(41, at::kDouble);
  replicates.values.add("a", at::scalar_tensor(20 + shift, at::kDouble));
  replicates.replicates.add("a", drawn.mul(1 + shift));
  replicates.values.add("b", at::tensor({1.0, std::nan("")}, at::kDouble));
  replicates.replicates.add("b", at::full({41, 2}, shift, at::kDouble));
  return replicates;
}

class CompareRunsTest : public ::testing::Test {
 protected:
  std::string write(const char* name, const NamedReplicates& replicates) {
    return folder_.write(name, to_text(replicates));
  }
  static ComparedRuns compared(const std::string& first,
                               const std::string& second) {
    Arguments arguments;
    arguments.runs = {first, second};
    arguments.level = 0.5;
    return compare_runs(arguments);
  }
  static std::string refusal(const std::string& first,
                             const std::string& second) {
    return refusal_of([&] { compared(first, second); });
  }

  Folder folder_;
};

TEST_F(CompareRunsTest, SubtractsPartByPart) {
  const std::string first = write("first", {{"m", replicates_of(1)}});
  const std::string second =
      write("second", {{"m", replicates_of(0)}, {"other", replicates_of(0)}});
  const ComparedRuns runs = compared(first, second);
  EXPECT_THAT(runs.only_first, IsEmpty());
  EXPECT_THAT(runs.only_second, ElementsAre("other"));
  const Json json = Json::parse(render(runs, Format::kJson));
  EXPECT_EQ(json["first"], first);
  EXPECT_EQ(json["second"], second);
  EXPECT_EQ(json["only_second"], Json({"other"}));
  const Json a = json["comparisons"]["m.a"];
  EXPECT_EQ(a["first"], 21);
  EXPECT_EQ(a["second"], 20);
  EXPECT_EQ(a["difference"], 1);
  EXPECT_EQ(a["low"], 10);  // of 0, 1, ..., 40
  EXPECT_EQ(a["high"], 30);
  EXPECT_NEAR(a["p_value"].get<double>(), 2 * 2 / 42.0,
              1e-15);  // one of which is 0
  EXPECT_EQ(a["level"], 0.5);
  EXPECT_EQ(a["method"], "poisson");
  EXPECT_EQ(a["n"], 7);
  EXPECT_EQ(a["replicates"], 41);
  EXPECT_EQ(a["undefined"], 0);
  EXPECT_EQ(json["comparisons"]["m.b"]["difference"], Json({0.0, "NaN"}));
  EXPECT_EQ(
      render(runs, Format::kCsv),
      "metric,index,first,second,difference,low,high,p_value,n,"
      "undefined,units,flags\n"
      "m.a,,21.0,20.0,1.0,10.0,30.0,0.09523809523809523,7,0,7,few_units\n"
      "m.b,0,1.0,1.0,0.0,NaN,NaN,1.0,7,0,7,\"few_units, no_variation\"\n"
      "m.b,1,NaN,NaN,NaN,NaN,NaN,NaN,7,0,7,\"few_units, no_variation\"\n");
  const std::string few = words(IntervalFlag::kFewUnits);
  const std::string same = words(IntervalFlag::kNoVariation);
  const std::string lines[] = {
      "       first  second  difference  low  high          p  n  undefined",
      "m.a       21      20           1   10    30  0.0952381  7          0",
      "m.b 0      1       1           0  nan   nan          1  7          0",
      "m.b 1    nan     nan         nan  nan   nan        nan  7          0",
      "m.a, m.b: " + few,
      "m.b: " + same};
  std::string table = "first: " + first + "\nsecond: " + second +
                      "\n50% intervals of first - second: poisson\n";
  for (const std::string& line : lines) table += line + "\n";
  EXPECT_EQ(render(runs, Format::kTable), table);
}

TEST_F(CompareRunsTest, TablesNameWhatIsTooLargeForThem) {
  Replicates large = replicates_of(0);
  large.values = Results();
  large.replicates = Results();
  large.values.add("", at::full({101}, 1.0, at::kDouble));
  large.replicates.add("", at::full({2, 101}, 1.0, at::kDouble));
  const std::string run = write("run", {{"m", large}});
  EXPECT_THAT(render(compared(run, run), Format::kTable),
              HasSubstr("poisson\nm: 101 elements, which json and csv show\n"));
}

TEST_F(CompareRunsTest, SaysWhatCannotBeCompared) {
  const std::string run = write("run", {{"m", replicates_of(0)}});
  EXPECT_THAT(refusal(run, folder_.path("none")),
              EndsWith("none: cannot be opened: No such file or directory"));
  const std::string other = folder_.write("other", "a,b\n1,2\n");
  EXPECT_THAT(refusal(other, run), StartsWith(other + ": replicates: "));
  const std::string newer =
      folder_.write("newer", R"({"format": "tally replicates", "version": 3})");
  EXPECT_EQ(
      refusal(run, newer),
      newer + ": replicates: expected version 1 to 2, got 3, of a newer Tally");
  EXPECT_EQ(refusal(run, write("b", {{"m", replicates_of(0, "N()")}})),
            "m: compare: expected the same metric, got M() and N()");
  Replicates rows = replicates_of(0);
  rows.digest = 4;
  EXPECT_EQ(refusal(run, write("c", {{"m", rows}})),
            "m: compare: expected the same ids of rows, got others");
  rows.n = 8;
  EXPECT_EQ(refusal(run, write("d", {{"m", rows}})),
            "m: compare: expected the same number of rows, got 7 and 8");
  Replicates seed = replicates_of(0);
  seed.seed = 1;
  EXPECT_EQ(refusal(run, write("e", {{"m", seed}})),
            "m: compare: expected the same seed, got 0 and 1");
  Replicates method = replicates_of(0);
  method.method = IntervalMethod::kWilson;
  const std::string wilson = write("f", {{"m", method}});
  EXPECT_THAT(
      refusal(wilson, wilson),
      StartsWith("m: compare: expected replicates of method poisson, "));
  const std::string none = write("g", {});
  EXPECT_EQ(refusal(run, none), "compare: no metric is in both " + run +
                                    " (m) and " + none + " (none)");
}

}  // namespace
}  // namespace tally::cli
