#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>

#include "tally/metrics/metric_options.h"

/// The options that the text of any metric may have beside its own, as
/// Metric::spec() writes them.
namespace tally::internal {

struct CommonOptions {
  MetricOptions metric_options;
  std::optional<at::ScalarType> dtype = {};  ///< see Metric::set_dtype
};

/// `text`, "Name(option=value)", with those that differ from the default.
std::string with_common_options(std::string text, const CommonOptions& common);

/// Sets them from the options of a text, except names that the metric itself
/// has, and removes them from it. Throws c10::ValueError that starts with
/// `owner` for an invalid value.
void take_common_options(const std::string& owner,
                         const std::map<std::string, std::string>& own,
                         std::map<std::string, std::string>& options,
                         CommonOptions& common);

}  // namespace tally::internal
