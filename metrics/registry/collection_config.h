#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/registry/registry.h"

namespace tally {

/// What a collection is made of.
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
/// without the name. Besides there may be prefix, postfix, and of MetricOptions
/// dist_sync_on_step, sync_on_compute and compute_with_cache, and
/// validate_args, nan_policy and compute_on_cpu, which a metric can have of its
/// own. Values of options are text or JSON's: null is "none", a metric inside
/// another again an object with "metric" and "options". Throws c10::ValueError
/// that says what is wrong where.
CollectionConfig parse_collection_config(std::string_view json);

/// Throws c10::ValueError as Registry::make and MetricCollection::add do.
MetricCollection make_collection(const CollectionConfig& config,
                                 const Registry& registry = builtin_registry());

/// Example:
///     auto metrics = make_collection(R"({"metrics": ["MeanSquaredError"]})");
///     metrics.update(preds, target);
MetricCollection make_collection(std::string_view json,
                                 const Registry& registry = builtin_registry());

}  // namespace tally
