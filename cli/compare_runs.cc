#include "tally/cli/compare_runs.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tally/cli/flags_text.h"
#include "tally/files/input_file.h"
#include "tally/files/json_text.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/metrics/results_csv.h"
#include "tally/metrics/results_table.h"

namespace tally::cli {
namespace {

// Room for the replicates of 100 000 numbers.
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
// Parts with more elements have no lines in a table.
constexpr std::int64_t kMostLines = 100;

NamedReplicates read_replicates(const std::string& path) {
  const std::string text = files::read_text(path, kMostBytes);
  try {
    return parse_replicates(text);
  } catch (const c10::ValueError& error) {
    C10_THROW_ERROR(ValueError, c10::str(path, ": ", error.msg()));
  }
}

const Replicates* find(const NamedReplicates& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const auto& each) { return each.first == name; });
  return found == all.end() ? nullptr : &found->second;
}

std::string names_or_none(const std::vector<std::string>& names) {
  const std::string text = c10::Join(", ", names);
  return text.empty() ? "none" : text;
}

std::string method_of(const Comparison& comparison) {
  return internal::OptionType<ComparisonMethod>::print(comparison.method);
}

/// The tensors of a comparison, by the names of columns.
Results columns_of(const Comparison& comparison, const char* p_value) {
  Results columns;
  columns.add("first", comparison.first);
  columns.add("second", comparison.second);
  columns.add("difference", comparison.difference);
  columns.add("low", comparison.low);
  columns.add("high", comparison.high);
  columns.add(p_value, comparison.p_value);
  return columns;
}

std::string comparison_json(const Comparison& comparison) {
  return files::json_object(columns_of(comparison, "p_value"),
                            {{"level", comparison.level},
                             {"method", method_of(comparison)},
                             {"n", comparison.n},
                             {"counted", comparison.counted},
                             {"unit", comparison.unit},
                             {"units", comparison.units},
                             {"replicates", comparison.replicates},
                             {"undefined", comparison.undefined},
                             {"flags", comparison.flags.names()}});
}

std::string comparisons_json(const ComparedRuns& runs) {
  std::string text = "{\"first\":" + files::json_text(runs.first) +
                     ",\"second\":" + files::json_text(runs.second) +
                     ",\"comparisons\":";
  std::string separator = "{";
  for (const auto& [name, comparison] : runs.comparisons) {
    text +=
        separator + files::json_text(name) + ":" + comparison_json(comparison);
    separator = ",";
  }
  return text + "},\"only_first\":" + files::json_text(runs.only_first) +
         ",\"only_second\":" + files::json_text(runs.only_second) + "}\n";
}

/// "2 0", the place of an element; empty for a single number.
std::string index_of(std::int64_t element, at::IntArrayRef sizes) {
  std::string text;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    text = std::to_string(element % *size) + (text.empty() ? "" : " ") + text;
    element /= *size;
  }
  return text;
}

std::string comparisons_csv(const ComparedRuns& runs) {
  std::string text =
      "metric,index,first,second,difference,low,high,p_value,n,undefined,"
      "units,flags\n";
  for (const auto& [name, comparison] : runs.comparisons) {
    const Results columns = columns_of(comparison, "p_value");
    for (std::int64_t i = 0; i < comparison.first.numel(); ++i) {
      text += csv_field(name) + "," +
              csv_field(index_of(i, comparison.first.sizes()));
      for (const auto& [column, values] : columns) {
        Results number;
        number.add("", values.reshape({-1})[i]);
        visit_csv(number,
                  [&](const std::string&, const std::string&,
                      const std::string& value) { text += "," + value; });
      }
      text += "," + std::to_string(comparison.n) + "," +
              std::to_string(comparison.undefined) + "," +
              std::to_string(std::llround(comparison.units)) + "," +
              csv_field(comparison.flags.text()) + "\n";
    }
  }
  return text;
}

