#pragma once

#include <string>

#include "tally/cli/arguments.h"

/// Files of states: what accumulated in one process, to be merged in another.
namespace tally::cli {

/// Merges arguments.states into arguments.output, and says how many there were.
/// Throws c10::ValueError that names the file.
std::string merge_states(const Arguments& arguments);

/// The values of the file in arguments.states, with what it is of. Throws
/// c10::ValueError that names it.
std::string show_states(const Arguments& arguments);

}  // namespace tally::cli
