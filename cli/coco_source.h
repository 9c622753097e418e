#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/source.h"
#include "tally/metrics/registry/collection_config.h"
#include "tally/metrics/results.h"

namespace tally::cli {

/// Opens the files of --coco, for metrics of objects: an image is a row. Throws
/// c10::ValueError if they are invalid.
std::unique_ptr<Source> open_coco(const Arguments& arguments,
                                  const std::vector<MetricInputs>& metrics);

/// The file of annotations, and those of results.
std::vector<std::string> coco_paths(const Arguments& arguments);

/// Makes MeanAveragePrecision return the values of each class, unless its
/// options say whether to.
void add_class_metrics(CollectionConfig& config);

/// Gives the metrics that have these options what they do not say themselves.
void add_options(
    const std::vector<std::pair<std::string, std::string>>& options,
    CollectionConfig& config);

/// The lines that COCO's tools print and a table of the categories; empty
/// unless `config` is one MeanAveragePrecision. `results` are without its name.
std::string coco_summary(const CollectionConfig& config, const Results& results,
                         const files::Categories& categories);

}  // namespace tally::cli
