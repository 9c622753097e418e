#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>

#include "tally/cli/argument_values.h"
#include "tally/cli/arguments.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/intervals/planning.h"
#include "tally/state/parse_number.h"

namespace tally::cli {
namespace {

/// A number in a range, and what it is without the option.
struct PlanOption {
  const char* name;
  double low;
  double high;
  bool has_ends = false;  // whether the range includes them
  bool is_required = true;
  double value = 0;
};

/// What is planned: by the last option, or by --rows in its place.
struct PlanKind {
  const char* name;
  std::vector<PlanOption> options;
  PlanOption wanted;
};

const PlanOption kLevel = {"--level", 0, 1, false, false, 0.95};
const PlanOption kAlpha = {"--alpha", 0, 1, false, false, 0.05};
const PlanOption kWidth = {"--width", 0, 1};
const PlanOption kPower = {"--power", 0, 1};
const PlanOption kPrevalence = {"--prevalence", 0, 1};

const PlanKind kPlanKinds[] = {
    {"width", {{"--proportion", 0, 1, true}, kLevel}, kWidth},
    {"mcnemar",
     {{"--first-only", 0, 1, true}, {"--second-only", 0, 1, true}, kAlpha},
     kPower},
    {"auroc", {{"--area", 0, 1, true}, kPrevalence, kLevel}, kWidth},
    {"delong",
     {{"--first", 0, 1, true},
      {"--second", 0, 1, true},
      {"--correlation", -1, 1},
      kPrevalence,
      kAlpha},
     kPower},
};

constexpr const char* kRows = "--rows";

double plan_number(const PlanOption& option, const std::string& text) {
  const auto number = internal::parse_number<double>(text);
  const bool is_inside =
      number &&
      (option.has_ends ? *number >= option.low && *number <= option.high
                       : *number > option.low && *number < option.high);
  TORCH_CHECK_VALUE(is_inside, option.name, ": expected a number in ",
                    option.has_ends ? "[" : "(", option.low, ", ", option.high,
                    option.has_ends ? "]" : ")", ", got '", text, "'");
  return *number;
}

const PlanKind& plan_kind(const std::vector<std::string>& words) {
  constexpr const char* kWanted =
      "plan: expected width, mcnemar, auroc or delong, got ";
  TORCH_CHECK_VALUE(!words.empty() && option_name(words[0]).empty(), kWanted,
                    words.empty() ? "none" : "'" + words[0] + "'");
  const auto* const found =
      std::find_if(std::begin(kPlanKinds), std::end(kPlanKinds),
                   [&](const PlanKind& kind) { return kind.name == words[0]; });
  TORCH_CHECK_VALUE(found != std::end(kPlanKinds), kWanted, "'", words[0], "'",
                    internal::did_you_mean(
                        words[0], {"width", "mcnemar", "auroc", "delong"}));
  return *found;
}

void set_plan_option(const PlanKind& kind, const std::string& name,
                     const std::string& value, Arguments& arguments) {
  if (name == "--format") {
    arguments.format = parse_format(value);
    TORCH_CHECK_VALUE(arguments.format != Format::kCsv,
                      "plan: expected the format table or json, got csv");
  } else if (name == "--output") {
    arguments.output = user_path(value);
  } else if (name == kRows) {
    arguments.numbers[kRows] =
        static_cast<double>(parse_count(kRows, value, 1, kMostPlannedRows));
  } else {
    std::vector<PlanOption> options = kind.options;
    options.push_back(kind.wanted);
    std::vector<std::string> names = {kRows, "--format", "--output"};
    for (const PlanOption& option : options) names.emplace_back(option.name);
    const auto found = std::find_if(
        options.begin(), options.end(),
        [&](const PlanOption& option) { return option.name == name; });
    TORCH_CHECK_VALUE(found != options.end(), "plan ", kind.name,
                      ": unknown option '", name, "'",
                      internal::did_you_mean(name, names));
    arguments.numbers[name] = plan_number(*found, value);
  }
}

}  // namespace

Arguments parse_plan(const std::vector<std::string>& words) {
  const PlanKind& kind = plan_kind(words);
  Arguments arguments;
  arguments.command = Command::kPlan;
  arguments.name = kind.name;
  std::vector<std::string> given;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name = option_name(words[i]);
    TORCH_CHECK_VALUE(!name.empty(), "plan ", kind.name,
                      ": expected an option, got '", words[i], "'; see --help");
    const std::string value = option_value(words, i, given);
    set_plan_option(kind, name, value, arguments);
  }
  auto& numbers = arguments.numbers;
  for (const PlanOption& option : kind.options) {
    TORCH_CHECK_VALUE(!option.is_required || numbers.count(option.name) == 1,
                      "plan ", kind.name, ": requires ", option.name);
    numbers.emplace(option.name, option.value);
  }
  const std::size_t wanted =
      numbers.count(kind.wanted.name) + numbers.count(kRows);
  TORCH_CHECK_VALUE(wanted == 1, "plan ", kind.name, ": expected one of ",
                    kind.wanted.name, " and ", kRows, ", got ",
                    wanted == 0 ? "none" : "both");
  return arguments;
}

}  // namespace tally::cli
