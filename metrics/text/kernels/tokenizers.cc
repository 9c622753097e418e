#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "tally/metrics/text/kernels/sentence_tokenizer.h"
#include "tally/metrics/text/kernels/tercom_tokenizer.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

struct Range {
  char32_t first, last;
};

template <std::size_t kCount>
bool is_in_any(const Range (&ranges)[kCount], char32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](const Range& r) {
    return c >= r.first && c <= r.last;
  });
}

// [\{-\~\[-\` -\&\(-\+\:-\@\/]: not ' , - and .
constexpr std::array<bool, 128> kSpaced = [] {
  std::array<bool, 128> spaced{};
  for (char c = 0x20; c <= 0x7E; ++c) {
    spaced[static_cast<std::size_t>(c)] =
        !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
        !(c >= 'a' && c <= 'z') && c != '\'' && c != ',' && c != '-' &&
        c != '.';
  }
  return spaced;
}();
bool is_spaced(char32_t c) { return c < 0x80 && kSpaced[c]; }

// As the program of sacrebleu 2.6.0 runs: its escapes of five digits are read
// as one of four and a digit, so that the planes beyond the first are missing,
// and 2001-2A6D is there instead.
bool is_chinese(char32_t c) {
  static constexpr Range kRanges[] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F},
      {0x31A0, 0x31EF}, {0x3200, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D},
      {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
      {0xFF00, 0xFFEF}};
  if (c < 0x2001) return false;
  return is_in_any(kRanges, c);
}

char32_t* put_spaced(char32_t c, char32_t* out) {
  *out++ = U' ';
  *out++ = c;
  *out++ = U' ';
  return out;
}

// Puts spaces on both sides of characters for which holds(c).
template <class Holds>
char32_t* space_all(std::u32string_view text, char32_t* out,
                    const Holds& holds) {
  for (const char32_t c : text) {
    if (holds(c)) {
      out = put_spaced(c, out);
    } else {
      *out++ = c;
    }
  }
  return out;
}

// Puts spaces on both sides of the first or the second of two neighbors for
// which holds(first, second): from left to right, none being in two pairs.
template <bool kFirst, class Holds>
char32_t* space_pairs(std::u32string_view text, char32_t* out,
                      const Holds& holds) {
  std::size_t i = 0;
  for (; i + 1 < text.size(); ++i) {
    const char32_t first = text[i], second = text[i + 1];
    if (!holds(first, second)) {
      *out++ = first;
    } else {
      if (kFirst) {
        out = put_spaced(first, out);
        *out++ = second;
      } else {
        *out++ = first;
        out = put_spaced(second, out);
      }
      ++i;
    }
  }
  if (i < text.size()) *out++ = text[i];
  return out;
}

}  // namespace

template <class Write>
void SentenceTokenizer::pass(const Write& write) {
  other_.resize(3 * text_.size());  // if spaces surround every character
  const char32_t* const end = write(text_, other_.data());
  other_.resize(static_cast<std::size_t>(end - other_.data()));
  text_.swap(other_);
}

void SentenceTokenizer::replace_all(std::u32string_view what,
                                    std::u32string_view by) {
  std::size_t found = text_.find(what);
  while (found != std::u32string::npos) {
    text_.replace(found, what.size(), by);
    found = text_.find(what, found + by.size());
  }
}

void SentenceTokenizer::unescape() {
  replace_all(U"<skipped>", U"");
  replace_all(U"-\n", U"");
  std::replace(text_.begin(), text_.end(), U'\n', U' ');
  if (text_.find(U'&') == std::u32string::npos) return;
  replace_all(U"&quot;", U"\"");
  replace_all(U"&amp;", U"&");
  replace_all(U"&lt;", U"<");
  replace_all(U"&gt;", U">");
}

void SentenceTokenizer::space_chinese() {
  pass([](std::u32string_view text, char32_t* out) {
    return space_all(strip(text), out, is_chinese);
  });
}

void SentenceTokenizer::split_western() {
  pass([](std::u32string_view text, char32_t* out) {
    return space_all(text, out, is_spaced);
  });
  pass([](std::u32string_view text, char32_t* out) {
    return space_pairs<false>(text, out, [](char32_t first, char32_t second) {
      return is_point(second) && !is_ascii_digit(first);
    });
  });
  pass([](std::u32string_view text, char32_t* out) {
    return space_pairs<true>(text, out, [](char32_t first, char32_t second) {
      return is_point(first) && !is_ascii_digit(second);
    });
  });
  pass([](std::u32string_view text, char32_t* out) {
    return space_pairs<false>(text, out, [](char32_t first, char32_t second) {
      return second == '-' && is_ascii_digit(first);
    });
  });
}

void SentenceTokenizer::split_international() {
  pass([](std::u32string_view text, char32_t* out) {
    return space_pairs<false>(text, out, [](char32_t first, char32_t second) {
      return char_class(second) == CharClass::kPunctuation &&
             char_class(first) != CharClass::kNumber;
    });
  });
  pass([](std::u32string_view text, char32_t* out) {
    return space_pairs<true>(text, out, [](char32_t first, char32_t second) {
      return char_class(first) == CharClass::kPunctuation &&
             char_class(second) != CharClass::kNumber;
    });
  });
  pass([](std::u32string_view text, char32_t* out) {
    return space_all(text, out, [](char32_t c) {
      return char_class(c) == CharClass::kSymbol;
    });
  });
}

void SentenceTokenizer::tokenize(std::u32string_view sentence,
                                 TokenizedSentence& out) {
  if (lowercase_) {
    text_ = lower(sentence);
    text_.resize(strip_end(text_).size());
  } else {
    text_.assign(strip_end(sentence));
  }
  if (kind_ == BleuTokenizer::k13a) {
    unescape();
    text_.insert(text_.begin(), U' ');
    text_ += U' ';
    split_western();
  } else if (kind_ == BleuTokenizer::kIntl) {
    split_international();
  } else if (kind_ == BleuTokenizer::kZh) {
    space_chinese();
    split_western();
  }
  out.text.swap(text_);
  out.tokens.clear();
  if (kind_ != BleuTokenizer::kChar) {
    split(out.text, out.tokens);
    return;
  }
  const std::u32string_view text = out.text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_space(text[i])) out.tokens.push_back(text.substr(i, 1));
  }
}

namespace {

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
void space_out_pairs(std::u32string& text, Spaced spaced,
                     const IsPair& is_pair) {
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
  space_out(text, [](char32_t c) { return is_in_any(kAsciiSymbols, c); });
  replace_all(text, U"'s ", U" 's ");
  space_out_pairs(text, Spaced::kSecond, [](char32_t a, char32_t b) {
    return is_point(b) && !is_ascii_digit(a);
  });
  space_out_pairs(text, Spaced::kFirst, [](char32_t a, char32_t b) {
    return is_point(a) && !is_ascii_digit(b);
  });
  space_out_pairs(text, Spaced::kSecond, [](char32_t a, char32_t b) {
    return b == '-' && is_ascii_digit(a);
  });
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
        return is_in_any(kIdeographs, c) || is_in_any(kAsianPunctuation, c);
      });
    }
  }
  if (rules.no_punctuation) {
    remove(text, [](char32_t c) {
      return std::u32string_view(U".,?:;!\"()").find(c) !=
             std::u32string_view::npos;
    });
    if (rules.asian_support) {
      remove(text, [](char32_t c) { return is_in_any(kAsianPunctuation, c); });
    }
  }
  return text;
}

}  // namespace tally::internal::text