std::string comparisons_table(const ComparedRuns& runs) {
  std::vector<std::string> labels;
  std::string too_large;
  std::vector<std::pair<std::string, std::vector<at::Tensor>>> columns;
  const auto append = [&](std::size_t place, const std::string& name,
                          const at::Tensor& values) {
    if (columns.size() <= place) columns.push_back({name, {}});
    columns[place].second.push_back(values.reshape({-1}));
  };
  for (const auto& [name, comparison] : runs.comparisons) {
    const std::int64_t count = comparison.first.numel();
    if (count > kMostLines) {
      too_large += name + ": " + std::to_string(count) +
                   " elements, which json and csv show\n";
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string index = index_of(i, comparison.first.sizes());
      labels.push_back(name + (index.empty() ? "" : " ") + index);
    }
    std::size_t place = 0;
    for (const auto& [column, values] : columns_of(comparison, "p")) {
      append(place++, column, values);
    }
    append(place++, "n", at::full({count}, comparison.n, at::kLong));
    append(place, "undefined",
           at::full({count}, comparison.undefined, at::kLong));
  }
  std::ostringstream text;
  if (!runs.first.empty()) {
    text << "first: " << runs.first << "\nsecond: " << runs.second << "\n";
  }
  text << runs.level * 100 << "% intervals of first - second:";
  std::vector<std::string> methods;
  for (const auto& [name, comparison] : runs.comparisons) {
    const std::string method = method_of(comparison);
    if (std::find(methods.begin(), methods.end(), method) == methods.end()) {
      methods.push_back(method);
    }
  }
  text << " " << names_or_none(methods) << "\n";
  Results table;
  for (const auto& [name, values] : columns) table.add(name, at::cat(values));
  if (!labels.empty()) {
    text << tally::internal::table_of_columns(table, labels);
  }
  return text.str() + too_large + flags_text(runs.comparisons);
}

}  // namespace

ComparedRuns compare_runs(const Arguments& arguments) {
  ComparedRuns runs;
  runs.first = arguments.runs[0];
  runs.second = arguments.runs[1];
  runs.level = arguments.level;
  const NamedReplicates first = read_replicates(runs.first);
  const NamedReplicates second = read_replicates(runs.second);
  std::vector<std::string> all_first, all_second;
  for (const auto& [name, replicates] : second) {
    all_second.push_back(name);
    if (find(first, name) == nullptr) runs.only_second.push_back(name);
  }
  for (const auto& [name, replicates] : first) {
    all_first.push_back(name);
    const Replicates* const other = find(second, name);
    if (other == nullptr) {
      runs.only_first.push_back(name);
      continue;
    }
    try {
      for (const auto& [part, comparison] :
           compare(replicates, *other, arguments.level)) {
        runs.comparisons.add(part.empty() ? name : name + "." + part,
                             comparison);
      }
    } catch (const c10::ValueError& error) {
      TORCH_CHECK_VALUE(false, name, ": ", error.msg());
    }
  }
  TORCH_CHECK_VALUE(!runs.comparisons.empty(), "compare: no metric is in both ",
                    runs.first, " (", names_or_none(all_first), ") and ",
                    runs.second, " (", names_or_none(all_second), ")");
  return runs;
}

std::string render(const ComparedRuns& runs, Format format) {
  switch (format) {
    case Format::kJson:
      return comparisons_json(runs);
    case Format::kCsv:
      return comparisons_csv(runs);
    case Format::kTable:
      break;
  }
  return comparisons_table(runs);
}

void print_remarks(const ComparedRuns& runs) {
  const auto say = [](const std::string& path,
                      const std::vector<std::string>& names) {
    if (names.empty()) return;
    std::cerr << "tally: only in " + path + ": " + names_or_none(names) + "\n";
  };
  say(runs.first, runs.only_first);
  say(runs.second, runs.only_second);
}

}  // namespace tally::cli
