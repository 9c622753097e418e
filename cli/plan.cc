#include "tally/cli/plan.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "tally/files/json_text.h"
#include "tally/metrics/intervals/planning.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/results_table.h"

namespace tally::cli {
namespace {

struct Plan {
  std::int64_t rows = 0;
  const char* name = "";  // of what these rows give
  double value = 0;
};

/// The numbers of the command line; --rows is missing where rows are wanted.
class PlanNumbers {
 public:
  explicit PlanNumbers(const Arguments& arguments)
      : numbers_(arguments.numbers) {}

  double operator[](const char* option) const { return numbers_.at(option); }

  template <class Fewest>
  std::int64_t rows_or(const Fewest& fewest) const {
    const auto given = numbers_.find("--rows");
    return given != numbers_.end() ? static_cast<std::int64_t>(given->second)
                                   : fewest();
  }

 private:
  const std::map<std::string, double>& numbers_;
};

Plan plan_width(const PlanNumbers& given) {
  const double proportion = given["--proportion"];
  const double level = given["--level"];
  const std::int64_t rows = given.rows_or(
      [&] { return rows_for_proportion(proportion, given["--width"], level); });
  const auto n = static_cast<double>(rows);
  const IntervalBounds ends = wilson_interval(proportion * n, n, level);
  return {rows, "width", ends.high - ends.low};
}

Plan plan_mcnemar(const PlanNumbers& given) {
  const double first = given["--first-only"];
  const double second = given["--second-only"];
  const double alpha = given["--alpha"];
  const std::int64_t rows = given.rows_or(
      [&] { return rows_for_mcnemar(first, second, given["--power"], alpha); });
  return {rows, "power", mcnemar_power(first, second, rows, alpha)};
}

void check_classes(double prevalence, std::int64_t rows) {
  const std::int64_t least =
      internal::intervals::rows_for_both_classes(prevalence);
  TORCH_CHECK_VALUE(rows >= least, "plan: expected --rows of at least ", least,
                    " at a prevalence of ", prevalence,
                    ", so that both classes have 2, got ", rows);
}

Plan plan_auroc(const PlanNumbers& given) {
  const double area = given["--area"];
  const double prevalence = given["--prevalence"];
  const double level = given["--level"];
  const std::int64_t rows = given.rows_or(
      [&] { return rows_for_area(area, prevalence, given["--width"], level); });
  check_classes(prevalence, rows);
  return {
      rows, "width",
      expected_area_width(area, prevalence, static_cast<double>(rows), level)};
}

Plan plan_delong(const PlanNumbers& given) {
  const ExpectedAreas areas{given["--first"], given["--second"],
                            given["--correlation"], given["--prevalence"]};
  const double alpha = given["--alpha"];
  const std::int64_t rows = given.rows_or(
      [&] { return rows_for_compared_areas(areas, given["--power"], alpha); });
  check_classes(areas.prevalence, rows);
  return {rows, "power",
          compared_areas_power(areas, static_cast<double>(rows), alpha)};
}

Plan planned(const Arguments& arguments) {
  const PlanNumbers numbers(arguments);
  if (arguments.name == "width") return plan_width(numbers);
  if (arguments.name == "mcnemar") return plan_mcnemar(numbers);
  if (arguments.name == "auroc") return plan_auroc(numbers);
  return plan_delong(numbers);
}

/// What a function refuses, with the options that it was called for.
std::string refusal_words(const std::string& plan, std::string what) {
  what.erase(0, what.find(": ") + 1);
  for (const auto& [quantity, options] :
       {std::pair(" rates ", " --first-only and --second-only "),
        std::pair(" areas ", " --first and --second ")}) {
    const std::size_t at = what.find(quantity);
    if (at != what.npos) what.replace(at, std::strlen(quantity), options);
  }
  return "plan " + plan + ":" + what;
}

/// "first_only" of "--first-only".
std::string key_of(const std::string& option) {
  std::string key = option.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace

std::string plan(const Arguments& arguments) {
  Plan found;
  try {
    found = planned(arguments);
  } catch (const c10::ValueError& error) {
    TORCH_CHECK_VALUE(false, refusal_words(arguments.name, error.msg()));
  }
  Results numbers;
  numbers.add("rows", at::scalar_tensor(found.rows, at::kLong));
  numbers.add(found.name, at::scalar_tensor(found.value, at::kDouble));
  if (arguments.format == Format::kTable) return to_table(numbers);
  nlohmann::ordered_json rest = {{"plan", arguments.name}};
  for (const auto& [option, value] : arguments.numbers) {
    const std::string key = key_of(option);
    if (key != "rows" && key != found.name) rest[key] = value;
  }
  return files::json_object(numbers, rest) + "\n";
}

}  // namespace tally::cli
