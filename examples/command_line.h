#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tally/metrics/options.h"

namespace examples {

/// Parses a command line into values by option: "--name value", "--name=value",
/// and "--name" alone for `flags`. Throws c10::ValueError, starting with
/// `program`, for an invalid or duplicate option.
std::map<std::string, std::string> read_command_line(
    const char* program, int argc, char** argv,
    const std::set<std::string>& flags);

/// Sets `options` from it and validates them. Throws c10::ValueError that names
/// the invalid option.
template <class Options>
void set_options(Options& options, const char* program,
                 const std::map<std::string, std::string>& texts) {
  tally::parse_options(options, program, texts);
  for (const auto& [name, value] : texts) {
    TORCH_CHECK_VALUE(!value.empty(), program, ": option '", name,
                      "': expected a value, got none");
  }
  options.validate(program);
}

/// Throws c10::ValueError unless the option's value is from `least` to `most`.
void check_range(const char* program, const char* name, std::int64_t value,
                 std::int64_t least, std::int64_t most);
/// Throws c10::ValueError unless it is positive and finite.
void check_positive(const char* program, const char* name, double value);

/// Resolves a path against the user's folder, which `bazel run` passes on; ""
/// stays.
std::string user_path(const std::string& path);

}  // namespace examples
