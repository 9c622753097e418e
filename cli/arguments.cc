#include "tally/cli/arguments.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>

#include "tally/cli/input_file.h"
#include "tally/metrics/nearest.h"

namespace tally::cli {
namespace {

constexpr std::int64_t kMostRanks = 256;
constexpr const char* kFormats[] = {"table", "json", "csv"};

/// Paths are meant from where the user is, which `bazel run` tells.
std::string user_path(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr) return path;
  return std::filesystem::path(folder) / path;
}

std::int64_t parse_count(const std::string& option, const std::string& text,
                         std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  TORCH_CHECK_VALUE(parsed.ec == std::errc() && parsed.ptr == end &&
                        value >= least && value <= most,
                    option, ": expected an integer from ", least, " to ", most,
                    ", got '", text, "'");
  return value;
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

/// The options of evaluate.
class EvaluateParser {
 public:
  Arguments parse(std::vector<std::string> words) {
    for (std::size_t i = 0; i < words.size();) {
      const std::string& word = words[i++];
      TORCH_CHECK_VALUE(word.rfind("--", 0) == 0, "expected an option, got '",
                        word, "'; see --help");
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      check_known(name);
      std::vector<std::string> values;
      if (equals != word.npos) values.push_back(word.substr(equals + 1));
      const bool takes_more = name == "--inputs";
      while (i < words.size() && (takes_more || values.empty()) &&
             words[i].rfind("--", 0) != 0) {
        values.push_back(words[i++]);
      }
      TORCH_CHECK_VALUE(!values.empty() && !values.back().empty(), name,
                        ": expected a value, got none");
      TORCH_CHECK_VALUE(given_.emplace(name, true).second, name,
                        ": given twice");
      setters_.at(name)(values);
    }
    check_together();
    arguments_.command = Command::kEvaluate;
    return std::move(arguments_);
  }

 private:
  using Values = std::vector<std::string>;

  void check_known(const std::string& name) const {
    if (setters_.count(name) != 0) return;
    std::vector<std::string> names;
    for (const auto& [known, setter] : setters_) names.push_back(known);
    TORCH_CHECK_VALUE(false, "there is no option '", name, "'",
                      internal::did_you_mean(name, names));
  }

  void check_together() const {
    const Arguments& a = arguments_;
    TORCH_CHECK_VALUE(a.metrics.empty() != a.config.empty(),
                      "expected either --metrics or --config, got ",
                      a.metrics.empty() ? "neither" : "both");
    TORCH_CHECK_VALUE(a.inputs.empty() != a.csv.empty(),
                      "expected either --inputs or --csv, got ",
                      a.inputs.empty() ? "neither" : "both");
    TORCH_CHECK_VALUE(
        a.input_names.empty() || a.input_names.size() == a.inputs.size(),
        "--inputs: expected all files with the inputs' names or none, got ",
        a.input_names.size(), " names of ", a.inputs.size(),
        " (a file of such a name is ./NAME=FILE)");
    TORCH_CHECK_VALUE(a.columns.empty() || !a.csv.empty(),
                      "--columns: expected --csv with it");
    TORCH_CHECK_VALUE(a.split.empty() || a.ranks == 0 ||
                          static_cast<std::int64_t>(a.split.size()) == a.ranks,
                      "--split: expected one number for each of ", a.ranks,
                      " ranks, got ", a.split.size());
  }

  Arguments arguments_;
  std::map<std::string, bool> given_;
  std::map<std::string, std::function<void(const Values&)>> setters_ = {
      {"--metrics", [this](const Values& v) { arguments_.metrics = v[0]; }},
      {"--config",
       [this](const Values& v) { arguments_.config = user_path(v[0]); }},
      {"--inputs",
       [this](const Values& v) {
         for (std::string path : v) {
           const std::string name = take_input_name(path);
           if (!name.empty()) arguments_.input_names.push_back(name);
           arguments_.inputs.push_back(user_path(path));
         }
       }},
      {"--csv", [this](const Values& v) { arguments_.csv = user_path(v[0]); }},
      {"--columns", [this](const Values& v) { arguments_.columns = v[0]; }},
      {"--batch-size",
       [this](const Values& v) {
         arguments_.batch_size =
             parse_count("--batch-size", v[0], 1, 1'000'000'000'000);
       }},
      {"--ranks",
       [this](const Values& v) {
         arguments_.ranks = parse_count("--ranks", v[0], 1, kMostRanks);
       }},
      {"--split",
       [this](const Values& v) { arguments_.split = parse_split(v[0]); }},
      {"--format",
       [this](const Values& v) { arguments_.format = parse_format(v[0]); }},
      {"--output",
       [this](const Values& v) { arguments_.output = user_path(v[0]); }},
  };
};

}  // namespace

const char* const kHelp =
    "Computes metrics of predictions in files, with one process or many.\n"
    "\n"
    "  tally list              every metric, with what it is\n"
    "  tally describe NAME     a metric's options, inputs and range\n"
    "  tally evaluate ...      values, of\n"
    "    --metrics \"A(...); name=B(...)\"   metrics as `list` names them, or\n"
    "    --config FILE                     the same as JSON\n"
    "    --inputs FILE FILE ...            .npy files, in the order of the\n"
    "                                      metrics' inputs, or by their "
    "names:\n"
    "                                      preds=FILE target=FILE; or\n"
    "    --csv FILE --columns a,b          columns: a name, first:last for\n"
    "                                      several, or @1 where the first "
    "line\n"
    "                                      has no names (all); or by the\n"
    "                                      inputs' names: preds=a,target=b\n"
    "    --batch-size N                    rows at a time (16 MB)\n"
    "    --ranks N                         local processes (1); under "
    "torchrun\n"
    "                                      its own\n"
    "    --split 12,6,0                    rows of each rank (evenly)\n"
    "    --format table|json|csv           (table)\n"
    "    --output FILE                     instead of printing\n";

Arguments parse_arguments(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto is_help = [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "help";
  };
  Arguments arguments;
  if (words.empty() || is_help(words[0]) || is_help(words.back())) {
    TORCH_CHECK_VALUE(!words.empty(),
                      "expected list, describe or evaluate; see --help");
    return arguments;
  }
  const std::string& command = words[0];
  if (command == "evaluate") {
    return EvaluateParser().parse({words.begin() + 1, words.end()});
  }
  if (command == "list") {
    TORCH_CHECK_VALUE(words.size() == 1, "list: expected nothing more, got '",
                      words[1], "'");
    arguments.command = Command::kList;
    return arguments;
  }
  TORCH_CHECK_VALUE(
      command == "describe", "there is no command '", command, "'",
      internal::did_you_mean(command, {"list", "describe", "evaluate"}));
  TORCH_CHECK_VALUE(words.size() == 2,
                    "describe: expected the name of one metric, got ",
                    words.size() - 1);
  arguments.command = Command::kDescribe;
  arguments.name = words[1];
  return arguments;
}

}  // namespace tally::cli
