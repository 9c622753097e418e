#include "tally/cli/argument_values.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>

#include "tally/metrics/options.h"
#include "tally/state/parse_number.h"

namespace tally::cli {
namespace {

constexpr const char* kFormats[] = {"table", "json", "csv"};
constexpr const char* kMissing[] = {"error", "skip", "nan"};

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

Missing parse_missing(const std::string& text) {
  const auto* found = std::find(std::begin(kMissing), std::end(kMissing), text);
  TORCH_CHECK_VALUE(found != std::end(kMissing),
                    "--missing: expected error, skip or nan, got '", text, "'");
  return static_cast<Missing>(found - kMissing);
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
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    TORCH_CHECK_VALUE(!item.empty() && std::find(list.begin(), list.end(),
                                                 item) == list.end(),
                      option, ": expected each ", what, " once, got '", item,
                      "'", item.empty() ? "" : " twice");
    list.push_back(item);
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
  return word.rfind("--", 0) == 0 ? word.substr(0, word.find('=')) : "";
}

}  // namespace tally::cli
