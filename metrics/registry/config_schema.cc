#include "tally/metrics/registry/config_schema.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/metric_spec.h"
#include "tally/metrics/registry/collection_config.h"

namespace tally {
namespace {

using Schema = nlohmann::ordered_json;

constexpr const char* kMetric = "#/$defs/metric";

bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

Schema any_of(std::initializer_list<Schema> schemas) {
  return {{"anyOf", Schema(schemas)}};
}

Schema reference() { return {{"$ref", kMetric}}; }

/// Of the values that an option "expected".
Schema schema_of(std::string_view expected) {
  if (take(expected, "none, an integer, or ")) {
    return any_of({{{"enum", {nullptr, "none"}}},
                   {{"type", "integer"}},
                   schema_of(expected)});
  }
  if (take(expected, "none or ")) {
    return any_of({{{"enum", {nullptr, "none"}}}, schema_of(expected)});
  }
  if (take(expected, "one of ")) {
    Schema names = Schema::array();
    while (!expected.empty()) {
      const std::size_t end = expected.find(", ");
      names.push_back(std::string(expected.substr(0, end)));
      expected.remove_prefix(end == expected.npos ? expected.size() : end + 2);
    }
    return {{"enum", std::move(names)}};
  }
  if (take(expected, "a list, each ")) {
    return {{"type", "array"}, {"items", schema_of(expected)}};
  }
  if (take(expected, "a list such as")) return {{"type", "array"}};
  if (take(expected, "metrics by name")) {
    return {{"type", "object"}, {"additionalProperties", reference()}};
  }
  if (expected == "true or false") return {{"type", "boolean"}};
  if (expected == "an integer") return {{"type", "integer"}};
  if (expected == "a number") {
    return any_of({{{"type", "number"}}, {{"enum", {"nan", "inf", "-inf"}}}});
  }
  if (expected == "a metric") return reference();
  return {{"type", "string"}};
}

Schema property_of(const OptionInfo& option) {
  Schema schema = schema_of(option.is_metric && option.expected != "a metric"
                                ? "metrics by name"
                                : option.expected);
  if (!option.words.empty()) schema["description"] = option.words;
  return schema;
}

Schema object_of(Schema properties, std::vector<std::string> required) {
  Schema schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

void add(const std::vector<OptionInfo>& options, Schema& properties) {
  for (const OptionInfo& option : options) {
    properties[option.name] = property_of(option);
  }
}

/// {"metric": "Name", "options": {...}}.
Schema member_of(const MetricEntry& entry) {
  const MetricSpec needed = parse_metric_spec(entry.example());
  Schema options = Schema::object();
  add(entry.options, options);
  std::vector<std::string> required;
  for (const OptionInfo& option : entry.options) {
    if (needed.options.count(option.name) != 0) {
      required.push_back(option.name);
    }
  }
  Schema properties = {
      {"metric", {{"const", entry.name}, {"description", entry.summary.what}}},
      {"options", object_of(std::move(options), required)}};
  add(describe_options(MetricOptions()), properties);
  std::vector<std::string> keys{"metric"};
  if (!required.empty()) keys.emplace_back("options");
  return object_of(std::move(properties), std::move(keys));
}

}  // namespace

std::string collection_config_schema(const Registry& registry) {
  Schema metrics = Schema::array({Schema{
      {"type", "string"},
      {"description", "Name(option=value, ...), as a metric's repr() is."}}});
  for (const auto& [name, entry] : registry.entries()) {
    metrics.push_back(member_of(entry));
  }
  const Schema named = {{"type", "object"},
                        {"minProperties", 1},
                        {"additionalProperties", reference()}};
  const Schema listed = {
      {"type", "array"},
      {"minItems", 1},
      {"items", {{"type", "string"}}},
      {"description", "Texts, name=Metric(...) or Metric(...)."}};
  Schema properties = {{"metrics", any_of({named, listed})}};
  add(internal::config_options(), properties);
  Schema schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "A collection of metrics of Tally"}};
  schema.update(object_of(std::move(properties), {"metrics"}));
  schema["$defs"] = {{"metric", {{"anyOf", std::move(metrics)}}}};
  return schema.dump(1) + "\n";
}

}  // namespace tally
