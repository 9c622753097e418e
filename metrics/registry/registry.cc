#include "tally/metrics/registry/registry.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/metrics/collection.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/core/option_text.h"
#include "tally/metrics/core/spec_text.h"
#include "tally/metrics/core/sync_options.h"
#include "tally/metrics/registry/domains.h"
#include "tally/metrics/registry/expression.h"
#include "tally/metrics/registry/search.h"
#include "tally/state/parse_number.h"

namespace tally {
namespace {

// Far more than anyone needs, and far less than the stack holds.
constexpr int kDeepestMetrics = 16;

/// Whether it is arithmetic on metrics, which are no metric's option.
bool is_arithmetic(const std::string& name) {
  return name == CompositionalMetric::kName;
}

const std::string& expression_in(MetricSpec& spec) {
  internal::CommonOptions common;
  internal::take_common_options(spec.name, {}, spec.options, common);
  const auto found = spec.options.find("expression");
  TORCH_CHECK_VALUE(found != spec.options.end() && spec.options.size() == 1,
                    spec.name, ": expected one option, expression=2 * A() / ",
                    "(A() + B())");
  return found->second;
}

/// What people write may be no name that a metric can have: "NDCG@10".
MetricSpec spec_of(const Registry& registry, std::string_view text) {
  const std::string name(internal::trimmed(text.substr(0, text.find('('))));
  const bool is_expression = name.find(' ') != name.npos || is_arithmetic(name);
  if (!is_expression && registry.entries().count(name) == 0) {
    const std::string hint = internal::did_you_mean_metric(registry, name);
    TORCH_CHECK_VALUE(hint.empty(), "unknown metric '", name, "'", hint);
  }
  return parse_metric_spec(text);
}

/// The metrics of an option, those of a task that has several included.
std::vector<std::string> metrics_in(const std::string& value) {
  std::vector<std::string> metrics;
  for (const auto& [name, item] : parse_items(value)) {
    if (item.front() != '{') {
      metrics.push_back(item);
      continue;
    }
    for (const auto& [member, inner] : parse_items(item)) {
      metrics.push_back(inner);
    }
  }
  return metrics;
}

void check_depth(int depth) {
  TORCH_CHECK_VALUE(depth <= kDeepestMetrics,
                    "expected metrics nested at most ", kDeepestMetrics,
                    " times");
}

}  // namespace

MetricRequest::MetricRequest(const Registry& registry, MetricSpec spec,
                             const MetricOptions& metric_options, int depth)
    : registry_(registry),
      spec_(std::move(spec)),
      metric_options_(metric_options),
      depth_(depth) {}

std::string MetricRequest::take(const std::string& option) {
  const auto found = spec_.options.find(option);
  TORCH_CHECK_VALUE(found != spec_.options.end(), spec_.name, ": option '",
                    option, "' is required");
  std::string text = std::move(found->second);
  spec_.options.erase(found);
  return text;
}

std::unique_ptr<Metric> MetricRequest::make(std::string_view text) const {
  // How to sync is the business of the metric outside.
  return registry_.make(text, internal::without_sync_options(metric_options_),
                        depth_ + 1);
}

std::unique_ptr<Metric> MetricRequest::metric(const std::string& option) {
  return make(take(option));
}

MetricRequest::Named MetricRequest::make_items(std::string_view text) const {
  Named made;
  for (const auto& [name, item] : parse_items(text)) {
    auto metric = make(item);
    made.emplace_back(name.empty() ? metric->name() : name, std::move(metric));
  }
  return made;
}

MetricRequest::Named MetricRequest::metrics(const std::string& option) {
  return make_items(take(option));
}

std::vector<std::pair<std::string, MetricRequest::Named>>
MetricRequest::metrics_by_task(const std::string& option) {
  std::vector<std::pair<std::string, Named>> made;
  for (const auto& [name, text] : parse_items(take(option))) {
    Named metrics;
    if (text.front() == '{') {
      metrics = make_items(text);
    } else {
      metrics.emplace_back("", make(text));
    }
    const std::string alone = metrics.front().second->name();
    made.emplace_back(name.empty() ? alone : name, std::move(metrics));
  }
  return made;
}

void Registry::add(MetricEntry entry) {
  std::string name = entry.name;
  const bool added = entries_.emplace(name, std::move(entry)).second;
  TORCH_CHECK_VALUE(added, "expected one metric of each name, got '", name,
                    "' twice");
}

void Registry::add_declared(Declared declared) {
  add({declared.name, declared.summary, std::move(declared.options),
       declared.is_differentiable, declared.higher_is_better,
       /*is_wrapper=*/false, declared.make, declared.inputs.vec()});
}

void Registry::add_declared_wrapper(
    Declared declared, void (*change_inputs)(std::vector<InputInfo>& inputs)) {
  std::vector<OptionInfo> options = std::move(declared.options);
  options.insert(
      options.begin(),
      {"metric", "", "a metric", /*is_size=*/false,
       /*is_metric=*/true, "The wrapped metric, as Name(option=value, ...)."});
  add({declared.name, declared.summary, std::move(options), std::nullopt,
       std::nullopt, /*is_wrapper=*/true, declared.make, /*inputs=*/{},
       change_inputs});
}

void Registry::describe_option(const std::string& metric,
                               const std::string& option, std::string words) {
  std::vector<std::string> names;
  for (const OptionInfo& info : at(metric).options) names.push_back(info.name);
  const auto found = std::find(names.begin(), names.end(), option);
  TORCH_CHECK_VALUE(found != names.end(), metric, ": unknown option '", option,
                    "'", internal::did_you_mean(option, names));
  entries_.at(metric).options[found - names.begin()].words = std::move(words);
}

const MetricEntry& Registry::at(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found != entries_.end()) return found->second;
  TORCH_CHECK_VALUE(false, "unknown metric '", name, "'",
                    internal::did_you_mean_metric(*this, name));
}

