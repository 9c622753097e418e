#include "tally/python/csrc/description.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "tally/losses/registry/loss_registry.h"
#include "tally/metrics/registry/registry.h"
#include "tally/version.h"

namespace tally::python {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(std::optional<bool> value) {
  if (!value) return nullptr;
  return *value;
}

const char* kind_of(InputKind kind) {
  switch (kind) {
    case InputKind::kReal:
      return "real";
    case InputKind::kFloat:
      return "float";
    case InputKind::kInteger:
    case InputKind::kKeys:
    case InputKind::kGroups:
    case InputKind::kSegments:
      return "integer";
    case InputKind::kCategories:
      return "real";
    case InputKind::kText:
      return "text";
    case InputKind::kTextLists:
      return "text_lists";
    case InputKind::kTokens:
      return "tokens";
    case InputKind::kRagged:
      return "ragged";
    case InputKind::kTasks:
      return "tasks";
    case InputKind::kAny:
      return "any";
  }
  return "any";
}

Json json_of(const OptionInfo& option, bool is_required) {
  return {{"name", option.name},         {"default", option.text},
          {"expected", option.expected}, {"is_metric", option.is_metric},
          {"is_required", is_required},  {"words", option.words}};
}

Json json_of(const MetricEntry& entry) {
  const std::string example = entry.example();
  const MetricSpec required = parse_metric_spec(example);
  Json options = Json::array();
  for (const OptionInfo& option : entry.options) {
    options.push_back(
        json_of(option, required.options.count(option.name) != 0));
  }
  Json inputs = Json::array();
  if (!entry.is_wrapper) {
    for (const InputInfo& input : builtin_registry().inputs(example)) {
      inputs.push_back({{"name", input.name},
                        {"kind", kind_of(input.kind)},
                        {"words", input.words},
                        {"is_optional", input.is_optional}});
    }
  }
  // Of no data, which every metric has a value of.
  Json results = Json::array();
  if (!entry.is_wrapper) {
    for (const auto& [name, value] : make_metric(example)->compute_results()) {
      results.push_back(name);
    }
  }
  return {{"name", entry.name},
          {"domain", entry.domain},
          {"what", entry.summary.what},
          {"range", entry.summary.range},
          {"aliases", entry.summary.aliases},
          {"formula", entry.summary.formula},
          {"source", entry.summary.source},
          {"is_differentiable", json_of(entry.is_differentiable)},
          {"higher_is_better", json_of(entry.higher_is_better)},
          {"is_wrapper", entry.is_wrapper},
          {"options", options},
          {"inputs", inputs},
          {"results", results}};
}

Json json_of(const losses::LossEntry& entry) {
  const MetricSpec required = parse_metric_spec(entry.example());
  Json options = Json::array();
  for (const OptionInfo& option : entry.options) {
    options.push_back(
        json_of(option, required.options.count(option.name) != 0));
  }
  return {{"name", entry.name},
          {"what", entry.summary.what},
          {"options", options},
          {"inputs", entry.inputs},
          {"results", entry.results},
          {"aliases", entry.summary.aliases},
          {"formula", entry.summary.formula},
          {"source", entry.summary.source}};
}

}  // namespace

std::string description() {
  Json metrics = Json::array();
  for (const auto& [name, entry] : builtin_registry().entries()) {
    metrics.push_back(json_of(entry));
  }
  Json losses = Json::array();
  for (const auto& [name, entry] : losses::loss_entries()) {
    losses.push_back(json_of(entry));
  }
  const BuildInfo build = build_info();
  return Json{{"version", build.version},
              {"libtorch", build.libtorch},
              {"metrics", metrics},
              {"losses", losses}}
      .dump();
}

}  // namespace tally::python
