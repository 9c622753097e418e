#pragma once

namespace tally::cli {

/// All of the program `tally`, for its main: returns its exit status. Changes
/// how this process takes signals.
int run_program(int argc, char** argv);

}  // namespace tally::cli
