#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tally/cli/argument_values.h"
#include "tally/cli/arguments.h"
#include "tally/cli/set_arguments.h"
#include "tally/files/input_file.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/options.h"
#include "tally/metrics/slices/named_sets.h"

namespace tally::cli {
namespace {

/// Whether a method has replicates, or kAuto may select such a one.
bool has_replicates(IntervalMethod method) {
  switch (method) {
    case IntervalMethod::kAuto:
    case IntervalMethod::kPoisson:
    case IntervalMethod::kDoubleOrNothing:
    case IntervalMethod::kJackknife:
      return true;
    default:
      return false;
  }
}

bool is_flag(const std::string& name) {
  return name == "--strict" || name == "--quiet";
}

/// The options of evaluate.
class EvaluateParser {
 public:
  Arguments parse(const std::vector<std::string>& words, bool of_log) {
    for (std::size_t i = 0; i < words.size();) {
      const std::string& word = words[i++];
      const std::string name = option_name(word);
      TORCH_CHECK_VALUE(!name.empty(), "expected an option, got '", word,
                        "'; see --help");
      check_known(name);
      const std::size_t equals = word.find('=');
      if (is_flag(name)) {
        TORCH_CHECK_VALUE(equals == word.npos, name,
                          ": expected no value, got '", word.substr(equals + 1),
                          "'");
        TORCH_CHECK_VALUE(given_.emplace(name, true).second, name,
                          ": given twice");
        setters_.at(name)({});
        continue;
      }
      std::vector<std::string> values;
      if (equals != word.npos) values.push_back(word.substr(equals + 1));
      const bool takes_more = name == "--inputs" || name == "--columns" ||
                              name == "--csv" || name == "--jsonl" ||
                              name == "--coco" || name == "--folders" ||
                              name == "--set";
      while (i < words.size() && (takes_more || values.empty()) &&
             option_name(words[i]).empty()) {
        values.push_back(words[i++]);
      }
      TORCH_CHECK_VALUE(!values.empty() && !values.back().empty(), name,
                        ": expected a value, got none");
      TORCH_CHECK_VALUE(given_.emplace(name, true).second || name == "--set",
                        name, ": given twice");
      setters_.at(name)(values);
    }
    if (of_log) {
      check_log();
    } else if (!arguments_.sets.empty()) {
      check_sets();
    } else {
      check_together();
    }
    arguments_.command = Command::kEvaluate;
    return std::move(arguments_);
  }

 private:
  using Values = std::vector<std::string>;

  void check_known(const std::string& name) const {
    if (setters_.count(name) != 0) return;
    std::vector<std::string> names;
    for (const auto& [known, setter] : setters_) names.push_back(known);
    TORCH_CHECK_VALUE(false, "unknown option '", name, "'",
                      internal::did_you_mean(name, names));
  }

  void check_log() const {
    for (const auto& [name, given] : given_) {
      TORCH_CHECK_VALUE(name == "--labels" || name == "--output",
                        "--log: expected no other options than --labels, "
                        "--output and --title, got ",
                        name);
    }
  }

  /// Each as if it were the only one.
  void check_sets() {
    std::vector<std::string> names;
    for (const DataSet& set : arguments_.sets) names.push_back(set.name);
    check_set_names(names, "--set");
    for (const auto& [name, given] : given_) {
      static const std::set<std::string> kOfOne = {
          "--by",         "--slices", "--ids",  "--groups", "--split",
          "--replicates", "--save",   "--part", "--folders"};
      TORCH_CHECK_VALUE(
          kOfOne.count(name) == 0, name,
          ": expected one data set, got --set; evaluate each set alone, with "
          "--csv, --inputs or --coco",
          name == "--by" ? ", or all rows as one file, whose first column of "
                           "--by names their set"
                         : "");
    }
    Arguments given = arguments_;
    for (const DataSet& set : given.sets) {
      arguments_ = arguments_of(given, set);
      set_ = &set;
      check_together();
    }
    set_ = nullptr;
    // Those of --coco, if no others are given.
    given.metrics = arguments_.metrics;
    arguments_ = given;
  }