std::unique_ptr<Metric> Registry::make(
    std::string_view text, const MetricOptions& metric_options) const {
  return make(text, metric_options, 0);
}

std::unique_ptr<Metric> Registry::make(std::string_view text,
                                       const MetricOptions& metric_options,
                                       int depth) const {
  check_depth(depth);
  MetricSpec spec = spec_of(*this, text);
  const MetricEntry* entry =
      is_arithmetic(spec.name) ? nullptr : &at(spec.name);
  std::map<std::string, std::string> own;
  if (entry != nullptr) {
    for (const OptionInfo& option : entry->options) own[option.name] = "";
  }
  internal::CommonOptions common{metric_options};
  internal::take_common_options(spec.name, own, spec.options, common);
  std::unique_ptr<Metric> metric;
  if (entry != nullptr) {
    metric = make_entry(*entry, std::move(spec), common.metric_options, depth);
  } else {
    const MetricOptions inner = internal::without_sync_options(metric_options);
    metric = std::make_unique<CompositionalMetric>(
        internal::parse_expression(expression_in(spec),
                                   [&](std::string_view item) {
                                     return internal::Expression(
                                         *make(item, inner, depth + 1));
                                   }),
        common.metric_options);
  }
  if (common.dtype) metric->set_dtype(*common.dtype);
  return metric;
}

std::unique_ptr<Metric> Registry::make_entry(
    const MetricEntry& entry, MetricSpec spec,
    const MetricOptions& metric_options, int depth) const {
  const std::string example = entry.example();
  const auto required = parse_metric_spec(example).options;
  // A typo explains why another is missing.
  std::vector<std::string> known;
  for (const OptionInfo& option : entry.options) known.push_back(option.name);
  for (const auto& [option, value] : spec.options) {
    const bool is_known =
        std::find(known.begin(), known.end(), option) != known.end();
    if (is_known) continue;
    // The parser takes old names, and answers other words.
    const std::string own = internal::synonym_of(option, known);
    if (!own.empty() && required.count(own) == 0) continue;
    TORCH_CHECK_VALUE(false, entry.name, ": unknown option '", option, "'",
                      own.empty() ? internal::did_you_mean(option, known)
                                  : "; here it is '" + own + "'");
  }
  for (const auto& [option, value] : required) {
    TORCH_CHECK_VALUE(spec.options.count(option) != 0, entry.name, ": option '",
                      option, "' is required; for example ", example);
  }
  MetricRequest request(*this, std::move(spec), metric_options, depth);
  return entry.make(request);
}

