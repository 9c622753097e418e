#include "tally/metrics/text/kernels/unicode.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>

#include "tally/metrics/text/kernels/unicode_tables.h"

namespace tally::internal::text {
namespace {

constexpr std::size_t kCodePoints = 0x110000;
constexpr std::uint8_t kClass = 7;
constexpr std::uint8_t kCased = 8;
constexpr std::uint8_t kCaseIgnorable = 16;
constexpr std::uint8_t kHasLower = 32;

constexpr char32_t kCapitalDottedI = 0x130;
constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;

// A byte for each code point.
using Properties = std::vector<std::uint8_t>;

Properties make_properties() {
  Properties table(kCodePoints);
  std::size_t at = 0;
  for (std::size_t i = 0; i < kClassRunsSize; ++i) {
    const std::size_t length = kClassRuns[i] / 8;
    std::fill_n(table.begin() + at, length, kClassRuns[i] % 8);
    at += length;
  }
  at = 0;
  for (std::size_t i = 0; i < kCaseRunsSize; ++i) {
    const std::size_t end = at + kCaseRuns[i] / 4;
    const std::uint8_t flags = kCaseRuns[i] % 4 * kCased;
    for (; flags != 0 && at < end; ++at) table[at] |= flags;
    at = end;
  }
  for (std::size_t i = 0; i < kLowerRangesSize; ++i) {
    const LowerRange& range = kLowerRanges[i];
    for (int c = range.first; c <= range.last; c += range.step) {
      table[c] |= kHasLower;
    }
  }
  table[kCapitalDottedI] |= kHasLower;
  return table;
}

// A number for each code point, of runs of length * scale + number.
std::vector<std::uint16_t> unpacked(const std::uint32_t* runs,
                                    std::size_t count, std::uint32_t scale) {
  std::vector<std::uint16_t> table;
  table.reserve(kCodePoints);
  for (std::size_t i = 0; i < count; ++i) {
    table.insert(table.end(), runs[i] / scale,
                 static_cast<std::uint16_t>(runs[i] % scale));
  }
  return table;
}

const std::uint8_t* properties() {
  static const Properties table = make_properties();
  return table.data();
}

// REQUIRES: it has one, of one code point.
char32_t lower_of(char32_t c) {
  const auto* const end = kLowerRanges + kLowerRangesSize;
  // Ranges with a step overlap others by their ends.
  const auto* range = std::upper_bound(
      kLowerRanges, end, static_cast<std::int32_t>(c),
      [](std::int32_t at, const LowerRange& r) { return at < r.first; });
  do {
    --range;
  } while (static_cast<std::int32_t>(c) > range->last ||
           (static_cast<std::int32_t>(c) - range->first) % range->step != 0);
  return c + range->distance;
}

// Whether a letter that has case stands at `at`, or beyond what casing ignores.
template <int kStep>
bool is_cased_beyond(std::u32string_view text, std::ptrdiff_t at) {
  const std::uint8_t* const table = properties();
  for (; at >= 0 && at < static_cast<std::ptrdiff_t>(text.size());
       at += kStep) {
    const std::uint8_t found = table[text[at]];
    if ((found & kCaseIgnorable) == 0) return (found & kCased) != 0;
  }
  return false;
}

bool is_final(std::u32string_view text, std::size_t sigma) {
  const auto at = static_cast<std::ptrdiff_t>(sigma);
  return is_cased_beyond<-1>(text, at - 1) && !is_cased_beyond<1>(text, at + 1);
}

[[noreturn]] void refuse(std::string_view text, std::size_t at,
                         const TextPlace& place) {
  TORCH_CHECK_VALUE(false, "expected ", place.input, " in UTF-8, got ",
                    byte_words(text[at]), " at byte ", at, " of sample ",
                    place.sample);
}

// How many bytes the code point takes that starts at `at`, and which it is; 0
// if there is none.
std::size_t code_point_at(std::string_view text, std::size_t at, char32_t& c) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return at + i < text.size() ? static_cast<std::uint8_t>(text[at + i]) : 0;
  };
  const auto continues = [&](std::size_t i) {
    return (byte(i) & 0xC0) == 0x80;
  };
  const char32_t first = byte(0);
  c = first;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !continues(1)) return 0;
  if (first < 0xE0) {
    c = (first & 0x1F) << 6 | (byte(1) & 0x3F);
    return 2;
  }
  if (!continues(2)) return 0;
  if (first < 0xF0) {
    c = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    return c < 0x800 || (c >= 0xD800 && c < 0xE000) ? 0 : 3;
  }
  c = (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
      (byte(3) & 0x3F);
  return !continues(3) || c < 0x10000 || c >= kCodePoints ? 0 : 4;
}

