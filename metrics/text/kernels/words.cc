#include "tally/metrics/text/kernels/words.h"

#include <cstddef>

namespace tally::internal::text {
namespace {

// Past the white space at `at`; counts its characters.
std::size_t skip_spaces(std::string_view text, std::size_t at,
                        std::size_t& count) {
  for (count = 0; at < text.size(); ++count) {
    std::size_t next = at;
    if (!is_space(next_code_point(text, next))) break;
    at = next;
  }
  return at;
}

// The first byte at which white space may stand: one that is below '!' or not
// ASCII.
std::size_t skip_graphic(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] > ' ') ++at;
  return at;
}

}  // namespace

void split_words(std::string_view text, WordSplit split, const TextPlace& place,
                 std::vector<std::string_view>& words) {
  check_utf8(text, place);
  words.clear();
  std::size_t spaces;
  std::size_t begin = skip_spaces(text, 0, spaces);
  std::size_t at = begin;
  while (begin < text.size()) {
    at = skip_graphic(text, at);
    const std::size_t end = at;
    if (end + 1 < text.size() && text[end] == ' ' && text[end + 1] > ' ') {
      words.push_back(text.substr(begin, end - begin));
      begin = at = end + 1;
      continue;
    }
    at = skip_spaces(text, at, spaces);
    if (spaces == 0 && at < text.size()) {
      next_code_point(text, at);
      continue;
    }
    const bool is_part = split == WordSplit::kSpace && spaces == 1 &&
                         at < text.size() && text[end] != ' ';
    if (is_part) continue;
    words.push_back(text.substr(begin, end - begin));
    begin = at;
  }
}

}  // namespace tally::internal::text
