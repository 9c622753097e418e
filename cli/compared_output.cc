#include "tally/cli/compared_output.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <variant>

#include "tally/files/json_text.h"
#include "tally/metrics/results_table.h"
#include "tally/state/joined.h"

namespace tally::cli {
namespace {

/// The numbers of a slice, by the names that they have in outputs.
std::vector<std::pair<const char*, double>> numbers_of(
    const ComparedSlice& slice) {
  return {{"value", slice.value},
          {"value_low", slice.value_low},
          {"value_high", slice.value_high},
          {"rest", slice.rest},
          {"difference", slice.difference},
          {"low", slice.low},
          {"high", slice.high},
          {"standard_error", slice.standard_error},
          {"degrees_of_freedom", slice.degrees_of_freedom},
          {"effect", slice.effect},
          {"p_value", slice.p_value},
          {"q_value", slice.q_value}};
}

std::string table_of(const MetricSlices& compared) {
  std::vector<std::string> names;
  std::vector<std::int64_t> rows, units;
  std::vector<double> columns[7];
  for (const ComparedSlice& slice : compared.slices) {
    names.push_back(slice.name());
    rows.push_back(slice.rows);
    units.push_back(slice.units);
    const double numbers[] = {slice.value,  slice.rest, slice.difference,
                              slice.low,    slice.high, slice.p_value,
                              slice.q_value};
    for (std::size_t i = 0; i < 7; ++i) columns[i].push_back(numbers[i]);
  }
  Results table;
  table.add("rows", at::tensor(rows, at::kLong));
  if (compared.unit != "row") table.add("units", at::tensor(units, at::kLong));
  const char* const heads[] = {"value", "rest", "difference", "low",
                               "high",  "p",    "q"};
  for (std::size_t i = 0; i < 7; ++i) {
    table.add(heads[i], at::tensor(columns[i], at::kDouble));
  }
  return tally::internal::table_of_columns(table, names);
}

/// Why slices are not compared.
std::string too_few(const MetricSlices& compared) {
  const std::string least = std::to_string(compared.options.min_rows());
  const bool of_rows = compared.unit == "row" || compared.unit == "group";
  return "fewer than " + least +
         (of_rows ? " rows decide the value, or that of the rest"
                  : " units are in it, or in the rest");
}

std::string slice_json(const Report& report, const ComparedSlice& slice) {
  Results numbers;
  for (const auto& [name, number] : numbers_of(slice)) {
    numbers.add(name, at::scalar_tensor(number, at::kDouble));
  }
  std::string text = files::json_object(
      numbers, {{"rows", slice.rows}, {"units", slice.units}});
  const nlohmann::ordered_json flags = slice.flags.names();
  text.pop_back();
  return "{\"key\":" + key_json(report.by, slice.key) + "," + text.substr(1) +
         ",\"flags\":" + files::json_text(flags) + "}";
}

}  // namespace

std::vector<std::string> flag_lines(const std::vector<ComparedSlice>& slices) {
  constexpr std::size_t kMostNames = 10;
  IntervalFlags all;
  for (const ComparedSlice& slice : slices) all.add(slice.flags);
  std::vector<std::string> lines;
  for (const IntervalFlag flag : all.list()) {
    std::vector<std::string> names;
    for (const ComparedSlice& slice : slices) {
      if (slice.flags.contains(flag)) names.push_back(slice.name());
    }
    const std::size_t more =
        names.size() > kMostNames ? names.size() - kMostNames : 0;
    names.resize(names.size() - more);
    std::string line = c10::Join(", ", names);
    if (more > 0) line += " and " + std::to_string(more) + " more";
    lines.push_back(line + ": " + words(flag) + ".");
  }
  return lines;
}

std::string compared_words(const MetricSlices& compared, std::size_t all) {
  const SliceComparisonOptions& options = compared.options;
  const std::size_t count = compared.slices.size();
  std::ostringstream text;
  if (compared.unit != "row") text << "A unit is a " << compared.unit << ". ";
  text << "Low and high: the " << options.level() * 100
       << "% interval of the difference, by which slices are ordered, the "
          "worst first. p: the probability of such a difference between equal "
          "slices. q: p adjusted for the "
       << count << " slices of this metric (Benjamini and Hochberg)";
  if (all > count) {
    text << "; " << all - count << " more " << (all - count == 1 ? "is" : "are")
         << " not compared: " << too_few(compared);
  }
  text << ".";
  return text.str();
}

std::string no_slices_words(const MetricSlices& compared) {
  if (!compared.remark.empty()) {
    return compared.metric + ": slices are not compared: " + compared.remark;
  }
  if (!compared.slices.empty()) return "";
  return compared.metric + ": no slice is compared: " + too_few(compared) + ".";
}

std::size_t count_slices(const Report& report) {
  const bool is_folded =
      !report.slices.empty() && report.slices.back().is_other();
  return is_folded ? 0 : report.slices.size();
}

std::string compared_table(const Report& report) {
  std::string text;
  for (const MetricSlices& each : report.compared) {
    if (!text.empty()) text += "\n";
    if (each.slices.empty()) {
      text += no_slices_words(each) + "\n";
      continue;
    }
    text += each.metric + ": slices against all other rows\n" + table_of(each) +
            compared_words(each, count_slices(report)) + "\n";
    for (const std::string& line : flag_lines(each.slices)) text += line + "\n";
  }
  return text;
}

std::string compared_json(const Report& report) {
  std::string text = "{";
  for (const MetricSlices& each : report.compared) {
    if (text.size() > 1) text += ",";
    text += files::json_text(each.metric) + ":";
    if (!each.remark.empty()) {
      text += "{\"remark\":" + files::json_text(each.remark) + "}";
      continue;
    }
    std::ostringstream level;
    level << each.options.level();
    text += "{\"unit\":" + files::json_text(each.unit) +
            ",\"level\":" + level.str() + ",\"slices\":[" +
            internal::joined(",", each.slices,
                             [&](const ComparedSlice& slice) {
                               return slice_json(report, slice);
                             }) +
            "]}";
  }
  return text + "}";
}

Results compared_results(const Report& report,
                         const std::vector<SliceValue>& key) {
  Results results;
  for (const MetricSlices& each : report.compared) {
    const auto found = std::find_if(
        each.slices.begin(), each.slices.end(),
        [&](const ComparedSlice& slice) { return slice.key == key; });
    if (found == each.slices.end()) continue;
    results.add(each.metric + ".units",
                at::scalar_tensor(found->units, at::kLong));
    for (const auto& [name, number] : numbers_of(*found)) {
      if (std::string_view(name) == "value") continue;
      results.add(each.metric + "." + name,
                  at::scalar_tensor(number, at::kDouble));
    }
  }
  return results;
}

std::string key_json(const std::vector<std::string>& by,
                     const std::vector<SliceValue>& key) {
  nlohmann::ordered_json json;
  for (std::size_t i = 0; i < by.size(); ++i) {
    const auto* text = std::get_if<std::string>(&key[i]);
    json[by[i]] = text != nullptr ? nlohmann::ordered_json(*text) : nullptr;
  }
  return files::json_text(json);
}

}  // namespace tally::cli
