#include "tally/cli/render.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>

#include "tally/cli/compared_output.h"
#include "tally/cli/flags_text.h"
#include "tally/files/json_text.h"
#include "tally/metrics/results_csv.h"
#include "tally/metrics/results_json.h"
#include "tally/metrics/results_table.h"

namespace tally::cli {
namespace {

std::string method_name(const Interval& interval) {
  return internal::OptionType<IntervalMethod>::print(interval.method);
}

/// "95%".
std::string percent(double level) {
  std::ostringstream text;
  text << level * 100 << "%";
  return text.str();
}

/// {"value", "low", "high", "standard_error", "level", "method", ...}.
std::string interval_json(const Interval& interval) {
  Results ends;
  ends.add("value", interval.value);
  ends.add("low", interval.low);
  ends.add("high", interval.high);
  ends.add("standard_error", interval.standard_error);
  ends.add("degrees_of_freedom", interval.degrees_of_freedom);
  return files::json_object(ends, {{"level", interval.level},
                                   {"method", method_name(interval)},
                                   {"n", interval.n},
                                   {"counted", interval.counted},
                                   {"unit", interval.unit},
                                   {"units", interval.units},
                                   {"replicates", interval.replicates},
                                   {"undefined", interval.undefined},
                                   {"flags", interval.flags.names()}});
}

std::string intervals_json(const Intervals& intervals) {
  std::string text;
  for (const auto& [name, interval] : intervals) {
    text += text.empty() ? "{" : ",";
    text += files::json_text(name) + ":" + interval_json(interval);
  }
  return text + "}";
}

/// Each interval's ends behind its value.
Results with_intervals(const Report& report) {
  Results all;
  for (const auto& [name, value] : report.results) all.add(name, value);
  for (const auto& [name, interval] : report.intervals) {
    all.add(name + ".low", interval.low);
    all.add(name + ".high", interval.high);
  }
  return all;
}

std::string render_json(const Report& report) {
  std::string text = "{\"ranks\":" + std::to_string(report.ranks) +
                     ",\"rows\":" + std::to_string(report.rows) +
                     ",\"metrics\":" + to_json(report.results);
  const std::string dimensions = dimensions_to_json(report.results);
  if (dimensions != "{}") text += ",\"dimensions\":" + dimensions;
  if (!report.intervals.empty()) {
    text += ",\"intervals\":" + intervals_json(report.intervals);
  }
  for (std::size_t i = 0; i < report.slices.size(); ++i) {
    const SliceResult& slice = report.slices[i];
    text += i == 0 ? ",\"slices\":[" : ",";
    text += "{\"key\":" +
            (slice.is_other() ? "null" : key_json(report.by, slice.key)) +
            ",\"rows\":" + std::to_string(slice.rows) +
            ",\"metrics\":" + to_json(slice.results) + "}";
  }
  if (!report.slices.empty()) text += "]";
  if (!report.compared.empty()) {
    text += ",\"compared\":" + compared_json(report);
  }
  return text + "}\n";
}

/// Nothing where there is none.
std::string value_field(const SliceValue& value) {
  const bool is_missing = std::holds_alternative<std::monostate>(value);
  return is_missing ? "" : csv_field(to_string(value));
}

/// Columns of --by, then rows, before those of to_csv(): all rows first.
std::string render_csv(const Report& report) {
  const Results results = with_intervals(report);
  if (report.by.empty()) return to_csv(results);
  std::string text, all;
  for (const std::string& column : report.by) {
    text += csv_field(column) + ",";
    all += "(all),";
  }
  text += "rows,metric,index,value\n";
  text += to_csv_lines(results, all + std::to_string(report.rows) + ",");
  for (const SliceResult& slice : report.slices) {
    std::string key;
    for (std::size_t i = 0; i < report.by.size(); ++i) {
      key += slice.is_other() ? "(other)" : value_field(slice.key[i]);
      key += ",";
    }
    const std::string head = key + std::to_string(slice.rows) + ",";
    text += to_csv_lines(slice.results, head);
    text += to_csv_lines(compared_results(report, slice.key), head);
  }
  return text;
}

/// The slices' single numbers, side by side.
std::string slices_table(const std::vector<SliceResult>& slices) {
  std::vector<std::int64_t> rows;
  for (const SliceResult& slice : slices) rows.push_back(slice.rows);
  Results columns;
  columns.add("rows", at::tensor(rows, at::kLong));
  for (const auto& [name, value] : slices.front().results) {
    if (!value.defined() || value.dim() != 0) continue;
    std::vector<at::Tensor> values;
    for (const SliceResult& slice : slices)
      values.push_back(slice.results[name]);
    columns.add(name, at::stack(values));
  }
  return tally::internal::table_of_columns(columns, slice_names(slices));
}

/// "accuracy  0.9 [0.85, 0.94]  wilson" for numbers, below each other, and a
/// table for each vector.
std::string intervals_table(const Report& report,
                            const std::vector<std::string>& labels) {
  const Intervals& intervals = report.intervals;
  const Results& results = report.results;
  std::vector<std::string> names;
  std::vector<at::Tensor> values, lows, highs;
  std::string vectors;
  for (const auto& [name, interval] : intervals) {
    if (interval.value.dim() == 0) {
      names.push_back(name);
      values.push_back(interval.value);
      lows.push_back(interval.low);
      highs.push_back(interval.high);
      continue;
    }
    Results columns;
    const Dimensions dimensions = results.dimensions(name);
    columns.add(name, interval.value, dimensions);
    columns.add("low", interval.low, dimensions);
    columns.add("high", interval.high, dimensions);
    vectors += "\n";
    vectors +=
        interval.value.dim() == 1
            ? tally::internal::table_of_columns(
                  columns,
                  tally::internal::elements_of(results, name, 0, labels).names)
            : to_table(columns, labels);
  }
  std::string text = intervals_text(intervals) + "\n";
  if (!names.empty()) {
    Results columns;
    columns.add("value", at::stack(values));
    columns.add("low", at::stack(lows));
    columns.add("high", at::stack(highs));
    text += tally::internal::table_of_columns(columns, names);
  }
  return text + vectors + flags_text(intervals);
}

/// "900 rows", "10 of 50 rows", "20 queries".
std::string units_text(const Interval& interval) {
  const auto number = [](double count) {
    return std::to_string(std::llround(count));
  };
  const bool is_row = interval.unit == "row";
  std::string text = number(interval.units);
  if (is_row && interval.units < static_cast<double>(interval.n)) {
    text += " of " + std::to_string(interval.n);
  }
  text += " ";
  const bool is_one = interval.units == 1 && (!is_row || interval.n == 1);
  if (is_one) return text + interval.unit;
  return text + (interval.unit == "query" ? "queries" : interval.unit + "s");
}

}  // namespace

std::string intervals_text(const Intervals& intervals) {
  std::map<std::string, std::vector<std::string>> methods;
  for (const auto& [name, interval] : intervals) {
    methods[method_name(interval)].push_back(name);
  }
  std::vector<std::string> units;
  for (const auto& [name, interval] : intervals) {
    const std::string own = units_text(interval);
    if (std::find(units.begin(), units.end(), own) == units.end()) {
      units.push_back(own);
    }
  }
  std::string text = percent(intervals.begin()->second.level) +
                     " intervals of " + c10::Join(" and ", units) + ":";
  std::string separator = " ";
  for (const auto& [method, of] : methods) {
    text += separator + method;
    if (methods.size() > 1) text += " (" + c10::Join(", ", of) + ")";
    separator = ", ";
  }
  return text;
}

std::string render(const Report& report, Format format,
                   const std::vector<std::string>& labels) {
  switch (format) {
    case Format::kJson:
      return render_json(report);
    case Format::kCsv:
      return render_csv(report);
    case Format::kTable:
      break;
  }
  if (!report.table.empty()) return report.table;
  std::string text = to_table(report.results, labels);
  const auto add = [&](const std::string& table) {
    text += (text.empty() || table.empty() ? "" : "\n") + table;
  };
  if (!report.intervals.empty()) add(intervals_table(report, labels));
  if (!report.slices.empty()) add(slices_table(report.slices));
  add(compared_table(report));
  return text;
}

void print_remarks(const Report& report) {
  std::istringstream remarks(report.remarks);
  for (std::string line; std::getline(remarks, line);) {
    std::cerr << "tally: " + line + "\n";
  }
}

}  // namespace tally::cli
