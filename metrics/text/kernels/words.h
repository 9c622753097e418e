#pragma once

#include <string_view>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally {

/// Where words end.
enum class WordSplit {
  /// At a space (U+0020) and at two or more characters of white space in a
  /// row: another one alone, such as a tab, belongs to the word. As in jiwer.
  kSpace,
  /// At any white space: str.split() of Python. As in TorchMetrics.
  kWhitespace,
};

template <>
struct EnumNames<WordSplit> {
  static constexpr const char* kNames[] = {"space", "whitespace"};
};

namespace internal::text {

/// The words of a text in UTF-8, in place of what `words` held; parts of the
/// text. White space at its ends is in none. Throws as decode_utf8 does.
void split_words(std::string_view text, WordSplit split, const TextPlace& place,
                 std::vector<std::string_view>& words);

}  // namespace internal::text
}  // namespace tally
