#include "tally/cli/describe.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "tally/cli/feeds.h"
#include "tally/cli/metric_facts.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/registry/search.h"
#include "tally/state/joined.h"

namespace tally::cli {
namespace {

using Line = std::array<std::string, 3>;

constexpr const char* kLosses = "losses";

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

/// The heading: what it is, what else it is called, and who defined it.
template <class Summary>
std::string heading(const std::string& name, const Summary& summary) {
  std::string text = name + "\n  " + summary.what + "\n";
  if (*summary.aliases != '\0') {
    text += c10::str("  Also: ", summary.aliases, ".\n");
  }
  if (*summary.source != '\0') {
    text += c10::str("  Source: ", summary.source, ".\n");
  }
  return text;
}

/// Each option with its default and accepted values, and its meaning below.
std::string options_text(const std::vector<OptionInfo>& options,
                         const std::string& example_text) {
  if (options.empty()) return "";
  const MetricSpec required = parse_metric_spec(example_text);
  std::vector<Line> lines;
  for (const OptionInfo& option : options) {
    const auto example = required.options.find(option.name);
    const bool is_required = example != required.options.end();
    lines.push_back(
        {option.name, is_required ? "required" : option.text,
         option.expected +
             (is_required ? "; for example " + example->second : "")});
  }
  std::istringstream rows(aligned(lines, "  "));
  std::string text = "\noptions\n";
  for (const OptionInfo& option : options) {
    std::string row;
    std::getline(rows, row);
    text += row + "\n";
    if (!option.words.empty()) text += "      " + option.words + "\n";
  }
  return text;
}

/// For a wrapper, the inputs that differ from those of the wrapped metric.
std::vector<InputInfo> own_inputs(const Registry& registry,
                                  const MetricEntry& entry) {
  if (inner_option(entry).empty()) return registry.inputs(entry.example());
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

std::string files_text(const Registry& registry, const MetricEntry& entry) {
  const auto inputs = read_inputs(registry, entry);
  return inputs ? feeds_text(*inputs)
                : "those of '" + inner_option(entry) + "'";
}

/// In a word for each kind of files.
std::string files_tags(const Registry& registry, const MetricEntry& entry) {
  const auto inputs = read_inputs(registry, entry);
  if (!inputs) return files_text(registry, entry);
  const std::vector<Feed> feeds = feeds_of(*inputs);
  return feeds.empty() ? "no file" : internal::joined(" ", feeds, tag_of);
}

void add_files(const Registry& registry, const MetricEntry& entry,
               nlohmann::ordered_json& json) {
  const auto inputs = read_inputs(registry, entry);
  nlohmann::ordered_json& files = json["files"];
  if (!inputs) return;  // null: those of its metric
  files = nlohmann::ordered_json::array();
  for (const Feed feed : feeds_of(*inputs)) files.push_back(tag_of(feed));
  if (files.empty()) json["no_files"] = feeds_text(*inputs);
}

const char* answer(const MetricEntry& entry, std::optional<bool> value,
                   const char* neither) {
  if (value) return *value ? "yes" : "no";
  return entry.is_wrapper ? "same as the wrapped metric" : neither;
}

std::string warnings_text(const Registry& registry, const MetricEntry& entry) {
  std::string text;
  for (const NoteKind& kind : notes_of(registry, entry)) {
    text += "  " + std::string(kind.text) + "\n      " + kind.advice + "\n";
  }
  return text.empty() ? "" : "\nwarnings\n" + text;
}

std::string interval_methods_text(const IntervalWords& words) {
  std::string text =
      words.methods.empty() ? "none" : c10::Join(", ", words.methods);
  for (const auto& [option, more] : words.with_option) {
    text += "; with " + option + (words.methods.empty() ? " " : " also ") +
            c10::Join(", ", more);
  }
  return text;
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

nlohmann::ordered_json summary_json(const losses::LossEntry& entry) {
  return {{"name", entry.name},
          {"domain", kLosses},
          {"what", entry.summary.what},
          {"aliases", entry.summary.aliases},
          {"formula", entry.summary.formula},
          {"source", entry.summary.source}};
}

nlohmann::ordered_json match_json(const Registry& registry,
                                  const Losses& losses,
                                  const MetricMatch& match) {
  const auto entry = registry.entries().find(match.text);
  if (entry != registry.entries().end()) {
    auto json = summary_json(entry->second);
    add_files(registry, entry->second, json);
    return json;
  }
  const auto loss = losses.find(match.text);
  if (loss != losses.end()) return summary_json(loss->second);
  return {{"name", match.text}, {"domain", match.domain}, {"what", match.what}};
}

nlohmann::ordered_json options_json(const std::vector<OptionInfo>& options,
                                    const std::string& example_text) {
  const MetricSpec required = parse_metric_spec(example_text);
  auto json = nlohmann::ordered_json::array();
  for (const OptionInfo& option : options) {
    nlohmann::ordered_json described = {{"name", option.name}};
    const auto example = required.options.find(option.name);
    if (example == required.options.end()) {
      described["default"] = option.text;
    } else {
      described["example"] = example->second;  // there is no default
    }
    described["expected"] = option.expected;
    described["what"] = option.words;
    json.push_back(std::move(described));
  }
  return json;
}

/// "query?" is optional.
bool is_optional(const std::string& input) { return input.back() == '?'; }
std::string name_of(const std::string& input) {
  return is_optional(input) ? input.substr(0, input.size() - 1) : input;
}

nlohmann::ordered_json loss_json(const losses::LossEntry& entry) {
  auto json = summary_json(entry);
  json["options"] = options_json(entry.options, entry.example());
  json["inputs"] = nlohmann::ordered_json::array();
  for (const std::string& input : entry.inputs) {
    json["inputs"].push_back(
        {{"name", name_of(input)}, {"optional", is_optional(input)}});
  }
  json["results"] = entry.results;
  return json;
}

std::string loss_text(const losses::LossEntry& entry) {
  std::vector<Line> inputs, results;
  for (const std::string& input : entry.inputs) {
    inputs.push_back(
        {name_of(input), is_optional(input) ? "(optional)" : "", ""});
  }
  for (const std::string& result : entry.results) {
    results.push_back({result, "", ""});
  }
  return heading(entry.name, entry.summary) +
         options_text(entry.options, entry.example()) + "\ninputs\n" +
         aligned(inputs, "  ") +
         (results.empty() ? "" : "\nresults\n" + aligned(results, "  "));
}

nlohmann::ordered_json metric_json(const Registry& registry,
                                   const MetricEntry& entry) {
  auto json = summary_json(entry);
  json["wrapper"] = entry.is_wrapper;
  json["options"] = options_json(entry.options, entry.example());
  json["inputs"] = nlohmann::ordered_json::array();
  for (const InputInfo& input : own_inputs(registry, entry)) {
    json["inputs"].push_back({{"name", input.name},
                              {"what", input.words},
                              {"optional", input.is_optional}});
  }
  if (const auto words = interval_words(registry, entry)) {
    json["unit"] = words->unit;
    json["intervals"] = words->methods;
    json["intervals_with"] = words->with_option;
  }
  json["warnings"] = nlohmann::ordered_json::array();
  for (const NoteKind& kind : notes_of(registry, entry)) {
    json["warnings"].push_back(
        {{"name", kind.name}, {"what", kind.text}, {"advice", kind.advice}});
  }
  add_files(registry, entry, json);
  if (const std::string inner = inner_option(entry); !inner.empty()) {
    json["other_inputs"] = inner;  // are those of this option's metric
  }
  return json;
}

MetricSearch search_for(const Registry& registry, const Losses& losses,
                        const std::vector<std::string>& words) {
  MetricSearch search(words);
  search.add(registry);
  for (const auto& [name, entry] : losses) {
    search.add({name, entry.summary.what, kLosses}, entry.summary.aliases);
  }
  return search;
}

[[noreturn]] void refuse_name(const Registry& registry, const Losses& losses,
                              const std::string& name) {
  const auto near = [&](const auto& entries) {
    std::vector<std::string> names;
    for (const auto& [known, entry] : entries) names.push_back(known);
    return internal::did_you_mean(name, names);
  };
  std::string hint = search_for(registry, losses, {name}).suggestion();
  if (hint.empty()) hint = near(registry.entries());
  if (hint.empty()) hint = near(losses);
  TORCH_CHECK_VALUE(false, "unknown metric", losses.empty() ? "" : " or loss",
                    " '", name, "'", hint);
}

}  // namespace

std::string list_metrics(const Registry& registry,
                         const std::vector<std::string>& words, Format format,
                         const Losses& losses) {
  const MetricSearch search = search_for(registry, losses, words);
  std::vector<std::string> order;
  std::map<std::string, std::vector<Line>> domains;
  auto json = nlohmann::ordered_json::array();
  for (const MetricMatch& match : search.matches()) {
    std::vector<Line>& lines = domains[match.domain];
    if (lines.empty()) order.push_back(match.domain);
    const auto entry = registry.entries().find(match.text);
    const bool is_metric = entry != registry.entries().end();
    lines.push_back({match.text, match.what,
                     is_metric ? files_tags(registry, entry->second) : ""});
    json.push_back(match_json(registry, losses, match));
  }
  if (words.empty()) std::sort(order.begin(), order.end());
  TORCH_CHECK_VALUE(!json.empty(), "nothing has ", quoted_words(words, " and "),
                    " in its names, domain or description");
  if (format == Format::kJson) return json.dump(1) + "\n";
  return internal::joined("\n", order, [&](const std::string& domain) {
    return domain + "\n" + aligned(domains[domain], "  ");
  });
}

std::string describe_metric(const Registry& registry, const std::string& name,
                            Format format, const Losses& losses) {
  if (name.empty()) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& [each, entry] : registry.entries()) {
      all.push_back(metric_json(registry, entry));
    }
    for (const auto& [each, entry] : losses) all.push_back(loss_json(entry));
    return all.dump(1) + "\n";
  }
  if (const auto loss = losses.find(name); loss != losses.end()) {
    return format == Format::kJson ? loss_json(loss->second).dump(1) + "\n"
                                   : loss_text(loss->second);
  }
  const auto found = registry.entries().find(name);
  if (found == registry.entries().end()) refuse_name(registry, losses, name);
  const MetricEntry& entry = found->second;
  if (format == Format::kJson) {
    return metric_json(registry, entry).dump(1) + "\n";
  }
  std::vector<Line> facts = {
      {"files", files_text(registry, entry), ""},
      {"range", entry.summary.range, ""},
      {"differentiable", answer(entry, entry.is_differentiable, "no"), ""},
      {"higher is better", answer(entry, entry.higher_is_better, "neither"),
       ""}};
  if (const auto words = interval_words(registry, entry)) {
    const bool has_vowel =
        std::string("aeiou").find(words->unit.front()) != std::string::npos;
    facts.push_back({"intervals", interval_methods_text(*words), ""});
    facts.push_back(
        {"each row is", (has_vowel ? "an " : "a ") + words->unit, ""});
  }
  return heading(name, entry.summary) +
         options_text(entry.options, entry.example()) + "\ninputs\n" +
         inputs_text(registry, entry) + warnings_text(registry, entry) + "\n" +
         aligned(facts, "");
}

}  // namespace tally::cli
