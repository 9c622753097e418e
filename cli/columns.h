#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tally/cli/source.h"

namespace tally::cli {

/// Assigns the columns of a CSV file to inputs by the names in its first line:
/// an input's own name, or a common alias ("label" for target). A single column
/// is assigned to the single required input. Empty for metrics that do not
/// declare their inputs. Throws c10::ValueError, with the --columns to use, if
/// a required input is not found, or found twice.
std::vector<std::pair<std::string, std::size_t>> match_columns(
    const std::vector<std::string>& header,
    const std::vector<MetricInputs>& metrics);

}  // namespace tally::cli
