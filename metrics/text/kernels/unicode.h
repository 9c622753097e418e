#pragma once

#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Unicode by tables of our own: results do not depend on a library that is
/// installed. tools/unicode_tables.py writes them from ICU 72.
namespace tally::internal::text {

/// That of the tables.
inline constexpr const char* kUnicodeVersion = "15.0";

/// Where a text stands, for error messages.
struct TextPlace {
  const char* input;
  std::size_t sample;
};

/// Appends the code points of a text in UTF-8. Throws c10::ValueError, naming
/// the sample and the byte, for what is not UTF-8; surrogates, overlong forms
/// and numbers above 10FFFF are not.
void decode_utf8(std::string_view text, const TextPlace& place,
                 std::u32string& out);
std::u32string decode_utf8(std::string_view text, const TextPlace& place);
/// Throws as decode_utf8 does.
void check_utf8(std::string_view text, const TextPlace& place);
/// The first byte that is not UTF-8; the size of the text if all is.
std::size_t find_invalid_utf8(std::string_view text);
/// "byte 0xFF".
std::string byte_words(char byte);
/// REQUIRES: none of them is a surrogate or above 10FFFF.
std::string encode_utf8(std::u32string_view text);

/// The code point at `at` of valid UTF-8, and moves `at` behind it.
char32_t next_code_point(std::string_view text, std::size_t& at);

/// General categories by their first letter: L, N, P, S, M.
enum class CharClass : std::uint8_t {
  kOther,
  kLetter,
  kNumber,
  kPunctuation,
  kSymbol,
  kMark
};
CharClass char_class(char32_t c);

/// The 29 code points at which Python's str.split() splits, and which its
/// strip() and the `\s` of its regular expressions know.
inline bool is_space(char32_t c) {
  if (c < 0x80) return c == 0x20 || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
  if (c < 0x1680) return c == 0x85 || c == 0xA0;
  return (c >= 0x2000 && c <= 0x200A) || c == 0x1680 || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/// Whether `\w` of Python's regular expressions matches: letters, numbers and
/// '_', but no marks.
bool is_word_char(char32_t c);

/// Whether `\d` matches: decimal digits of all scripts.
bool is_decimal_digit(char32_t c);

/// 0 to 9.
inline bool is_ascii_digit(char32_t c) { return c >= '0' && c <= '9'; }
/// What stands in numbers.
inline bool is_point(char32_t c) { return c == '.' || c == ','; }

/// How a code point behaves in Unicode's normalization form NFKC.
struct NormalForm {
  std::uint8_t combining_class;
  /// Whether NFKC may replace it, or join it with one before.
  bool may_change;
};
NormalForm normal_form(char32_t c);
/// The first place at which a text may not be in the form NFKC; its size if it
/// is. A mark that may be joined with the character before is such a place,
/// whatever that is.
std::size_t find_unnormalized(std::u32string_view text);

/// In lower case, of no language: U+0130 becomes two code points, and a sigma
/// at the end of a word the final one.
std::u32string lower(std::u32string_view text);

/// Without white space at both ends, and at the end.
std::u32string_view strip(std::u32string_view text);
std::u32string_view strip_end(std::u32string_view text);

/// Appends what stands between white space; never an empty piece.
void split(std::u32string_view text, std::vector<std::u32string_view>& out);
std::vector<std::u32string_view> split(std::u32string_view text);

}  // namespace tally::internal::text
