#include "tally/metrics/metric_spec.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>

#include "tally/metrics/core/option_text.h"

namespace tally {

using internal::trimmed;
using internal::unquote_text;

namespace {

constexpr std::size_t kMostShown = 60;

std::string shown(std::string_view text) {
  std::string begin(text.substr(0, kMostShown));
  const auto is_control = [](unsigned char c) { return c < ' '; };
  std::replace_if(begin.begin(), begin.end(), is_control, ' ');
  return "'" + begin + (text.size() > kMostShown ? "..." : "") + "'";
}

bool is_name(std::string_view text) {
  const auto is_part = [](unsigned char c) {
    return std::isalnum(c) || c == '_';
  };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), is_part);
}

/// As there, but throws.
std::size_t first_outside(std::string_view text, std::string_view ends,
                          std::size_t begin = 0) {
  const auto found = internal::find_outside(text, ends, begin);
  TORCH_CHECK_VALUE(found.ok(), found.status().message(), " in ", shown(text));
  return *found;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  auto parts = internal::split_outside(text, separator);
  TORCH_CHECK_VALUE(parts.ok(), parts.status().message(), " in ", shown(text));
  for (const std::string_view part : *parts) {
    TORCH_CHECK_VALUE(!part.empty(), "expected something before '", separator,
                      "' in ", shown(text));
  }
  return *std::move(parts);
}

std::string_view name_of(std::string_view text) {
  return trimmed(text.substr(0, text.find('(')));
}

/// "name=value" in two, or nothing and the text.
std::pair<std::string_view, std::string_view> split_name(std::string_view text,
                                                         char between) {
  const std::size_t at = first_outside(text, std::string_view(&between, 1));
  if (at == text.size()) return {{}, text};
  return {trimmed(text.substr(0, at)), trimmed(text.substr(at + 1))};
}

}  // namespace

MetricSpec parse_metric_spec(std::string_view text) {
  const std::string_view whole = trimmed(text);
  const std::size_t open = std::min(whole.find('('), whole.size());
  const std::string_view name = name_of(whole);
  TORCH_CHECK_VALUE(is_name(name), "expected a metric such as ",
                    "MulticlassAccuracy(num_classes=5), got ", shown(text));
  MetricSpec spec;
  spec.name = std::string(name);
  if (open == whole.size()) return spec;
  first_outside(whole, "", open);
  TORCH_CHECK_VALUE(whole.back() == ')', "expected ", name,
                    "(...) to end with ')', got ", shown(text));
  const std::size_t close = first_outside(whole, ")", open + 1);
  const std::string_view behind = trimmed(whole.substr(close + 1));
  TORCH_CHECK_VALUE(behind.empty(), "expected ",
                    behind[0] == ',' ? "';' between metrics" : "nothing",
                    " behind ", shown(whole.substr(0, close + 1)), ", got ",
                    shown(behind));
  const std::string_view inside =
      whole.substr(open + 1, whole.size() - open - 2);
  for (const std::string_view part : split(inside, ',')) {
    const auto [option, value] = split_name(part, '=');
    TORCH_CHECK_VALUE(is_name(option), name, ": expected option=value, got ",
                      shown(part));
    const bool is_new =
        spec.options.emplace(std::string(option), unquote_text(value)).second;
    TORCH_CHECK_VALUE(is_new, name, ": option ", shown(option),
                      " is given twice");
  }
  return spec;
}

std::vector<std::pair<std::string, std::string>> parse_metric_list(
    std::string_view text) {
  std::vector<std::pair<std::string, std::string>> metrics;
  for (const std::string_view part : split(text, ';')) {
    auto [name, spec] = split_name(part, '=');
    std::string key(name);
    if (key.empty()) key = name_of(spec);
    for (const auto& [other, unused] : metrics) {
      TORCH_CHECK_VALUE(other != key, "expected one metric of each name, got ",
                        shown(key), " twice; write name=", key, "(...)");
    }
    metrics.emplace_back(std::move(key), std::string(spec));
  }
  TORCH_CHECK_VALUE(!metrics.empty(), "expected a metric such as ",
                    "MulticlassAccuracy(num_classes=5), got none");
  return metrics;
}

std::vector<std::pair<std::string, std::string>> parse_items(
    std::string_view text) {
  const std::string_view whole = trimmed(text);
  std::vector<std::pair<std::string, std::string>> items;
  if (whole.empty() || (whole[0] != '[' && whole[0] != '{')) {
    items.emplace_back("", std::string(whole));
    return items;
  }
  const bool has_names = whole[0] == '{';
  TORCH_CHECK_VALUE(first_outside(whole, "") == whole.size() &&
                        whole.back() == (has_names ? '}' : ']'),
                    "expected ",
                    has_names ? "{name: item, ...}" : "[item, ...]", ", got ",
                    shown(text));
  for (const std::string_view part :
       split(whole.substr(1, whole.size() - 2), ',')) {
    const auto [name, item] =
        has_names ? split_name(part, ':')
                  : std::pair<std::string_view, std::string_view>({}, part);
    TORCH_CHECK_VALUE(!has_names || !name.empty(), "expected name: item, got ",
                      shown(part));
    items.emplace_back(unquote_text(name), unquote_text(item));
  }
  TORCH_CHECK_VALUE(!items.empty(), "expected at least one item, got ",
                    shown(text));
  return items;
}

}  // namespace tally
