#include "tally/metrics/registry/collection_config.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tally/metrics/common/json_fault.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/core/option_text.h"
#include "tally/state/joined.h"

namespace tally {
namespace {

using Json = nlohmann::ordered_json;
using Texts = std::map<std::string, std::string>;

constexpr const char* kOwner = "config";
constexpr int kDeepestBrackets = 32;
constexpr std::size_t kMostShownJson = 60;

std::string shown_json(const Json& value) {
  const std::string text = value.dump();
  return text.size() <= kMostShownJson ? text
                                       : text.substr(0, kMostShownJson) + "...";
}

/// What an object says besides its metrics.
struct TopOptions {
  std::string prefix;
  std::string postfix;
  MetricOptions metric;
  std::string metrics = "none";

  void visit(OptionVisitor& v) {
    v("prefix", prefix, internal::words::kPrefix);
    v("postfix", postfix, internal::words::kPostfix);
    v("metrics", metrics);
    v("dist_sync_on_step", metric.dist_sync_on_step(),
      "Whether forward() gives the value of all ranks' batches.");
    v("sync_on_compute", metric.sync_on_compute(),
      "Whether compute() gives the value of all ranks.");
    v("compute_with_cache", metric.compute_with_cache(),
      "Whether compute() keeps its value until the next update.");
    metric.visit(v);
  }
};

/// What an object says of a metric besides its options.
struct MemberOptions {
  std::string metric;
  std::string options;
  MetricOptions metric_options;

  void visit(OptionVisitor& v) {
    v("metric", metric);
    v("options", options);
    metric_options.visit(v);
  }
};

/// Refuses what nlohmann lets pass: the same key twice, and depths at which
/// recursion would run out of stack.
class StrictKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    TORCH_CHECK_VALUE(depth <= kDeepestBrackets, kOwner, ": expected at most ",
                      kDeepestBrackets, " levels of brackets");
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      TORCH_CHECK_VALUE(keys_.back().insert(key).second, kOwner,
                        ": expected each name once, got '", key, "' twice");
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

Json parse_json(std::string_view text) {
  auto keys = std::make_shared<StrictKeys>();
  try {
    return Json::parse(
        text, [keys](int depth, Json::parse_event_t event, Json& parsed) {
          return (*keys)(depth, event, parsed);
        });
  } catch (const Json::out_of_range& error) {
    C10_THROW_ERROR(ValueError, c10::str(kOwner, ": expected JSON, got ",
                                         internal::json_overflow(error)));
  } catch (const Json::parse_error& error) {
    const internal::JsonFault fault{error, error.byte, text};
    C10_THROW_ERROR(ValueError,
                    c10::str(kOwner, ": ", internal::json_place(error),
                             ": expected JSON, got ", fault.words()));
  }
}

const std::string& string_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  TORCH_CHECK_VALUE(found != object.end() && found->is_string(), kOwner,
                    ": expected \"", key, "\" to be text in ",
                    shown_json(object));
  return found->get_ref<const std::string&>();
}

std::string option_text(const Json& value);

std::string element_text(const Json& value) {
  return value.is_string()
             ? internal::quote_text(value.get_ref<const std::string&>())
             : option_text(value);
}

std::string members_text(const Json& object, const char* between) {
  return internal::joined(", ", object.items(), [&](const auto& member) {
    return internal::quote_text(member.key()) + between +
           element_text(member.value());
  });
}

/// "Name(option=text, ...)" of an object with "metric" and maybe "options".
std::string metric_text(const Json& object) {
  const std::string& metric = string_at(object, "metric");
  const auto options = object.find("options");
  if (options == object.end()) return metric;
  TORCH_CHECK_VALUE(options->is_object(), kOwner,
                    ": expected \"options\" to be an object, got ",
                    shown_json(*options));
  TORCH_CHECK_VALUE(metric.find('(') == metric.npos, kOwner,
                    ": expected options in \"options\" or in parentheses, got "
                    "both in ",
                    shown_json(object));
  return metric + "(" + members_text(*options, "=") + ")";
}

std::string option_text(const Json& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    return "[" + internal::joined(", ", value, element_text) + "]";
  }
  if (!value.is_object()) return value.dump();
  if (value.contains("metric")) return metric_text(value);
  return "{" + members_text(value, ": ") + "}";
}

