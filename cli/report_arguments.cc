#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/cli/arguments.h"

namespace tally::cli {
namespace {

constexpr std::size_t kMostLogs = 8;  // curves that a chart tells apart

}  // namespace

Arguments parse_report(const std::vector<std::string>& words) {
  std::vector<std::string> others;
  std::vector<std::string> logs;
  std::string title;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    TORCH_CHECK_VALUE(name != "--format",
                      "--format: report writes HTML; see evaluate");
    TORCH_CHECK_VALUE(name != "--replicates",
                      "--replicates: not written by report; see evaluate");
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

}  // namespace tally::cli
