#include "tally/cli/describe.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/registry/search.h"
#include "tally/metrics/warnings.h"
#include "tally/state/joined.h"

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

/// The metric with its required options, as an example.
std::string example_of(const MetricEntry& entry) {
  return entry.name + "(" + entry.summary.required + ")";
}

/// Each option with its default and accepted values, and its meaning below.
std::string options_text(const MetricEntry& entry) {
  const MetricSpec required = parse_metric_spec(example_of(entry));
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
    if (!option.words.empty()) text += "      " + option.words + "\n";
  }
  return text;
}

/// The option that holds the wrapped metric; empty for other metrics.
std::string inner_option(const MetricEntry& entry) {
  for (const OptionInfo& option : entry.options) {
    if (option.is_metric) return option.name;
  }
  return "";
}

/// For a wrapper, the inputs that differ from those of the wrapped metric.
std::vector<InputInfo> own_inputs(const Registry& registry,
                                  const MetricEntry& entry) {
  if (inner_option(entry).empty()) return registry.inputs(example_of(entry));
  // How it transforms inputs of unknown kind.
  const char* const same = "";
  std::vector<InputInfo> inputs = {{"preds", InputKind::kAny, same},
                                   {"target", InputKind::kAny, same}};
  if (entry.change_inputs) entry.change_inputs(inputs);
  inputs.erase(std::remove_if(
                   inputs.begin(), inputs.end(),
                   [&](const InputInfo& input) { return input.words == same; }),
               inputs.end());
  return inputs;
}

std::string inputs_text(const Registry& registry, const MetricEntry& entry) {
  std::vector<Line> lines;
  const std::vector<InputInfo> inputs = own_inputs(registry, entry);
  const std::string inner = inner_option(entry);
  if (!inner.empty()) {
    for (const InputInfo& input : inputs) {
      lines.push_back({input.name, input.words, ""});
    }
    return "  those of '" + inner + "'" +
           (lines.empty() ? "\n" : ", with\n" + aligned(lines, "  "));
  }
  for (const InputInfo& input : inputs) {
    lines.push_back(
        {input.name, input.words, input.is_optional ? "(optional)" : ""});
  }
  if (lines.empty()) return "  any, by position\n";
  return aligned(lines, "  ");
}

const char* answer(const MetricEntry& entry, std::optional<bool> value,
                   const char* neither) {
  if (value) return *value ? "yes" : "no";
  return entry.is_wrapper ? "same as the wrapped metric" : neither;
}

/// What it may warn about; a wrapper of what its metric warns about.
std::vector<NoteKind> notes_of(const Registry& registry,
                               const MetricEntry& entry) {
  std::vector<NoteKind> kinds;
  if (entry.is_wrapper || !entry.make) return kinds;
  const AnyState state = registry.make(example_of(entry))->make_state();
  for (const auto& each : internal::notes_of(&state)) {
    kinds.push_back(each.note.kind());
  }
  return kinds;
}

std::string warnings_text(const Registry& registry, const MetricEntry& entry) {
  std::string text;
  for (const NoteKind& kind : notes_of(registry, entry)) {
    text += "  " + std::string(kind.text) + "\n      " + kind.advice + "\n";
  }
  return text.empty() ? "" : "\nwarnings\n" + text;
}

std::string quoted_words(const std::vector<std::string>& words,
                         const std::string& between) {
  return internal::joined(
      between, words, [](const std::string& word) { return "'" + word + "'"; });
}

nlohmann::ordered_json json_of(std::optional<bool> value) {
  if (!value) return nullptr;
  return *value;
}

nlohmann::ordered_json summary_json(const MetricEntry& entry) {
  return {{"name", entry.name},
          {"domain", entry.domain},
          {"what", entry.summary.what},
          {"range", entry.summary.range},
          {"aliases", entry.summary.aliases},
          {"formula", entry.summary.formula},
          {"source", entry.summary.source},
          {"differentiable", json_of(entry.is_differentiable)},
          {"higher_is_better", json_of(entry.higher_is_better)}};
}

nlohmann::ordered_json match_json(const Registry& registry,
                                  const MetricMatch& match) {
  const auto entry = registry.entries().find(match.text);
  if (entry != registry.entries().end()) return summary_json(entry->second);
  return {{"name", match.text}, {"domain", match.domain}, {"what", match.what}};
}

