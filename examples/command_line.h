#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tally/metrics/options.h"

namespace examples {

/// What a command line says, by option: "--name value", "--name=value", and
/// "--name" alone for `flags`. Throws c10::ValueError, which begins with
/// `program`, for what is no option or one given twice.
std::map<std::string, std::string> read_command_line(
    const char* program, int argc, char** argv,
    const std::set<std::string>& flags);

/// Sets `options` by it and checks them. Throws c10::ValueError that says what
/// is wrong with which option.
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

/// c10::ValueError unless the option's value is from `least` to `most`.
void check_range(const char* program, const char* name, std::int64_t value,
                 std::int64_t least, std::int64_t most);
/// c10::ValueError unless it is positive and finite.
void check_positive(const char* program, const char* name, double value);

/// A path meant from where the user is, which `bazel run` tells; "" stays.
std::string user_path(const std::string& path);

}  // namespace examples
