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

/// The parsed command line.
struct Arguments {
  Command command = Command::kHelp;
  std::string name;  // of the metric to describe (empty: all), or of the shell
  std::vector<std::string> words;  // that listed metrics must match

  std::string metrics;
  std::string config;
  std::vector<std::string> inputs;
  std::vector<std::string> input_names;  // of all inputs, or none
  std::vector<std::string> coco;         // annotations and results
  std::string csv;
  std::string columns;
  std::vector<std::string> by;  // columns whose values divide the rows
  std::int64_t slices = 0;      // to show; 0: all
  CsvOptions csv_options;       // tables use its labels, too
  std::int64_t batch_size = 0;  // 0: about 16 MB
  std::int64_t ranks = 0;       // 0: from --split or the launcher, or 1
  std::vector<std::int64_t> split;
  Format format = Format::kTable;
  std::string output;
};

/// Whether the inputs are those of one file of JSON lines, .jsonl.
bool is_json_lines(const Arguments& arguments);

extern const char* const kHelp;

/// Parses "--name value" and "--name=value"; --inputs takes all values up to
/// the next option. "-" is the standard input. Throws c10::ValueError for
/// invalid arguments.
Arguments parse_arguments(int argc, char** argv);

}  // namespace tally::cli
