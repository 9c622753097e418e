#pragma once

#include "tally/cli/arguments.h"
#include "tally/cli/evaluate.h"

/// What evaluate writes with --save.
namespace tally::cli {

/// Throws c10::ValueError for what one file cannot hold: several intervals,
/// and rows that other files could not tell from theirs.
void check_saved(const Job& job, const Arguments& arguments);

/// Writes the slices, the interval or else the metrics, over all ranks.
/// Collective. Throws c10::ValueError on all of them if that fails.
void save_states(Job& job, const Arguments& arguments);

}  // namespace tally::cli
