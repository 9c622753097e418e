#include <c10/util/Exception.h>

#include "tally/cli/arguments.h"

namespace tally::cli {

Arguments parse_report(const std::vector<std::string>& words) {
  std::vector<std::string> others;
  std::string log, title;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    TORCH_CHECK_VALUE(name != "--format",
                      "--format: report writes HTML; see evaluate");
    if (name != "--log" && name != "--title") {
      others.push_back(words[i]);
      continue;
    }
    std::string& value = name == "--log" ? log : title;
    TORCH_CHECK_VALUE(value.empty(), name, ": given twice");
    if (name != words[i]) {
      value = words[i].substr(name.size() + 1);
    } else if (i + 1 < words.size() &&
               (words[i + 1][0] != '-' || words[i + 1] == "-")) {
      value = words[++i];
    }
    TORCH_CHECK_VALUE(!value.empty(), name, ": expected a value, got none");
  }
  Arguments arguments = parse_evaluate(others, /*of_log=*/!log.empty());
  if (!log.empty()) arguments.log = user_path(log);
  arguments.command = Command::kReport;
  arguments.title = title;
  return arguments;
}

}  // namespace tally::cli
