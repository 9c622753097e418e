#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/cli/csv_options.h"

namespace tally::cli {

enum class Command {
  kHelp,
  kVersion,
  kList,
  kDescribe,
  kEvaluate,
  kCompletion
};
enum class Format { kTable, kJson, kCsv };

/// What the command line says.
struct Arguments {
  Command command = Command::kHelp;
  std::string name;                // of the metric to describe, or of the shell
  std::vector<std::string> words;  // that metrics to list have

  std::string metrics;
  std::string config;
  std::vector<std::string> inputs;
  std::vector<std::string> input_names;  // of all inputs, or none
  std::string csv;
  std::string columns;
  CsvOptions csv_options;       // its labels are for tables, too
  std::int64_t batch_size = 0;  // 0: of about 16 MB
  std::int64_t ranks = 0;       // 0: as --split or the launcher says, or 1
  std::vector<std::int64_t> split;
  Format format = Format::kTable;
  std::string output;
};

extern const char* const kHelp;

/// Reads "--name value" and "--name=value"; --inputs takes all values up to the
/// next option. "-" stands for the standard input. Throws c10::ValueError that
/// says what is wrong.
Arguments parse_arguments(int argc, char** argv);

}  // namespace tally::cli
