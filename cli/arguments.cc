#include "tally/cli/arguments.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "tally/cli/argument_values.h"
#include "tally/files/column_list.h"
#include "tally/files/file_list.h"
#include "tally/files/input_file.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/options.h"
#include "tally/state/parse_number.h"

namespace tally::cli {
namespace {

constexpr const char* kFormats[] = {"table", "json", "csv"};
constexpr const char* kMissing[] = {"error", "skip", "nan"};
constexpr const char* kDecimals[] = {"point", "comma"};
constexpr const char* kEncodings[] = {"utf-8", "utf-16", "latin-1",
                                      "windows-1252"};
constexpr std::size_t kMostLogs = 8;  // curves that a chart tells apart

/// COMMAND [WORD...] [--format FORMAT].
Arguments parse_listing(Command command,
                        const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.command = command;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name = option_name(words[i]);
    if (name.empty()) {
      arguments.words.push_back(words[i]);
      continue;
    }
    TORCH_CHECK_VALUE(name == "--format", words[0], ": unknown option '", name,
                      "'");
    const std::size_t equals = words[i].find('=');
    TORCH_CHECK_VALUE(equals != std::string::npos || i + 1 < words.size(),
                      "--format: expected a value, got none");
    const std::string format =
        equals != std::string::npos ? words[i].substr(equals + 1) : words[++i];
    arguments.json_schema =
        command == Command::kDescribe && format == "json-schema";
    if (arguments.json_schema) continue;
    arguments.format = parse_format(format);
    TORCH_CHECK_VALUE(arguments.format != Format::kCsv, words[0],
                      ": expected the format table or json, got csv");
  }
  return arguments;
}

/// Of one metric; as JSON without a name of all.
Arguments parse_describe(const std::vector<std::string>& words) {
  Arguments arguments = parse_listing(Command::kDescribe, words);
  const std::size_t names = arguments.words.size();
  if (arguments.json_schema) {
    TORCH_CHECK_VALUE(
        names == 0, "describe: expected no name with json-schema, got ", names);
    return arguments;
  }
  TORCH_CHECK_VALUE(
      names == 1 || (names == 0 && arguments.format == Format::kJson),
      "describe: expected the name of one metric or loss, such as BinaryAUROC, "
      "got ",
      names == 0 ? "none" : std::to_string(names),
      "; tally list has all, --format json describes them");
  if (names == 1) arguments.name = arguments.words[0];
  arguments.words.clear();
  return arguments;
}

}  // namespace

std::int64_t parse_count(const std::string& option, const std::string& text,
                         std::int64_t least, std::int64_t most) {
  const auto value = internal::parse_number<std::int64_t>(text);
  TORCH_CHECK_VALUE(value && *value >= least && *value <= most, option,
                    ": expected an integer from ", least, " to ", most,
                    ", got '", text, "'");
  return *value;
}

std::vector<std::int64_t> parse_split(const std::string& text) {
  std::vector<std::int64_t> split;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    split.push_back(parse_count("--split", item, 0,
                                std::numeric_limits<std::int64_t>::max()));
  }
  TORCH_CHECK_VALUE(split.size() <= kMostRanks, "--split: expected at most ",
                    kMostRanks, " ranks, got ", split.size());
  return split;
}

Format parse_format(const std::string& text) {
  const auto* found = std::find(std::begin(kFormats), std::end(kFormats), text);
  TORCH_CHECK_VALUE(found != std::end(kFormats),
                    "--format: expected table, json or csv, got '", text, "'");
  return static_cast<Format>(found - kFormats);
}

void parse_missing(const std::string& text, files::CsvOptions& options) {
  const std::size_t colon = text.find(':');
  const std::string how = text.substr(0, colon);
  const auto* found = std::find(std::begin(kMissing), std::end(kMissing), how);
  TORCH_CHECK_VALUE(found != std::end(kMissing),
                    "--missing: expected error, skip or nan, got '", text, "'");
  options.missing = static_cast<files::Missing>(found - kMissing);
  if (colon == text.npos) return;
  TORCH_CHECK_VALUE(options.missing != files::Missing::kError,
                    "--missing: expected skip or nan before the words, got '",
                    text, "'");
  options.missing_words =
      parse_list("--missing", "word", text.substr(colon + 1));
  TORCH_CHECK_VALUE(!options.missing_words.empty(),
                    "--missing: expected words after ':', got none");
}

