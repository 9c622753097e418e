#include "tally/cli/describe.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

namespace tally::cli {
namespace {

using Line = std::array<std::string, 3>;

/// Columns side by side, two blanks apart.
std::string aligned(const std::vector<Line>& lines, const std::string& indent) {
  std::array<std::size_t, 3> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = indent;
    for (std::size_t i = 0; i < line.size(); ++i) {
      row += line[i] + std::string(widths[i] - line[i].size() + 2, ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

/// Each with its default and what it takes, and below what it means.
std::string options_of(const MetricEntry& entry) {
  const MetricSpec required =
      parse_metric_spec(entry.name + "(" + entry.summary.required + ")");
  std::vector<Line> lines;
  for (const OptionInfo& option : entry.options) {
    const auto example = required.options.find(option.name);
    const bool is_required = example != required.options.end();
    lines.push_back(
        {option.name, is_required ? "required" : option.text,
         option.expected +
             (is_required ? "; for example " + example->second : "")});
  }
  std::istringstream rows(aligned(lines, "  "));
  std::string text;
  for (const OptionInfo& option : entry.options) {
    std::string row;
    std::getline(rows, row);
    text += row + "\n";
    const auto words = entry.option_words.find(option.name);
    if (words != entry.option_words.end()) {
      text += "      " + words->second + "\n";
    }
  }
  return text;
}

std::string inputs_of(const Registry& registry, const MetricEntry& entry) {
  const std::string example =
      entry.name + "(" + std::string(entry.summary.required) + ")";
  std::vector<Line> lines;
  for (const OptionInfo& option : entry.options) {
    if (!option.is_metric) continue;
    // What it makes of inputs that nothing is known of.
    const char* const same = "";
    std::vector<InputInfo> changed = {{"preds", InputKind::kAny, same},
                                      {"target", InputKind::kAny, same}};
    if (entry.change_inputs) entry.change_inputs(changed);
    for (const InputInfo& input : changed) {
      if (input.words != same) lines.push_back({input.name, input.words, ""});
    }
    return "  those of the option " + option.name +
           (lines.empty() ? "\n" : ", but\n" + aligned(lines, "  "));
  }
  for (const InputInfo& input : registry.inputs(example)) {
    lines.push_back({input.name, input.words,
                     input.is_optional ? "(may be left out)" : ""});
  }
  if (lines.empty()) return "  any, by position\n";
  return aligned(lines, "  ");
}

const char* answer(const MetricEntry& entry, std::optional<bool> value,
                   const char* neither) {
  if (value) return *value ? "yes" : "no";
  return entry.is_wrapper ? "as what it wraps" : neither;
}

}  // namespace

std::string list_metrics(const Registry& registry) {
  std::vector<Line> lines;
  for (const auto& [name, entry] : registry.entries()) {
    lines.push_back({name, entry.summary.what, ""});
  }
  return aligned(lines, "");
}

std::string describe_metric(const Registry& registry, const std::string& name) {
  const MetricEntry& entry = registry.at(name);
  std::string text = name + "\n  " + entry.summary.what + "\n";
  if (!entry.options.empty()) text += "\noptions\n" + options_of(entry);
  return text + "\ninputs\n" + inputs_of(registry, entry) + "\n" +
         aligned({{"range", entry.summary.range, ""},
                  {"differentiable",
                   answer(entry, entry.is_differentiable, "no"), ""},
                  {"higher is better",
                   answer(entry, entry.higher_is_better, "neither"), ""}},
                 "");
}

}  // namespace tally::cli
