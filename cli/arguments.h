#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tally/files/csv_options.h"
#include "tally/files/unpack.h"
#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/metric_base.h"

namespace tally::cli {

enum class Command {
  kHelp,
  kVersion,
  kList,
  kDescribe,
  kEvaluate,
  kReport,
  kCompare,
  kPlan,
  kMerge,
  kShow,
  kCompletion
};
enum class Format { kTable, kJson, kCsv };

/// One of several that are evaluated.
struct DataSet {
  std::string name;
  std::vector<std::string> csv;     // files, folders and patterns, or
  std::vector<std::string> coco;    // annotations and results, or
  std::vector<std::string> inputs;  // as those of all
  std::vector<std::string> input_names;
};

/// The parsed command line.
struct Arguments {
  Command command = Command::kHelp;
  // Of the metric to describe (empty: all), of the shell, or of what to plan.
  std::string name;
  std::vector<std::string> words;  // that listed metrics must match

  std::string metrics;
  bool are_named = true;  // unless nobody has asked for these
  std::string config;
  std::vector<std::string> inputs;
  std::vector<std::string> input_names;  // of all inputs, or none
  bool are_json_lines = false;           // the inputs, whatever their names
  std::vector<std::string> coco;         // annotations and results
  std::vector<std::string> folders;      // of the images of coco, or none
  std::vector<std::string> csv;          // files, folders and patterns
  std::vector<DataSet> sets;             // in place of inputs, csv and coco
  std::string columns;
  std::vector<std::string> by;  // columns whose values divide the rows
  std::int64_t slices = 0;      // to show; 0: all
  double interval = 0;          // the level; 0: without intervals
  IntervalMethod interval_method = IntervalMethod::kAuto;
  std::string ids;                // of the rows: column, key or file
  std::string groups;             // the same of groups of rows
  std::string replicates;         // file for replicates, to be compared
  files::CsvOptions csv_options;  // tables use its labels, too
  files::Encoding encoding = files::Encoding::kUtf8;  // of texts
  std::int64_t batch_size = 0;                        // 0: about 16 MB
  std::int64_t ranks = 0;  // 0: from --split or the launcher, or 1
  std::vector<std::int64_t> split;
  Format format = Format::kTable;
  /// Of describe: the schema of configurations.
  bool json_schema = false;
  std::string output;
  std::vector<std::string> logs;          // to report on, instead of inputs
  bool strict = false;                    // warnings are errors
  bool quiet = false;                     // no warnings and remarks
  std::string title;                      // of a report
  std::vector<std::string> runs;          // files of replicates to compare
  double level = 0.95;                    // of their comparison
  std::map<std::string, double> numbers;  // of a plan, by option
  std::string save;                       // file for the states
  StatePart part;                         // which these are
  std::vector<std::string> states;        // files to merge, or the one to show
  bool is_partial = false;                // whether some may be missing
};

/// Whether the inputs are those of files of JSON lines: of --jsonl, or named
/// .jsonl or .ndjson, or of a folder of these.
bool is_json_lines(const Arguments& arguments);

/// Whether they are the arrays of one .npz file.
bool is_archive(const Arguments& arguments);

/// The file that --ids or --groups name, if they do not name a column or key.
std::string id_path(const Arguments& arguments);

extern const char* const kHelp;

/// The words of `report`: --log, --title, and the options of `evaluate` that
/// apply. Throws c10::ValueError for invalid ones.
Arguments parse_report(const std::vector<std::string>& words);

/// The words of `compare`. Throws c10::ValueError for invalid ones.
Arguments parse_compare(const std::vector<std::string>& words);

/// The words of `plan`. Throws c10::ValueError for invalid ones.
Arguments parse_plan(const std::vector<std::string>& words);

/// The words of `merge`, and of `show`. Throw c10::ValueError for invalid ones.
Arguments parse_merge(const std::vector<std::string>& words);
Arguments parse_show(const std::vector<std::string>& words);

/// The words of `evaluate`; with `of_log`, those of its options that apply to a
/// log. Throws c10::ValueError for invalid ones.
Arguments parse_evaluate(const std::vector<std::string>& words,
                         bool of_log = false);

/// The file that a word names, seen from the user's folder, which `bazel run`
/// passes on.
std::string user_path(const std::string& path);

/// Parses "--name value" and "--name=value"; --inputs takes all values up to
/// the next option. "-" is the standard input. Throws c10::ValueError for
/// invalid arguments.
Arguments parse_arguments(int argc, char** argv);

}  // namespace tally::cli