char parse_decimal(const std::string& text) {
  const auto* found =
      std::find(std::begin(kDecimals), std::end(kDecimals), text);
  TORCH_CHECK_VALUE(found != std::end(kDecimals),
                    "--decimal: expected point or comma, got '", text, "'");
  return found == kDecimals ? '.' : ',';
}

files::Encoding parse_encoding(const std::string& text) {
  const auto* found =
      std::find(std::begin(kEncodings), std::end(kEncodings), text);
  TORCH_CHECK_VALUE(found != std::end(kEncodings),
                    "--encoding: expected utf-8, utf-16, latin-1 or "
                    "windows-1252, got '",
                    text, "'");
  return static_cast<files::Encoding>(found - kEncodings);
}

char parse_delimiter(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  TORCH_CHECK_VALUE(text.size() == 1 && text != "\"" && text != "\n",
                    "--delimiter: expected one character or tab, got '", text,
                    "'");
  return text[0];
}

std::vector<std::string> parse_list(const std::string& option, const char* what,
                                    const std::string& text) {
  std::vector<std::string> list;
  for (std::string& each : files::split_list(option, text)) {
    std::string item = files::unquoted(std::move(each));
    TORCH_CHECK_VALUE(!item.empty() && std::find(list.begin(), list.end(),
                                                 item) == list.end(),
                      option, ": expected each ", what, " once, got '", item,
                      "'", item.empty() ? "" : " twice");
    list.push_back(std::move(item));
  }
  return list;
}

double parse_level(const std::string& option, const std::string& text) {
  const auto level = internal::parse_number<double>(text);
  TORCH_CHECK_VALUE(level && *level > 0 && *level < 1, option,
                    ": expected a level in (0, 1), such as 0.95, got '", text,
                    "'");
  return *level;
}

IntervalMethod parse_method(const std::string& text) {
  IntervalMethod method = IntervalMethod::kAuto;
  const auto refusal =
      internal::OptionType<IntervalMethod>::parse(text, method);
  TORCH_CHECK_VALUE(!refusal, "--interval-method: expected ",
                    refusal ? refusal->expected : "", ", got '", text, "'");
  return method;
}

std::string option_name(const std::string& word) {
  if (word == "-m") return "--metrics";
  if (word == "-i") return "--inputs";
  if (word == "-o") return "--output";
  const std::string name =
      word.rfind("--", 0) == 0 ? word.substr(0, word.find('=')) : "";
  return name == "--class-names" ? "--labels" : name;
}

std::string option_value(const std::vector<std::string>& words, std::size_t& i,
                         std::vector<std::string>& given) {
  const std::string name = option_name(words[i]);
  TORCH_CHECK_VALUE(std::find(given.begin(), given.end(), name) == given.end(),
                    name, ": given twice");
  given.push_back(name);
  const std::size_t equals = words[i].find('=');
  std::string value;
  if (equals != std::string::npos) {
    value = words[i].substr(equals + 1);
  } else if (i + 1 < words.size() && option_name(words[i + 1]).empty()) {
    value = words[++i];
  }
  TORCH_CHECK_VALUE(!value.empty(), name, ": expected a value, got none");
  return value;
}

Arguments parse_compare(const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.command = Command::kCompare;
  std::vector<std::string> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = option_name(words[i]);
    if (name.empty()) {
      arguments.runs.push_back(user_path(words[i]));
      continue;
    }
    const bool is_known =
        name == "--level" || name == "--format" || name == "--output";
    TORCH_CHECK_VALUE(
        is_known, "compare: unknown option '", name, "'",
        internal::did_you_mean(name, {"--level", "--format", "--output"}));
    const std::string value = option_value(words, i, given);
    if (name == "--level") {
      arguments.level = parse_level(name, value);
    } else if (name == "--format") {
      arguments.format = parse_format(value);
    } else {
      arguments.output = user_path(value);
    }
  }
  const std::size_t runs = arguments.runs.size();
  TORCH_CHECK_VALUE(runs == 2,
                    "compare: expected two files, written by evaluate with "
                    "--replicates, got ",
                    runs);
  TORCH_CHECK_VALUE(std::count(arguments.runs.begin(), arguments.runs.end(),
                               std::string(files::kStandardInput)) < 2,
                    "compare: - (standard input) can be given only once");
  return arguments;
}