/// What an object says of `metrics` and `options` is read elsewhere.
Texts flat_texts(const Json& object) {
  Texts texts;
  for (const auto& [key, value] : object.items()) {
    texts[key] = value.is_structured() ? "" : option_text(value);
  }
  return texts;
}

CollectionConfig::Member parse_member(const std::string& name,
                                      const Json& value,
                                      const MetricOptions& defaults) {
  if (value.is_string()) return {name, value.get<std::string>(), defaults};
  const std::string owner = std::string(kOwner) + ": metric '" + name + "'";
  TORCH_CHECK_VALUE(value.is_object(), owner,
                    ": expected text or an object, got ", shown_json(value));
  MemberOptions options;
  options.metric_options = defaults;
  parse_options(options, owner, flat_texts(value));
  return {name, metric_text(value), options.metric_options};
}

void parse_members(const Json& metrics, const MetricOptions& defaults,
                   CollectionConfig& config) {
  if (metrics.is_array()) {
    std::string list;
    for (const Json& item : metrics) {
      TORCH_CHECK_VALUE(item.is_string(), kOwner,
                        ": expected a list of texts as metrics, got ",
                        shown_json(item));
      list += item.get_ref<const std::string&>() + ";";
    }
    for (auto& [name, text] : parse_metric_list(list)) {
      config.members.push_back({std::move(name), std::move(text), defaults});
    }
    return;
  }
  TORCH_CHECK_VALUE(metrics.is_object(), kOwner,
                    ": expected metrics to be an object or a list, got ",
                    shown_json(metrics));
  for (const auto& [name, value] : metrics.items()) {
    config.members.push_back(parse_member(name, value, defaults));
  }
}

}  // namespace

std::vector<OptionInfo> internal::config_options() {
  std::vector<OptionInfo> options = describe_options(TopOptions());
  options.erase(std::remove_if(options.begin(), options.end(),
                               [](const OptionInfo& option) {
                                 return option.name == "metrics";
                               }),
                options.end());
  return options;
}

CollectionConfig parse_collection_config(std::string_view json) {
  const Json top = parse_json(json);
  TORCH_CHECK_VALUE(top.is_object(), kOwner, ": expected an object, got ",
                    shown_json(top));
  TopOptions options;
  parse_options(options, kOwner, flat_texts(top));
  TORCH_CHECK_VALUE(top.contains("metrics"), kOwner,
                    ": expected \"metrics\" in it, got none");
  CollectionConfig config;
  config.prefix = options.prefix;
  config.postfix = options.postfix;
  const MetricOptions& all = options.metric;
  config.options.dist_sync_on_step(all.dist_sync_on_step())
      .sync_on_compute(all.sync_on_compute())
      .compute_with_cache(all.compute_with_cache());
  parse_members(top.at("metrics"),
                MetricOptions()
                    .validate_args(all.validate_args())
                    .nan_policy(all.nan_policy())
                    .compute_on_cpu(all.compute_on_cpu()),
                config);
  TORCH_CHECK_VALUE(!config.members.empty(), kOwner,
                    ": expected at least one metric, got none");
  return config;
}

MetricCollection make_collection(const CollectionConfig& config,
                                 const Registry& registry) {
  MetricCollection collection(config.options);
  collection.prefix(config.prefix).postfix(config.postfix);
  for (const CollectionConfig::Member& member : config.members) {
    collection.add(member.name, registry.make(member.text, member.options));
  }
  return collection;
}

MetricCollection make_collection(std::string_view json,
                                 const Registry& registry) {
  return make_collection(parse_collection_config(json), registry);
}

}  // namespace tally
