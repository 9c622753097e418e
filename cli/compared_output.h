#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tally/cli/evaluate.h"
#include "tally/metrics/results.h"
#include "tally/metrics/slices/slice_comparison.h"

/// What is shown of slices that were compared with all other rows.
namespace tally::cli {

/// "south: few units: ..." of what a reader has to know of slices, a line for
/// each flag.
std::vector<std::string> flag_lines(const std::vector<ComparedSlice>& slices);

/// What the columns of a table of compared slices mean; `all` slices there are,
/// or 0 if that is not known.
std::string compared_words(const MetricSlices& compared, std::size_t all);

/// Why there is no table: what is wrong, or that no slice is large enough;
/// empty if there is one.
std::string no_slices_words(const MetricSlices& compared);

/// How many there are; 0 if the smallest ones are shown as one.
std::size_t count_slices(const Report& report);

/// A table for each metric, with what its columns mean and what to know of
/// slices.
std::string compared_table(const Report& report);

/// {"accuracy": {"unit", "level", "slices": [{"key", "rows", ...}]}}, or
/// {"accuracy": {"remark"}}.
std::string compared_json(const Report& report);

/// "accuracy.difference", "accuracy.low" and so on, of the slice with this key.
Results compared_results(const Report& report,
                         const std::vector<SliceValue>& key);

/// {"site": "north"} of the columns `by`.
std::string key_json(const std::vector<std::string>& by,
                     const std::vector<SliceValue>& key);

}  // namespace tally::cli