Arguments parse_report(const std::vector<std::string>& words) {
  std::vector<std::string> others;
  std::vector<std::string> logs;
  std::string title;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    TORCH_CHECK_VALUE(name != "--format",
                      "--format: report writes HTML; see evaluate");
    for (const char* other : {"--replicates", "--save", "--part", "--set"}) {
      TORCH_CHECK_VALUE(name != other, name,
                        ": not written by report; see evaluate");
    }
    if (name != "--log" && name != "--title") {
      others.push_back(words[i]);
      continue;
    }
    TORCH_CHECK_VALUE(name == "--log" || title.empty(), name, ": given twice");
    std::string value;
    if (name != words[i]) {
      value = words[i].substr(name.size() + 1);
    } else if (i + 1 < words.size() &&
               (words[i + 1][0] != '-' || words[i + 1] == "-")) {
      value = words[++i];
    }
    TORCH_CHECK_VALUE(!value.empty(), name, ": expected a value, got none");
    if (name == "--title") {
      title = value;
      continue;
    }
    TORCH_CHECK_VALUE(std::find(logs.begin(), logs.end(), value) == logs.end(),
                      "--log: got ", value, " twice");
    logs.push_back(value);
  }
  Arguments arguments = parse_evaluate(others, /*of_log=*/!logs.empty());
  TORCH_CHECK_VALUE(logs.size() <= kMostLogs, "--log: expected at most ",
                    kMostLogs, ", got ", logs.size());
  TORCH_CHECK_VALUE(logs.size() < 2 || arguments.csv_options.labels.empty(),
                    "--labels: expected one --log, got ", logs.size());
  for (const std::string& log : logs) arguments.logs.push_back(user_path(log));
  arguments.command = Command::kReport;
  arguments.title = title;
  return arguments;
}

std::string user_path(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || path == files::kStandardInput) return path;
  return std::filesystem::path(folder) / path;
}

bool is_json_lines(const Arguments& arguments) {
  return arguments.are_json_lines ||
         (!arguments.inputs.empty() && arguments.input_names.empty() &&
          std::all_of(arguments.inputs.begin(), arguments.inputs.end(),
                      has_json_lines_name));
}

bool is_archive(const Arguments& arguments) {
  return arguments.inputs.size() == 1 && arguments.input_names.empty() &&
         has_archive_name(arguments.inputs.front());
}

std::string id_path(const Arguments& arguments) {
  const bool is_file = !arguments.inputs.empty() && !is_json_lines(arguments);
  if (!is_file) return "";
  return arguments.ids.empty() ? arguments.groups : arguments.ids;
}

Arguments parse_arguments(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto is_help = [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "help";
  };
  Arguments arguments;
  if (words.empty() || is_help(words[0]) || is_help(words.back())) {
    TORCH_CHECK_VALUE(
        !words.empty(),
        "expected list, describe, evaluate, report, compare, plan, merge or "
        "show; see "
        "--help");
    return arguments;
  }
  const std::string& command = words[0];
  if (command == "--version") {
    arguments.command = Command::kVersion;
    return arguments;
  }
  if (command == "evaluate") {
    return parse_evaluate({words.begin() + 1, words.end()});
  }
  if (command == "report") {
    return parse_report({words.begin() + 1, words.end()});
  }
  if (command == "compare") {
    return parse_compare({words.begin() + 1, words.end()});
  }
  if (command == "plan") return parse_plan({words.begin() + 1, words.end()});
  if (command == "merge") return parse_merge({words.begin() + 1, words.end()});
  if (command == "show") return parse_show({words.begin() + 1, words.end()});
  if (command == "list") return parse_listing(Command::kList, words);
  if (command == "describe") return parse_describe(words);
  TORCH_CHECK_VALUE(
      command == "completion", "unknown command '", command, "'",
      internal::did_you_mean(
          command, {"list", "describe", "evaluate", "report", "compare", "plan",
                    "merge", "show", "completion"}));
  TORCH_CHECK_VALUE(words.size() == 2, "completion: expected bash or zsh, got ",
                    words.size() - 1);
  arguments.command = Command::kCompletion;
  arguments.name = words[1];
  return arguments;
}

}  // namespace tally::cli
