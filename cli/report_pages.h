#pragma once

#include <memory>
#include <string>

#include "tally/cli/arguments.h"
#include "tally/sinks/progress.h"
#include "tally/sync/communicator.h"

namespace tally::cli {

/// Evaluates, and writes a page on it to arguments.output from rank 0. Throws
/// as evaluate() does, and then writes nothing. Collective.
void report_evaluation(const Arguments& arguments, const std::string& command,
                       const std::shared_ptr<sync::Communicator>& ranks,
                       Progress& progress);

/// The same for the logs that `arguments` name. Throws c10::ValueError.
void report_logs(const Arguments& arguments, const std::string& command);

/// As a shell reads it.
std::string command_text(int argc, char** argv);

}  // namespace tally::cli