// Calls `take` with each code point.
template <class Take>
void for_each_code_point(std::string_view text, const TextPlace& place,
                         const Take& take) {
  std::size_t at = 0;
  while (at < text.size()) {
    char32_t c;
    const std::size_t bytes = code_point_at(text, at, c);
    if (bytes == 0) refuse(text, at, place);
    take(c);
    at += bytes;
  }
}

// How many bytes at the start are ASCII, of multiples of 8.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, text.data() + at, 8);
    if ((bytes & 0x8080808080808080) != 0) break;
  }
  return at;
}

}  // namespace

void decode_utf8(std::string_view text, const TextPlace& place,
                 std::u32string& out) {
  // As if all were ASCII.
  const std::size_t begin = out.size();
  out.resize(begin + text.size());
  char32_t* end = out.data() + begin;
  try {
    for_each_code_point(text, place, [&](char32_t c) { *end++ = c; });
  } catch (...) {
    out.resize(begin);
    throw;
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
}

std::u32string decode_utf8(std::string_view text, const TextPlace& place) {
  std::u32string out;
  decode_utf8(text, place, out);
  return out;
}

void check_utf8(std::string_view text, const TextPlace& place) {
  const std::size_t at = find_invalid_utf8(text);
  if (at < text.size()) refuse(text, at, place);
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while ((at += ascii_prefix(text.substr(at))) < text.size()) {
    char32_t c;
    const std::size_t bytes = code_point_at(text, at, c);
    if (bytes == 0) return at;
    at += bytes;
  }
  return text.size();
}

std::string byte_words(char byte) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  const auto number = static_cast<std::uint8_t>(byte);
  return std::string("byte 0x") + kDigits[number / 16] + kDigits[number % 16];
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto tail = [&](char32_t bits) {
    out.push_back(static_cast<char>(0x80 | (bits & 0x3F)));
  };
  for (const char32_t c : text) {
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out.push_back(static_cast<char>(0xC0 | c >> 6));
      tail(c);
    } else if (c < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | c >> 12));
      tail(c >> 6);
      tail(c);
    } else {
      out.push_back(static_cast<char>(0xF0 | c >> 18));
      tail(c >> 12);
      tail(c >> 6);
      tail(c);
    }
  }
  return out;
}

char32_t next_code_point(std::string_view text, std::size_t& at) {
  char32_t c;
  at += code_point_at(text, at, c);
  return c;
}

CharClass char_class(char32_t c) {
  return static_cast<CharClass>(properties()[c] & kClass);
}

bool is_word_char(char32_t c) {
  const CharClass found = char_class(c);
  return found == CharClass::kLetter || found == CharClass::kNumber || c == '_';
}

bool is_decimal_digit(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const auto* const end = kDecimalDigits + kDecimalDigitsSize;
  const auto* const next = std::upper_bound(kDecimalDigits, end, c);
  return c < next[-1] + 10;
}

NormalForm normal_form(char32_t c) {
  static const std::vector<std::uint16_t> table =
      unpacked(kNormalRuns, kNormalRunsSize, 512);
  return {static_cast<std::uint8_t>(table[c] / 2), table[c] % 2 != 0};
}

std::size_t find_unnormalized(std::u32string_view text) {
  std::uint8_t before = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const NormalForm form = normal_form(text[i]);
    // Marks stand in the order of their classes.
    const bool is_late =
        form.combining_class != 0 && form.combining_class < before;
    if (form.may_change || is_late) return i;
    before = form.combining_class;
  }
  return text.size();
}

std::u32string lower(std::u32string_view text) {
  const std::uint8_t* const table = properties();
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    if (c < 0x80) {
      out.push_back(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    } else if ((table[c] & kHasLower) == 0) {
      out.push_back(c);
    } else if (c == kCapitalDottedI) {
      out.append(U"i\u0307");
    } else if (c == kCapitalSigma && is_final(text, i)) {
      out.push_back(kFinalSigma);
    } else {
      out.push_back(lower_of(c));
    }
  }
  return out;
}

std::u32string_view strip_end(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string_view strip(std::u32string_view text) {
  text = strip_end(text);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

void split(std::u32string_view text, std::vector<std::u32string_view>& out) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && !is_space(text[i])) continue;
    if (i > begin) out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
}

std::vector<std::u32string_view> split(std::u32string_view text) {
  std::vector<std::u32string_view> out;
  split(text, out);
  return out;
}

}  // namespace tally::internal::text