std::vector<InputInfo> Registry::inputs(std::string_view text) const {
  return inputs(text, 0);
}

std::vector<InputInfo> Registry::inputs(std::string_view text,
                                        int depth) const {
  check_depth(depth);
  const MetricSpec spec = spec_of(*this, text);
  if (is_arithmetic(spec.name)) {
    return make(text, MetricOptions(), depth)->inputs().vec();
  }
  const MetricEntry& entry = at(spec.name);
  const auto inside =
      std::find_if(entry.options.begin(), entry.options.end(),
                   [](const OptionInfo& option) { return option.is_metric; });
  if (inside == entry.options.end()) {
    return entry.inputs.empty() ? make(text)->inputs().vec() : entry.inputs;
  }
  const auto wrapped = spec.options.find(inside->name);
  TORCH_CHECK_VALUE(wrapped != spec.options.end(), spec.name, ": option '",
                    inside->name, "' is required");
  const auto items = parse_items(wrapped->second);
  const bool has_several =
      std::any_of(items.begin(), items.end(),
                  [](const auto& item) { return item.second.front() == '{'; });
  if (has_several) return make(text)->inputs().vec();
  std::vector<std::vector<InputInfo>> taken;
  std::vector<internal::InputUnion::Reader> readers;
  for (const auto& [name, metric] : items) {
    taken.push_back(inputs(metric, depth + 1));
    readers.push_back({name, taken.back()});
  }
  std::vector<InputInfo> all =
      internal::InputUnion(std::move(readers)).inputs().vec();
  const bool is_map = !items.front().first.empty();
  for (InputInfo& input : all) {
    if (is_map) input.kind = InputKind::kTasks;
  }
  if (entry.change_inputs) entry.change_inputs(all);
  return all;
}

void Registry::check_sizes(std::string_view text, std::int64_t most) const {
  check_sizes(text, most, 0);
}

void Registry::check_sizes(std::string_view text, std::int64_t most,
                           int depth) const {
  check_depth(depth);
  MetricSpec spec = parse_metric_spec(text);
  if (is_arithmetic(spec.name)) {
    internal::parse_expression(expression_in(spec), [&](std::string_view item) {
      check_sizes(item, most, depth + 1);
      return internal::Expression(0.0);
    });
    return;
  }
  for (const OptionInfo& option : at(spec.name).options) {
    const auto found = spec.options.find(option.name);
    if (found == spec.options.end()) continue;
    const std::string& value = found->second;
    if (option.is_metric) {
      for (const std::string& inner : metrics_in(value)) {
        check_sizes(inner, most, depth + 1);
      }
    } else if (option.is_size) {
      // Of a text that is no integer, make() has more to say.
      const auto size = internal::parse_number<std::int64_t>(value);
      TORCH_CHECK_VALUE(!size || *size <= most, spec.name, ": option '",
                        option.name, "': expected at most ", most,
                        " for this amount of data, got ", value);
    }
  }
}

const Registry& builtin_registry() {
  static const Registry registry = [] {
    Registry r;
    const auto add = [&r](const char* domain, void (*add_domain)(Registry&)) {
      Registry part;
      add_domain(part);
      for (auto [name, entry] : part.entries()) {
        entry.domain = domain;
        r.add(std::move(entry));
      }
    };
    add("aggregation", internal::add_aggregation);
    add("audio", internal::add_audio);
    add("classification", internal::add_classification);
    add("classification", internal::add_curves);
    add("clustering", internal::add_clustering);
    add("detection", internal::add_detection);
    add("features", internal::add_features);
    add("image", internal::add_image);
    add("nominal", internal::add_nominal);
    add("regression", internal::add_regression);
    add("segmentation", internal::add_segmentation);
    add("shape", internal::add_shape);
    add("retrieval", internal::add_retrieval);
    add("text", internal::add_text);
    add("wrappers", internal::add_wrappers);
    return r;
  }();
  return registry;
}

std::unique_ptr<Metric> make_metric(std::string_view text,
                                    const MetricOptions& metric_options) {
  return builtin_registry().make(text, metric_options);
}

void MetricCollection::add(std::string name, std::string_view text) {
  add(std::move(name), make_metric(text));
}

}  // namespace tally
