#include "tally/metrics/text/kernels/tercom_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t kCount>
bool is_in(const Range (&ranges)[kCount], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](const Range& r) {
    return c >= r.first && c <= r.last;
  });
}

// Not ' , - and .
constexpr Range kAsciiSymbols[] = {{' ', '&'}, {'(', '+'}, {'/', '/'},
                                   {':', '@'}, {'[', '`'}, {'{', '~'}};
// 3200-3F22 where the block ends at 32FF.
constexpr Range kIdeographs[] = {
    {0x2E80, 0x2EFF}, {0x31C0, 0x31EF}, {0x3200, 0x3F22}, {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};
constexpr Range kAsianPunctuation[] = {
    {0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F}, {0x30FB, 0x30FB},
    {0xFF01, 0xFF02}, {0xFF08, 0xFF09}, {0xFF0C, 0xFF0C}, {0xFF0E, 0xFF0E},
    {0xFF1A, 0xFF1B}, {0xFF1F, 0xFF1F}, {0xFF61, 0xFF65}};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_point(char32_t c) { return c == '.' || c == ','; }

void replace_all(std::u32string& text, std::u32string_view what,
                 std::u32string_view by) {
  std::u32string made;
  std::size_t begin = 0;
  std::size_t found;
  while ((found = text.find(what, begin)) != std::u32string::npos) {
    made.append(text, begin, found - begin).append(by);
    begin = found + what.size();
  }
  if (begin > 0) text = made.append(text, begin, std::u32string::npos);
}

// Puts spaces around the characters for which is_spaced(character) holds.
template <class IsSpaced>
void space_out(std::u32string& text, const IsSpaced& is_spaced) {
  std::u32string made;
  for (const char32_t c : text) {
    if (is_spaced(c)) {
      made.append({U' ', c, U' '});
    } else {
      made += c;
    }
  }
  text.swap(made);
}

// Puts spaces around one of two neighbors for which is_pair(first, second)
// holds, from left to right; none belongs to two pairs.
enum class Spaced { kFirst, kSecond };
template <class IsPair>
void space_pairs(std::u32string& text, Spaced spaced, const IsPair& is_pair) {
  std::u32string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !is_pair(text[i], text[i + 1])) {
      made += text[i];
      continue;
    }
    const char32_t first = text[i];
    const char32_t second = text[++i];
    if (spaced == Spaced::kFirst) {
      made.append({U' ', first, U' ', second});
    } else {
      made.append({first, U' ', second, U' '});
    }
  }
  text.swap(made);
}

void normalize(std::u32string& text) {
  replace_all(text, U"\n-", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  text.insert(text.begin(), U' ');
  text += U' ';
  space_out(text, [](char32_t c) { return is_in(kAsciiSymbols, c); });
  replace_all(text, U"'s ", U" 's ");
  space_pairs(text, Spaced::kSecond, [](char32_t a, char32_t b) {
    return is_point(b) && !is_digit(a);
  });
  space_pairs(text, Spaced::kFirst, [](char32_t a, char32_t b) {
    return is_point(a) && !is_digit(b);
  });
  space_pairs(text, Spaced::kSecond,
              [](char32_t a, char32_t b) { return b == '-' && is_digit(a); });
}

template <class IsGone>
void remove(std::u32string& text, const IsGone& is_gone) {
  text.erase(std::remove_if(text.begin(), text.end(), is_gone), text.end());
}

}  // namespace

std::u32string tercom_normalized(std::u32string_view sentence,
                                 const TercomRules& rules) {
  std::u32string text(strip_end(sentence));
  if (rules.lowercase) text = lower(text);
  if (rules.normalize && !text.empty()) {
    normalize(text);
    if (rules.asian_support) {
      space_out(text, [](char32_t c) {
        return is_in(kIdeographs, c) || is_in(kAsianPunctuation, c);
      });
    }
  }
  if (rules.no_punctuation) {
    remove(text, [](char32_t c) {
      return std::u32string_view(U".,?:;!\"()").find(c) !=
             std::u32string_view::npos;
    });
    if (rules.asian_support) {
      remove(text, [](char32_t c) { return is_in(kAsianPunctuation, c); });
    }
  }
  return text;
}

}  // namespace tally::internal::text
