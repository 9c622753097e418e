#include "tally/metrics/text/kernels/text_notes.h"

#include <algorithm>
#include <iterator>

#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

// Letters of scripts that put no spaces between words.
bool is_unspaced(char32_t c) {
  static constexpr struct {
    char32_t first, last;
  } kRanges[] = {
      {0x0E01, 0x0EDF},    // Thai, Lao
      {0x1000, 0x109F},    // Burmese
      {0x1780, 0x17B3},    // Khmer
      {0x3041, 0x30FF},    // Hiragana, Katakana
      {0x3400, 0x4DBF},    // ideographs
      {0x4E00, 0x9FFF},    // ideographs
      {0xF900, 0xFAFF},    // ideographs
      {0x20000, 0x3FFFF},  // ideographs
  };
  return c >= kRanges[0].first &&
         std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) {
                       return c >= range.first && c <= range.last;
                     });
}

}  // namespace

bool has_letters(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CharClass found = char_class(next_code_point(text, at));
    if (found == CharClass::kLetter || found == CharClass::kNumber) return true;
  }
  return false;
}

bool is_unsplit(std::string_view text, std::size_t tokens) {
  if (tokens != 1) return false;
  std::size_t letters = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_unspaced(next_code_point(text, at)) && ++letters == 2) return true;
  }
  return false;
}

}  // namespace tally::internal::text