nlohmann::ordered_json metric_json(const Registry& registry,
                                   const MetricEntry& entry) {
  auto json = summary_json(entry);
  json["wrapper"] = entry.is_wrapper;
  const MetricSpec required = parse_metric_spec(example_of(entry));
  json["options"] = nlohmann::ordered_json::array();
  for (const OptionInfo& option : entry.options) {
    nlohmann::ordered_json described = {{"name", option.name}};
    const auto example = required.options.find(option.name);
    if (example == required.options.end()) {
      described["default"] = option.text;
    } else {
      described["example"] = example->second;  // there is no default
    }
    described["expected"] = option.expected;
    described["what"] = option.words;
    json["options"].push_back(std::move(described));
  }
  json["inputs"] = nlohmann::ordered_json::array();
  for (const InputInfo& input : own_inputs(registry, entry)) {
    json["inputs"].push_back({{"name", input.name},
                              {"what", input.words},
                              {"optional", input.is_optional}});
  }
  json["warnings"] = nlohmann::ordered_json::array();
  for (const NoteKind& kind : notes_of(registry, entry)) {
    json["warnings"].push_back(
        {{"name", kind.name}, {"what", kind.text}, {"advice", kind.advice}});
  }
  if (const std::string inner = inner_option(entry); !inner.empty()) {
    json["other_inputs"] = inner;  // are those of this option's metric
  }
  return json;
}

constexpr const char* kOptions =
    "--metrics --config --inputs --coco --csv --columns --delimiter --missing "
    "--labels --by --slices --interval --interval-method --ids --groups "
    "--batch-size --ranks --split --strict --quiet --output";

// %M: the names of all metrics; %O, %R: the options of evaluate, of report.
constexpr const char* kBash = R"(_tally() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words="list describe evaluate report compare completion --help --version"
  else
    case $before in
      describe | -m | --metrics) words="%M" ;;
      --format) words="table json csv" ;;
      --missing) words="error skip nan" ;;
      completion) words="bash zsh" ;;
      *)
        if [[ ${COMP_WORDS[1]} == evaluate && $word == -* ]]; then
          words="%O"
        elif [[ ${COMP_WORDS[1]} == report && $word == -* ]]; then
          words="%R"
        elif [[ ${COMP_WORDS[1]} == compare && $word == -* ]]; then
          words="--level --format --output"
        elif [[ ${COMP_WORDS[1]} =~ ^(evaluate|report|compare)$ ]]; then
          compopt -o default
        fi
        ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _tally tally
)";

constexpr const char* kZsh = "autoload -U +X bashcompinit && bashcompinit\n";

void replace(const std::string& mark, const std::string& by,
             std::string& text) {
  text.replace(text.find(mark), mark.size(), by);
}

}  // namespace

std::string completion(const Registry& registry, const std::string& shell) {
  TORCH_CHECK_VALUE(shell == "bash" || shell == "zsh",
                    "completion: expected bash or zsh, got '", shell, "'");
  const std::string names = internal::joined(
      " ", registry.entries(), [](const auto& metric) { return metric.first; });
  std::string text = kBash;
  replace("%M", names, text);
  replace("%O", std::string(kOptions) + " --replicates --format", text);
  replace("%R", std::string(kOptions) + " --log --title", text);
  return shell == "zsh" ? kZsh + text : text;
}

std::string list_metrics(const Registry& registry,
                         const std::vector<std::string>& words, Format format) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<Line>> domains;
  auto json = nlohmann::ordered_json::array();
  for (const MetricMatch& match : find_metrics(registry, words)) {
    std::vector<Line>& lines = domains[match.domain];
    if (lines.empty()) order.push_back(match.domain);
    lines.push_back({match.text, match.what, ""});
    json.push_back(match_json(registry, match));
  }
  if (words.empty()) std::sort(order.begin(), order.end());
  TORCH_CHECK_VALUE(!json.empty(), "no metric has ",
                    quoted_words(words, " and "),
                    " in its names, domain or description");
  if (format == Format::kJson) return json.dump(1) + "\n";
  return internal::joined("\n", order, [&](const std::string& domain) {
    return domain + "\n" + aligned(domains[domain], "  ");
  });
}

std::string describe_metric(const Registry& registry, const std::string& name,
                            Format format) {
  if (name.empty()) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& [each, entry] : registry.entries()) {
      all.push_back(metric_json(registry, entry));
    }
    return all.dump(1) + "\n";
  }
  const MetricEntry& entry = registry.at(name);
  if (format == Format::kJson) {
    return metric_json(registry, entry).dump(1) + "\n";
  }
  std::string text = name + "\n  " + entry.summary.what + "\n";
  if (*entry.summary.aliases != '\0') {
    text += "  Also: " + std::string(entry.summary.aliases) + ".\n";
  }
  if (*entry.summary.source != '\0') {
    text += "  Source: " + std::string(entry.summary.source) + ".\n";
  }
  if (!entry.options.empty()) text += "\noptions\n" + options_text(entry);
  return text + "\ninputs\n" + inputs_text(registry, entry) +
         warnings_text(registry, entry) + "\n" +
         aligned({{"range", entry.summary.range, ""},
                  {"differentiable",
                   answer(entry, entry.is_differentiable, "no"), ""},
                  {"higher is better",
                   answer(entry, entry.higher_is_better, "neither"), ""}},
                 "");
}

}  // namespace tally::cli
