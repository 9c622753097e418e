#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tally::testkit::internal {

/// Settings from the command line, --tally_NAME=value, or from the environment,
/// TALLY_NAME.
struct Flags {
  std::optional<int> hold_rank;
  std::string keep_logs;
  std::optional<std::chrono::seconds> deadline;
};

/// Throws std::invalid_argument, on every call, if a flag is invalid.
const Flags& flags();

/// The program's own arguments, starting with its name, without GoogleTest's.
std::vector<std::string> arguments_for_ranks();

}  // namespace tally::testkit::internal
