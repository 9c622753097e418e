#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/cli/arguments.h"

/// The values of options. All throw c10::ValueError that names the option.
namespace tally::cli {

inline constexpr std::int64_t kMostRanks = 256;

std::int64_t parse_count(const std::string& option, const std::string& text,
                         std::int64_t least, std::int64_t most);
std::vector<std::int64_t> parse_split(const std::string& text);
Format parse_format(const std::string& text);
/// "skip", or with words that are missing, too: "skip:-,?".
void parse_missing(const std::string& text, files::CsvOptions& options);
char parse_decimal(const std::string& text);
files::Encoding parse_encoding(const std::string& text);
char parse_delimiter(const std::string& text);
/// "a,b", each item once and none empty; `what` is one of them.
std::vector<std::string> parse_list(const std::string& option, const char* what,
                                    const std::string& text);
double parse_level(const std::string& option, const std::string& text);
IntervalMethod parse_method(const std::string& text);

/// "3/20".
inline constexpr std::int64_t kMostParts = 1'000'000;
StatePart parse_part(const std::string& text);

/// Whether it is that of a file of JSON lines, compressed or not, or a folder
/// of such.
bool has_json_lines_name(const std::string& path);
bool has_archive_name(const std::string& path);
/// The same of CSV or TSV.
bool has_csv_name(const std::string& path);

/// The long name of the option if the word is one, else empty.
std::string option_name(const std::string& word);
/// The value of the option at words[i]: behind its =, or the next word, to
/// which `i` moves. `given`: the options so far, of which each is taken once.
std::string option_value(const std::vector<std::string>& words, std::size_t& i,
                         std::vector<std::string>& given);

}  // namespace tally::cli
