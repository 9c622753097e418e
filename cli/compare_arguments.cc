#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/cli/argument_values.h"
#include "tally/cli/arguments.h"
#include "tally/cli/input_file.h"
#include "tally/metrics/nearest.h"

namespace tally::cli {

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
    TORCH_CHECK_VALUE(
        std::find(given.begin(), given.end(), name) == given.end(), name,
        ": given twice");
    given.push_back(name);
    const std::size_t equals = words[i].find('=');
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && option_name(words[i + 1]).empty()) {
      value = words[++i];
    }
    TORCH_CHECK_VALUE(!value.empty(), name, ": expected a value, got none");
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
                               std::string(kStandardInput)) < 2,
                    "compare: expected - once, got it 2 times");
  return arguments;
}

}  // namespace tally::cli
