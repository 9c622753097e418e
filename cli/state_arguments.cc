#include <c10/util/Exception.h>

#include "tally/cli/argument_values.h"
#include "tally/cli/arguments.h"
#include "tally/metrics/common/did_you_mean.h"

namespace tally::cli {

Arguments parse_merge(const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.command = Command::kMerge;
  std::vector<std::string> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = option_name(words[i]);
    if (name.empty()) {
      arguments.states.push_back(user_path(words[i]));
    } else if (words[i] == "--partial") {
      arguments.is_partial = true;
    } else {
      TORCH_CHECK_VALUE(
          name == "--output", "merge: unknown option '", name, "'",
          internal::did_you_mean(name, {"--partial", "--output"}));
      arguments.output = user_path(option_value(words, i, given));
    }
  }
  TORCH_CHECK_VALUE(!arguments.states.empty(),
                    "merge: expected files of states, which evaluate writes "
                    "with --save, got none");
  TORCH_CHECK_VALUE(!arguments.output.empty(),
                    "merge: requires -o FILE, which is written");
  return arguments;
}

Arguments parse_show(const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.command = Command::kShow;
  std::vector<std::string> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = option_name(words[i]);
    if (name.empty()) {
      arguments.states.push_back(user_path(words[i]));
      continue;
    }
    TORCH_CHECK_VALUE(
        name == "--format" || name == "--labels" || name == "--output",
        "show: unknown option '", name, "'",
        internal::did_you_mean(name, {"--format", "--labels", "--output"}));
    const std::string value = option_value(words, i, given);
    if (name == "--format") {
      arguments.format = parse_format(value);
    } else if (name == "--labels") {
      arguments.csv_options.labels = parse_list(name, "name", value);
    } else {
      arguments.output = user_path(value);
    }
  }
  TORCH_CHECK_VALUE(arguments.states.size() == 1,
                    "show: expected one file of states, got ",
                    arguments.states.size());
  return arguments;
}

StatePart parse_part(const std::string& text) {
  const std::size_t slash = text.find('/');
  TORCH_CHECK_VALUE(slash != text.npos,
                    "--part: expected I/N, such as 0/20, got '", text, "'");
  StatePart part;
  part.count = parse_count("--part", text.substr(slash + 1), 1, kMostParts);
  part.index = parse_count("--part", text.substr(0, slash), 0, part.count - 1);
  return part;
}

}  // namespace tally::cli
