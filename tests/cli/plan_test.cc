#include "tally/cli/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tally/cli/completion.h"
#include "tally/metrics/intervals/planning.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

const Words kMcnemar = {"mcnemar", "--first-only", "0.3", "--second-only",
                        "0.1"};
const Words kDelong = {"delong",   "--first",      "0.9",
                       "--second", "0.85",         "--correlation",
                       "0.5",      "--prevalence", "0.3"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json json_of(const Words& words) {
  const Arguments arguments = parse_plan(with(words, {"--format=json"}));
  EXPECT_EQ(arguments.command, Command::kPlan);
  return Json::parse(plan(arguments));
}

std::string plan_error(const Words& words) {
  return refusal_of([&] { plan(parse_plan(words)); });
}

TEST(PlanTest, PrintsATable) {
  EXPECT_EQ(plan(parse_plan({"width", "--proportion", "0.9", "--width=0.05"})),
            "rows   557\nwidth  0.0499583\n");
}

TEST(PlanTest, SaysInJsonWhatWasAskedFor) {
  const Json width = json_of(
      {"width", "--proportion", "0.9", "--width", "0.05", "--level", "0.9"});
  EXPECT_EQ(width["plan"], "width");
  EXPECT_EQ(width["proportion"], 0.9);
  EXPECT_EQ(width["level"], 0.9);
  EXPECT_EQ(width["rows"], rows_for_proportion(0.9, 0.05, 0.9));
  EXPECT_LE(width["width"], 0.05);
  const Json mcnemar = json_of(with(kMcnemar, {"--power", "0.8"}));
  EXPECT_EQ(mcnemar["first_only"], 0.3);
  EXPECT_EQ(mcnemar["alpha"], 0.05);
  EXPECT_EQ(mcnemar["rows"], 76);
  EXPECT_GE(mcnemar["power"], 0.8);
  EXPECT_EQ(mcnemar["power"], mcnemar_power(0.3, 0.1, 76, 0.05));
}

TEST(PlanTest, PlansAreas) {
  const Json one = json_of(
      {"auroc", "--area", "0.9", "--prevalence", "0.2", "--width", "0.05"});
  EXPECT_EQ(one["rows"], rows_for_area(0.9, 0.2, 0.05, 0.95));
  EXPECT_LE(one["width"], 0.05);
  const Json two = json_of(with(kDelong, {"--power", "0.8"}));
  const ExpectedAreas areas{0.9, 0.85, 0.5, 0.3};
  EXPECT_EQ(two["rows"], rows_for_compared_areas(areas, 0.8, 0.05));
  EXPECT_GE(two["power"], 0.8);
}

TEST(PlanTest, SaysWhatGivenRowsGive) {
  const Json width = json_of({"width", "--proportion", "0.9", "--rows", "557"});
  EXPECT_EQ(width["rows"], 557);
  EXPECT_NEAR(width["width"], 0.04995828, 1e-8);
  EXPECT_EQ(json_of(with(kMcnemar, {"--rows", "75"}))["power"],
            mcnemar_power(0.3, 0.1, 75, 0.05));
  EXPECT_EQ(json_of(with(kDelong, {"--rows=500", "--alpha=0.01"}))["power"],
            compared_areas_power({0.9, 0.85, 0.5, 0.3}, 500, 0.01));
}

TEST(PlanTest, TakesAFile) {
  const Arguments arguments =
      parse_plan({"width", "--proportion", "1", "--rows", "9", "-o", "x"});
  EXPECT_EQ(arguments.output, "x");
  EXPECT_EQ(arguments.format, Format::kTable);
}

TEST(PlanTest, SaysWhatIsWrong) {
  EXPECT_EQ(plan_error({}),
            "plan: expected width, mcnemar, auroc or delong, got none");
  EXPECT_EQ(plan_error({"--width", "0.1"}),
            "plan: expected width, mcnemar, auroc or delong, got '--width'");
  EXPECT_EQ(plan_error({"mcnemer"}),
            "plan: expected width, mcnemar, auroc or delong, got 'mcnemer'; "
            "did you mean 'mcnemar'?");
  EXPECT_EQ(plan_error({"width", "0.9"}),
            "plan width: expected an option, got '0.9'; see --help");
  EXPECT_EQ(plan_error({"width", "--proportions", "0.9"}),
            "plan width: unknown option '--proportions'; did you mean "
            "'--proportion'?");
  EXPECT_EQ(plan_error({"width", "--alpha", "0.05"}),
            "plan width: unknown option '--alpha'");
  EXPECT_EQ(plan_error({"width", "--width", "0.1"}),
            "plan width: requires --proportion");
  EXPECT_EQ(plan_error({"width", "--proportion", "0.9"}),
            "plan width: expected one of --width and --rows, got none");
  EXPECT_EQ(plan_error({"width", "--proportion", "0.9", "--width", "0.1",
                        "--rows", "9"}),
            "plan width: expected one of --width and --rows, got both");
  EXPECT_EQ(plan_error({"width", "--proportion", "1.5"}),
            "--proportion: expected a number in [0, 1], got '1.5'");
  EXPECT_EQ(plan_error({"width", "--level", "1"}),
            "--level: expected a number in (0, 1), got '1'");
  for (const char* text : {"nan", "x", "-0.5"}) {
    EXPECT_EQ(plan_error({"width", "--width", text}),
              "--width: expected a number in (0, 1), got '" +
                  std::string(text) + "'");
  }
  EXPECT_EQ(plan_error({"delong", "--correlation", "-1"}),
            "--correlation: expected a number in (-1, 1), got '-1'");
  EXPECT_EQ(plan_error({"width", "--rows", "0"}),
            "--rows: expected an integer from 1 to 10000000, got '0'");
  EXPECT_EQ(plan_error({"width", "--width"}),
            "--width: expected a value, got none");
  EXPECT_EQ(plan_error({"width", "--width="}),
            "--width: expected a value, got none");
  EXPECT_EQ(plan_error({"width", "--width", "--rows"}),
            "--width: expected a value, got none");
  EXPECT_EQ(plan_error({"width", "--rows", "3", "--rows=4"}),
            "--rows: given twice");
  EXPECT_EQ(plan_error({"width", "--format", "csv"}),
            "plan: expected the format table or json, got csv");
  EXPECT_THAT(plan_error({"mcnemar", "--first-only", "0.1", "--second-only",
                          "0.1", "--power", "0.8"}),
              HasSubstr("plan mcnemar: expected --first-only and --second-only "
                        "that differ, got 0.1 twice"));
  EXPECT_EQ(
      plan_error(
          {"auroc", "--area", "0.9", "--prevalence", "0.2", "--rows", "9"}),
      "plan auroc: expected --rows of at least 10 at a prevalence of 0.2, "
      "so that both classes have 2, got 9");
  EXPECT_THAT(plan_error(with(kDelong, {"--rows", "6"})),
              HasSubstr("--rows of at least 7 at a prevalence of 0.3"));
  EXPECT_THAT(
      plan_error({"width", "--proportion", "0.5", "--width", "0.000001"}),
      HasSubstr("more than 10000000 rows would be needed"));
}

TEST(PlanTest, IsCompleted) {
  const std::string script = completion(builtin_registry(), "bash");
  EXPECT_THAT(script, HasSubstr("words=\"width mcnemar auroc delong\""));
  const std::regex line(
      "(width|mcnemar|auroc|delong)\\)\\s+words=\"([^\"]+)\"");
  int kinds = 0;
  for (std::sregex_iterator found(script.begin(), script.end(), line), end;
       found != end; ++found) {
    Words words = {(*found)[1]};
    std::istringstream options((*found)[2]);
    for (std::string option; options >> option;) {
      words.push_back(option + "=0.4");
    }
    const Arguments arguments = parse_plan(words);
    // All that there are: none has been added by its default.
    EXPECT_EQ(arguments.numbers.size(), words.size() - 1) << words[0];
    for (const auto& [option, value] : arguments.numbers) {
      EXPECT_EQ(value, 0.4) << option;
    }
    ++kinds;
  }
  EXPECT_EQ(kinds, 4);
}

}  // namespace
}  // namespace tally::cli
