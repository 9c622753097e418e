#include "tally/testing/internal/flags.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "tally/state/parse_number.h"
#include "tally/testing/internal/folder.h"

namespace tally::testkit::internal {
namespace {

// As main() got them: GoogleTest takes its own away, and knows no others.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) {
    arguments.push_back(argument);
  }
  if (arguments.empty()) arguments.emplace_back("test");
  return arguments;
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

std::optional<std::string> value_of(const std::string& name) {
  std::optional<std::string> value;
  std::string variable = "TALLY_";
  for (const char c : name) {
    variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  if (const char* text = std::getenv(variable.c_str())) value = text;
  const std::string start = "--tally_" + name + "=";
  for (const std::string& argument : command_line()) {
    if (starts_with(argument, start)) value = argument.substr(start.size());
  }
  return value;
}

std::optional<int> number_of(const std::string& name, int least) {
  const std::optional<std::string> text = value_of(name);
  if (!text) return std::nullopt;
  const auto number = tally::internal::parse_number<int>(*text);
  if (!number || *number < least) {
    throw std::invalid_argument("--tally_" + name + ": expected a number of " +
                                std::to_string(least) + " or more, got '" +
                                *text + "'");
  }
  return number;
}

Flags read_flags() {
  Flags read;
  read.hold_rank = number_of("hold_rank", 0);
  read.keep_logs = value_of("keep_logs").value_or("");
  if (const auto seconds = number_of("deadline", 1)) {
    read.deadline = std::chrono::seconds(*seconds);
  }
  return read;
}

}  // namespace

const Flags& flags() {
  static const Flags read = read_flags();
  return read;
}

std::vector<std::string> arguments_for_ranks() {
  std::vector<std::string> kept;
  for (const std::string& argument : command_line()) {
    if (!kept.empty() && (starts_with(argument, "--gtest_") ||
                          starts_with(argument, "-gtest_"))) {
      continue;
    }
    kept.push_back(argument);
  }
  return kept;
}

Folder::Folder() : path_(::testing::TempDir()) {
  if (path_.empty() || path_.back() != '/') path_ += '/';
  path_ += "ranks-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("cannot create a folder " + path_ + ": " +
                             std::strerror(errno));
  }
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tally::testkit::internal
