#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::cli {

enum class Command { kHelp, kList, kDescribe, kEvaluate };
enum class Format { kTable, kJson, kCsv };

/// What the command line says.
struct Arguments {
  Command command = Command::kHelp;
  std::string name;  // of the metric to describe

  std::string metrics;
  std::string config;
  std::vector<std::string> inputs;
  std::vector<std::string> input_names;  // of all inputs, or none
  std::string csv;
  std::string columns;
  std::int64_t batch_size = 0;  // 0: of about 16 MB
  std::int64_t ranks = 0;       // 0: as --split or the launcher says, or 1
  std::vector<std::int64_t> split;
  Format format = Format::kTable;
  std::string output;
};

extern const char* const kHelp;

/// Reads "--name value" and "--name=value"; --inputs takes all values up to the
/// next option. Throws c10::ValueError that says what is wrong.
Arguments parse_arguments(int argc, char** argv);

}  // namespace tally::cli
