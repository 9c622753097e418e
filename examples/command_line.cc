#include "tally/examples/command_line.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace examples {

std::map<std::string, std::string> read_command_line(
    const char* program, int argc, char** argv,
    const std::set<std::string>& flags) {
  std::map<std::string, std::string> texts;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    TORCH_CHECK_VALUE(argument.rfind("--", 0) == 0, program,
                      ": expected an option, got '", argument, "'; see --help");
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals - 2);
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (flags.count(name) != 0) {
      value = "true";
    } else if (i + 1 < argc) {
      value = argv[++i];
    }
    TORCH_CHECK_VALUE(texts.emplace(name, value).second, program, ": option '",
                      name, "' is given twice");
  }
  return texts;
}

void check_range(const char* program, const char* name, std::int64_t value,
                 std::int64_t least, std::int64_t most) {
  TORCH_CHECK_VALUE(value >= least && value <= most, program, ": option '",
                    name, "': expected ", least, " to ", most, ", got ", value);
}

void check_positive(const char* program, const char* name, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value > 0, program, ": option '",
                    name, "': expected a positive number, got ", value);
}

std::string user_path(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || folder == nullptr) return path;
  return std::filesystem::path(folder) / path;
}

}  // namespace examples
