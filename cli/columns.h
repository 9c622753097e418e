#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tally/cli/source.h"

namespace tally::cli {

/// Which columns of a CSV file are which inputs, by the names in its first
/// line: those of inputs, or words that are usual for them ("label" for
/// target). A single column is the single input that metrics need. Nothing for
/// metrics that do not say what their inputs are. Throws c10::ValueError, with
/// what to say by --columns, if an input that metrics need is not found, or
/// found twice.
std::vector<std::pair<std::string, std::size_t>> match_columns(
    const std::vector<std::string>& header,
    const std::vector<MetricInputs>& metrics);

}  // namespace tally::cli
