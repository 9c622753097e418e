#include "tally/cli/set_arguments.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tally/cli/argument_values.h"
#include "tally/files/input_file.h"

namespace tally::cli {
namespace {

std::vector<std::string> split_files(const std::string& value) {
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin <= value.size();) {
    std::size_t end = value.find(',', begin);
    // The longest existing name that begins here.
    for (std::size_t next = value.size(); end != value.npos && next > end;
         next = value.rfind(',', next - 1)) {
      std::string path = value.substr(begin, next - begin);
      files::take_input_name(path);
      std::error_code too_long;
      if (std::filesystem::exists(user_path(path), too_long)) end = next;
    }
    end = std::min(end, value.size());
    files.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

}  // namespace

void add_inputs(const std::string& word, std::vector<std::string>& inputs,
                std::vector<std::string>& names) {
  for (std::string path : split_files(word)) {
    const std::string name = files::take_input_name(path);
    if (!name.empty()) names.push_back(name);
    inputs.push_back(user_path(path));
  }
}

DataSet parse_set(const std::vector<std::string>& words) {
  const std::size_t equals = words.front().find('=');
  DataSet set;
  set.name = words.front().substr(0, equals);
  std::vector<std::string> files = words;
  files.front() =
      equals == words.front().npos ? "" : words.front().substr(equals + 1);
  if (files.front().empty()) files.erase(files.begin());
  TORCH_CHECK_VALUE(equals != words.front().npos && !files.empty(),
                    "--set: expected NAME=FILE ..., got '", words.front(), "'");
  for (const std::string& file : files) {
    if (has_csv_name(file)) {
      set.csv.push_back(user_path(file));
    } else if (std::filesystem::path(file).extension() == ".json") {
      set.coco.push_back(user_path(file));
    } else {
      add_inputs(file, set.inputs, set.input_names);
    }
  }
  const auto check_kinds = [&](const auto& some, const auto& others) {
    TORCH_CHECK_VALUE(some.empty() || others.empty(), "--set: ", set.name,
                      ": expected files of one kind, got ", some.front(),
                      " and ", others.front());
  };
  check_kinds(set.csv, set.inputs);
  check_kinds(set.csv, set.coco);
  check_kinds(set.coco, set.inputs);
  TORCH_CHECK_VALUE(set.coco.size() != 1, "--set: ", set.name,
                    ": expected annotations and, behind them, one or more "
                    "files of results, got ",
                    set.coco.front(),
                    " alone; a file with an object in each line is named "
                    ".jsonl");
  TORCH_CHECK_VALUE(std::count(set.inputs.begin(), set.inputs.end(),
                               files::kStandardInput) == 0,
                    "--set: ", set.name,
                    ": expected files, got the standard input");
  return set;
}

Arguments arguments_of(const Arguments& arguments, const DataSet& set) {
  Arguments own = arguments;
  own.sets.clear();
  own.csv = set.csv;
  own.coco = set.coco;
  own.inputs = set.inputs;
  own.input_names = set.input_names;
  return own;
}

std::vector<Arguments> evaluations_of(const Arguments& arguments) {
  if (arguments.sets.empty()) return {arguments};
  std::vector<Arguments> all;
  for (const DataSet& set : arguments.sets) {
    all.push_back(arguments_of(arguments, set));
  }
  return all;
}

}  // namespace tally::cli
