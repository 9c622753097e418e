#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/registry/registry.h"

namespace tally {

/// The configuration of a collection.
struct CollectionConfig {
  struct Member {
    std::string name;
    std::string text;  ///< for Registry::make
    MetricOptions options;
  };

  std::string prefix;
  std::string postfix;
  MetricOptions options;
  std::vector<Member> members;
};

/// Reads JSON such as
///
///     {
///       "prefix": "val_",
///       "nan_policy": "ignore",
///       "metrics": {
///         "accuracy": "MulticlassAccuracy(num_classes=10)",
///         "f1": {
///           "metric": "MulticlassF1Score",
///           "options": {"num_classes": 10, "average": "macro"},
///           "nan_policy": "error"
///         }
///       }
///     }
///
/// `metrics` can also be a list of texts, "f1=MulticlassF1Score(...)" or
/// without the name. Other keys are prefix, postfix, and the MetricOptions
/// dist_sync_on_step, sync_on_compute and compute_with_cache, as well as
/// validate_args, nan_policy and compute_on_cpu, which can also be set per
/// metric. Values of options are text or JSON values: null is "none", a metric
/// inside another is again an object with "metric" and "options". Throws
/// c10::ValueError that describes and locates the error.
CollectionConfig parse_collection_config(std::string_view json);

namespace internal {
/// What an object says besides its metrics.
std::vector<OptionInfo> config_options();
}  // namespace internal

/// Throws c10::ValueError like Registry::make and MetricCollection::add.
MetricCollection make_collection(const CollectionConfig& config,
                                 const Registry& registry = builtin_registry());

/// Example:
///     auto metrics = make_collection(R"({"metrics": ["MeanSquaredError"]})");
///     metrics.update(preds, target);
MetricCollection make_collection(std::string_view json,
                                 const Registry& registry = builtin_registry());

}  // namespace tally
