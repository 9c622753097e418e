#include "tally/cli/arguments.h"

#include <c10/util/Exception.h>

#include <sstream>

#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {

/// One word of the command line on each line.
void read_arguments(std::string_view bytes) {
  std::vector<std::string> words = {"tally"};
  std::istringstream lines{std::string(bytes)};
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  try {
    const cli::Arguments arguments =
        cli::parse_arguments(static_cast<int>(argv.size()), argv.data());
    require(arguments.ranks >= 0 && arguments.ranks <= 256 &&
                arguments.split.size() <= 256,
            "there are at most 256 ranks");
    require(arguments.batch_size >= 0, "a batch has rows");
    const bool evaluates = arguments.command == cli::Command::kEvaluate;
    require(!evaluates || arguments.metrics.empty() != arguments.config.empty(),
            "there is one list of metrics");
    const int kinds = !arguments.inputs.empty() + !arguments.csv.empty() +
                      !arguments.coco.empty() + !arguments.sets.empty();
    require(!evaluates || kinds == 1, "there is one kind of input");
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
