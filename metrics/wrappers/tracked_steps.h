#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/results.h"

/// The rows of a MetricTracker: the keys of steps, and what is left of finished
/// ones.
namespace tally::internal::tracked {

/// A step's key: its number, then its label.
std::string step_key(std::size_t step, const std::string& label);
std::int64_t step_of(const std::string& key);
std::string label_of(const std::string& key);
/// "step 3 (epoch 3)".
std::string step_name(const std::string& key);
/// See RowKeys::check: steps are numbered from 0, each with one label.
void check_steps(const std::vector<std::string>& keys, std::size_t others);

/// The values of a finished step as bytes; no values are no bytes.
std::string encoded(const Results& values);
/// Throws c10::ValueError for other bytes.
Results decoded(const std::string& bytes);

}  // namespace tally::internal::tracked