  void check_together() {
    Arguments& a = arguments_;
    if (!a.coco.empty() && a.metrics.empty() && a.config.empty()) {
      a.metrics = "MeanAveragePrecision";
      a.are_named = false;
    }
    TORCH_CHECK_VALUE(a.metrics.empty() != a.config.empty(),
                      "expected either --metrics or --config, got ",
                      a.metrics.empty() ? "neither" : "both");
    std::size_t sources = 0;
    for (const char* option :
         {"--inputs", "--csv", "--jsonl", "--coco", "--set"}) {
      sources += given_.count(option);
    }
    TORCH_CHECK_VALUE(
        sources == 1,
        "expected one of --inputs, --csv, --jsonl, --coco and --set, got ",
        sources == 0 ? "none" : "several");
    TORCH_CHECK_VALUE(a.coco.size() != 1,
                      "--coco: expected annotations followed by one or "
                      "more files of results, got one file");
    TORCH_CHECK_VALUE(
        a.input_names.empty() || a.input_names.size() == a.inputs.size(),
        "--inputs: expected names for all files or for none, got ",
        a.input_names.size(), " names for ", a.inputs.size(),
        " files (write ./NAME=FILE for a file with that name)");
    for (const char* option :
         {"--columns", "--delimiter", "--decimal", "--missing"}) {
      const bool is_columns = option == std::string_view("--columns");
      const bool is_missing = option == std::string_view("--missing");
      const bool fits = !a.csv.empty() ||
                        (is_columns && (is_json_lines(a) || is_archive(a))) ||
                        (is_missing && is_json_lines(a));
      TORCH_CHECK_VALUE(given_.count(option) == 0 || fits, option,
                        ": requires --csv",
                        is_columns   ? " or --jsonl, or a .jsonl or .npz file "
                                       "as --inputs"
                        : is_missing ? " or --jsonl, or a .jsonl file as "
                                       "--inputs"
                                     : "",
                        given_data());
    }
    TORCH_CHECK_VALUE(a.folders.empty() || !a.coco.empty(),
                      "--folders: requires --coco");
    TORCH_CHECK_VALUE(given_.count("--encoding") == 0 || a.coco.empty(),
                      "--encoding: requires --csv or --inputs");
    TORCH_CHECK_VALUE(a.by.empty() || !a.csv.empty(), "--by: requires --csv");
    TORCH_CHECK_VALUE(a.slices == 0 || !a.by.empty(),
                      "--slices: requires --by");
    TORCH_CHECK_VALUE(!a.strict || !a.quiet,
                      "expected one of --strict and --quiet, got both");
    check_interval();
    check_save();
    for (const std::string& path : a.inputs) {
      TORCH_CHECK_VALUE((!has_json_lines_name(path) || is_json_lines(a)) &&
                            (!has_archive_name(path) || is_archive(a)),
                        "--inputs: expected ", path,
                        " alone and without a name, as it holds all inputs; "
                        "use --columns to choose them");
      TORCH_CHECK_VALUE(
          a.are_json_lines ||
              std::filesystem::path(path).extension() != ".json",
          "--inputs: expected files of arrays, of texts or of JSON lines, got ",
          path, "; --jsonl reads it if it has an object in each line");
    }
    const bool is_id = id_path(a) == files::kStandardInput;
    for (const auto* paths : {&a.csv, &a.coco}) {
      TORCH_CHECK_VALUE(
          std::count(paths->begin(), paths->end(), files::kStandardInput) < 2,
          paths == &a.csv ? "--csv" : "--coco",
          ": - (standard input) can be given only once");
    }
    const auto inputs =
        std::count(a.inputs.begin(), a.inputs.end(), files::kStandardInput) +
        is_id;
    TORCH_CHECK_VALUE(inputs < 2, "--inputs", is_id ? " and --ids" : "",
                      ": - (standard input) can be given only once, got it ",
                      inputs, " times");
    TORCH_CHECK_VALUE(a.split.empty() || a.ranks == 0 ||
                          static_cast<std::int64_t>(a.split.size()) == a.ranks,
                      "--split: expected one number for each of ", a.ranks,
                      " ranks, got ", a.split.size());
  }

  // Of several sets, the one that an option does not fit.
  std::string given_data() const {
    if (set_ == nullptr) return "";
    const Arguments& a = arguments_;
    const auto& files = a.inputs.empty() ? a.coco : a.inputs;
    return c10::str(", got ", files.front(), " for the set '", set_->name, "'");
  }

  void check_save() const {
    const Arguments& a = arguments_;
    TORCH_CHECK_VALUE(given_.count("--part") == 0 || !a.save.empty(),
                      "--part: requires --save");
    if (a.save.empty()) return;
    TORCH_CHECK_VALUE(
        a.by.empty() || (a.interval == 0 && a.replicates.empty()),
        "--save: expected one of --by and --interval, of which a file holds "
        "one");
    TORCH_CHECK_VALUE(a.save != a.output && a.save != a.replicates,
                      "--save: expected a file other than --output and "
                      "--replicates");
  }

