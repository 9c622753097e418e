#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tally::testkit::internal {

/// What the command line says to the kit: --tally_NAME=value, or TALLY_NAME of
/// the environment.
struct Flags {
  std::optional<int> hold_rank;
  std::string keep_logs;
  std::optional<std::chrono::seconds> deadline;
};

/// std::invalid_argument, on every call, if a flag makes no sense.
const Flags& flags();

/// The program's own arguments, the first its name, without GoogleTest's.
std::vector<std::string> arguments_for_ranks();

}  // namespace tally::testkit::internal
