#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "tally/metrics/core/input_order.h"
#include "tally/metrics/registry/registry.h"

namespace tally {
namespace {

namespace fs = std::filesystem;

/// "preds, target[, weight]" of "preds, target, weight = {}".
std::string listed_names(const std::string& parameters) {
  const std::regex with_default(R"((, \w+) = [^,]+)");
  return std::regex_replace(parameters, with_default, "[$1]");
}

/// What the headers say behind "/// update(", by metric.
std::map<std::string, std::string> documented_inputs() {
  const std::regex update(R"(\s*/// update\(([^)]+)\):.*)");
  const std::regex metric(R"(class (\w+) final.*)");
  std::map<std::string, std::string> inputs;
  for (const auto& entry : fs::recursive_directory_iterator("metrics")) {
    const std::string path = entry.path();
    if (path.find("/tally/metrics/") == path.npos ||
        entry.path().extension() != ".h") {
      continue;
    }
    std::ifstream header(path);
    std::string parameters;
    for (std::string line; std::getline(header, line);) {
      std::smatch match;
      if (std::regex_match(line, match, update)) {
        parameters = match[1];
      } else if (std::regex_match(line, match, metric)) {
        if (!parameters.empty()) inputs[match[1]] = listed_names(parameters);
        parameters.clear();
      }
    }
  }
  return inputs;
}

TEST(DocumentedInputsTest, AreThoseThatMetricsDeclare) {
  std::size_t compared = 0;
  const auto documented = documented_inputs();
  for (const auto& [name, entry] : builtin_registry().entries()) {
    const auto found = documented.find(name);
    if (entry.is_wrapper || found == documented.end()) continue;
    SCOPED_TRACE(name);
    EXPECT_EQ(found->second, internal::listed(builtin_registry().inputs(name)));
    ++compared;
  }
  EXPECT_GT(compared, 100u);
}

}  // namespace
}  // namespace tally