  void check_interval() {
    Arguments& a = arguments_;
    for (const char* option : {"--interval-method", "--ids", "--groups"}) {
      const bool is_of_slices =
          !a.by.empty() && option != std::string_view("--interval-method");
      TORCH_CHECK_VALUE(given_.count(option) == 0 || a.interval > 0 ||
                            !a.replicates.empty() || is_of_slices,
                        option, ": requires --interval",
                        option == std::string_view("--interval-method")
                            ? " or --replicates"
                            : ", --replicates or --by");
    }
    for (const char* option : {"--ids", "--groups"}) {
      TORCH_CHECK_VALUE(given_.count(option) == 0 || a.coco.empty(), option,
                        ": requires --csv or --inputs");
    }
    TORCH_CHECK_VALUE(a.ids.empty() || a.groups.empty(),
                      "expected one of --ids and --groups, got both");
    if (!id_path(a).empty()) {
      std::string& path = a.ids.empty() ? a.groups : a.ids;
      path = user_path(path);
    }
    TORCH_CHECK_VALUE(
        a.replicates.empty() || has_replicates(a.interval_method),
        "--replicates: expected --interval-method poisson, "
        "double_or_nothing or jackknife, got ",
        internal::OptionType<IntervalMethod>::print(a.interval_method));
    TORCH_CHECK_VALUE(a.replicates.empty() || a.replicates != a.output,
                      "--replicates: expected a file other than --output");
  }

  Arguments arguments_;
  const DataSet* set_ = nullptr;  // whose arguments those are, of several
  std::map<std::string, bool> given_;
  std::map<std::string, std::function<void(const Values&)>> setters_ = {
      {"--metrics", [this](const Values& v) { arguments_.metrics = v[0]; }},
      {"--config",
       [this](const Values& v) { arguments_.config = user_path(v[0]); }},
      {"--inputs",
       [this](const Values& v) {
         for (const std::string& value : v) {
           add_inputs(value, arguments_.inputs, arguments_.input_names);
         }
       }},
      {"--jsonl",
       [this](const Values& v) {
         arguments_.are_json_lines = true;
         for (const std::string& path : v) {
           arguments_.inputs.push_back(user_path(path));
         }
       }},
      {"--coco",
       [this](const Values& v) {
         for (const std::string& path : v) {
           arguments_.coco.push_back(user_path(path));
         }
       }},
      {"--folders",
       [this](const Values& v) {
         for (const std::string& path : v) {
           arguments_.folders.push_back(user_path(path));
         }
       }},
      {"--csv",
       [this](const Values& v) {
         for (const std::string& path : v) {
           arguments_.csv.push_back(user_path(path));
         }
       }},
      {"--set",
       [this](const Values& v) { arguments_.sets.push_back(parse_set(v)); }},
      {"--columns",
       [this](const Values& v) { arguments_.columns = c10::Join(",", v); }},
      {"--delimiter",
       [this](const Values& v) {
         arguments_.csv_options.delimiter = parse_delimiter(v[0]);
       }},
      {"--labels",
       [this](const Values& v) {
         arguments_.csv_options.labels = parse_list("--labels", "label", v[0]);
       }},
      {"--missing",
       [this](const Values& v) {
         parse_missing(v[0], arguments_.csv_options);
       }},
      {"--decimal",
       [this](const Values& v) {
         arguments_.csv_options.decimal = parse_decimal(v[0]);
       }},
      {"--encoding",
       [this](const Values& v) { arguments_.encoding = parse_encoding(v[0]); }},
      {"--by",
       [this](const Values& v) {
         arguments_.by = parse_list("--by", "column", v[0]);
       }},
      {"--slices",
       [this](const Values& v) {
         arguments_.slices = parse_count("--slices", v[0], 1, 1'000'000);
       }},
      {"--interval",
       [this](const Values& v) {
         arguments_.interval = parse_level("--interval", v[0]);
       }},
      {"--interval-method",
       [this](const Values& v) {
         arguments_.interval_method = parse_method(v[0]);
       }},
      {"--ids", [this](const Values& v) { arguments_.ids = v[0]; }},
      {"--groups", [this](const Values& v) { arguments_.groups = v[0]; }},
      {"--replicates",
       [this](const Values& v) { arguments_.replicates = user_path(v[0]); }},
      {"--save",
       [this](const Values& v) { arguments_.save = user_path(v[0]); }},
      {"--part",
       [this](const Values& v) { arguments_.part = parse_part(v[0]); }},
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
      {"--strict", [this](const Values&) { arguments_.strict = true; }},
      {"--quiet", [this](const Values&) { arguments_.quiet = true; }},
      {"--format",
       [this](const Values& v) { arguments_.format = parse_format(v[0]); }},
      {"--output",
       [this](const Values& v) { arguments_.output = user_path(v[0]); }},
  };
};

}  // namespace

Arguments parse_evaluate(const std::vector<std::string>& words, bool of_log) {
  return EvaluateParser().parse(words, of_log);
}

}  // namespace tally::cli
