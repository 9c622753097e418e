#include "tally/cli/messages.h"

#include <regex>

#include "tally/metrics/registry/search.h"

namespace tally::cli {
namespace {

struct Wording {
  const char* pattern;
  const char* words;
};

constexpr Wording kWordings[] = {
    // The metric's name twice: as a member, and by itself.
    {"\\b(\\w+): \\1\\b", "$1"},
    {"\\bIntervalMetric: ", "--interval: "},
    {"\\bSlicedMetric: ", "--by: "},
    {"\\bSliceComparison: ", ""},  // behind what is not compared
    {"\\bcompare groups with SliceComparison\\b", "compare groups with --by"},
    {"\\b(need|use) grouped\\b", "$1 --groups"},
    {"\\bfor grouped rows\\b", "with --groups"},
    {"\\bexpected method ", "expected --interval-method "},
    {"\\buse method ", "use --interval-method "},
    {" \\(max_slices\\)", ""},
    {" \\(calibration_plot\\)", " (tally report)"},
};

/// "Dice" of "DiceLoss".
std::string without_loss(const std::string& name) {
  const std::size_t end = name.rfind("Loss");
  return end == name.npos || end == 0 ? name : name.substr(0, end);
}

}  // namespace

std::string option_words(std::string message) {
  for (const auto& [pattern, words] : kWordings) {
    message = std::regex_replace(message, std::regex(pattern), words);
  }
  return message;
}

std::string program_message(
    const std::string& message,
    const std::map<std::string, losses::LossEntry>& losses) {
  static const std::regex kUnknown("unknown metric '(\\w+)'");
  std::smatch found;
  const bool is_loss = std::regex_search(message, found, kUnknown) &&
                       losses.count(found[1].str()) != 0;
  if (!is_loss) return option_words(message);
  const std::string name = found[1].str();
  MetricSearch search({without_loss(name)});
  search.add(builtin_registry());
  return found.prefix().str() + "expected a metric, got the loss '" + name +
         "', which a program trains with (tally describe " + name + ")" +
         search.suggestion();
}

}  // namespace tally::cli
