#include "tally/metrics/common/json_fault.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace tally::internal {
namespace {

constexpr std::size_t kBefore = 10;  // bytes that are shown
constexpr std::size_t kBehind = 16;

bool says(const std::exception& error, std::string_view words) {
  return std::string_view(error.what()).find(words) != std::string_view::npos;
}

bool begins(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word;
}

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)); }

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)); }

/// A piece of the text in quotes, with ? for what is not ASCII or printed.
std::string shown(std::string_view text) {
  std::string piece = "'";
  for (const char c : text) piece += c < ' ' || c > '~' ? '?' : c;
  return piece + "'";
}

/// The word that begins at most its length in front of `at`: the parser stops
/// within it.
std::string_view word_at(std::string_view text, std::size_t at) {
  for (const std::string_view word :
       {"-Infinity", "Infinity", "NaN", "True", "False", "None"}) {
    const std::size_t first = at < word.size() ? 0 : at - word.size();
    const std::size_t found = text.find(word, first);
    if (found <= at) return text.substr(found, word.size());
  }
  return {};
}

/// " as 'score'", the key in front of a value, or of the list that it is in;
/// empty without one.
std::string key_of(std::string_view text, std::size_t value) {
  const std::size_t colon = text.rfind(':', value);
  if (colon == text.npos ||
      text.substr(colon, value - colon).find_first_of("{}\"") != text.npos) {
    return "";
  }
  std::size_t end = colon;
  while (end > 0 && is_blank(text[end - 1])) --end;
  if (end < 2 || text[end - 1] != '"') return "";
  const std::size_t first = text.rfind('"', end - 2);
  return first == text.npos
             ? ""
             : " as " + shown(text.substr(first + 1, end - first - 2));
}

const char* python_word(std::string_view word) {
  return word == "True" ? "true" : word == "False" ? "false" : "null";
}

}  // namespace

std::string JsonFault::words() const {
  const std::size_t at = byte == 0 ? 0 : byte - 1 - begin;
  if (says(error, "missing closing quote") || says(error, "U+000A") ||
      says(error, "U+000D")) {
    return "a text without its closing \"";
  }
  if (at >= text.size()) return "an end that comes too early";
  if (says(error, "must be escaped")) {
    return "a control character in a text, such as a tab; JSON writes it \\t";
  }
  const std::string_view rest = text.substr(at);
  if (const std::string_view word = word_at(text, at); !word.empty()) {
    const auto place = static_cast<std::size_t>(word.data() - text.data());
    const std::string found = std::string(word) + key_of(text, place);
    const bool is_number = word.back() == 'y' || word == "NaN";
    return is_number ? found + ", which JSON does not have"
                     : found + ", which JSON writes " + python_word(word);
  }
  const std::string where =
      " at byte " + std::to_string(byte) + " (" +
      shown(text.substr(at - std::min(at, kBefore),
                        std::min(at, kBefore) + kBehind)) +
      ")";
  if (says(error, "expected end of input")) {
    return "more behind the end of a value" + where;
  }
  std::size_t before = at;
  while (before > 0 && is_letter(text[before - 1])) --before;
  const bool is_word = is_letter(rest[0]);
  if (!is_word) before = at;
  while (before > 0 && is_blank(text[before - 1])) --before;
  const char last = before == 0 ? '\0' : text[before - 1];
  if (last == ',' && (rest[0] == '}' || rest[0] == ']')) {
    return std::string("a comma in front of ") + rest[0] + where;
  }
  if (last == ',' && rest[0] == ',') return "two commas" + where;
  if (begins(rest, "'")) return "' in place of \"" + where;
  if (last == '"' && (is_word || rest[0] == ':')) {
    return "a text that lacks a \", or has one without \\ in front" + where;
  }
  if (last == '}' || says(error, "expected ',' or") ||
      says(error, "expected '}'") || says(error, "expected ']'")) {
    return "no comma between values" + where;
  }
  return "something else" + where;
}

std::string json_overflow(const std::exception& error) {
  const std::string what = error.what();
  const std::size_t begin = what.find('\'') + 1;
  return "the number " + what.substr(begin, what.rfind('\'') - begin) +
         ", which is too large";
}

std::string json_place(const std::exception& error) {
  const std::string what = error.what();
  const std::size_t begin = what.find("line ");
  return what.substr(begin, what.find(':', begin) - begin);
}

std::string json_words(const std::exception& error) {
  const std::string what = error.what();
  const std::size_t begin = what.find("] ");
  return begin == what.npos ? what : what.substr(begin + 2);
}

}  // namespace tally::internal
