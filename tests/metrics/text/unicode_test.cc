#include "tally/metrics/text/kernels/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tally/tests/testing/refusal.h"

namespace tally::internal::text {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TextPlace kPlace{"preds", 7};

// FNV-1a, as in tools/unicode_tables.py.
class Digest {
 public:
  void add(std::uint32_t value) { state_ = (state_ ^ value) * 0x100000001B3; }
  void add(const std::u32string& text) {
    for (const char32_t c : text) add(c);
  }
  std::string text() const { return std::to_string(state_); }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325;
};

bool is_surrogate(char32_t c) { return c >= 0xD800 && c < 0xE000; }

TEST(UnicodeTest, EveryCodePointIsAsInICU) {
  std::ifstream file("tests/reference/data/text/unicode.json");
  const auto expected = nlohmann::json::parse(file);
  Digest classes, spaces, digits, forms, lowered, sigmas;
  std::u32string context = U"?\u03A3 a\u03A3? a\u03A3?b a?\u03A3";
  int space_count = 0, word_count = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    classes.add(static_cast<std::uint32_t>(char_class(c)));
    spaces.add(is_space(c) ? 1 : 0);
    digits.add(is_decimal_digit(c) ? 1 : 0);
    const NormalForm form = normal_form(c);
    forms.add(2 * form.combining_class + (form.may_change ? 1 : 0));
    space_count += is_space(c);
    word_count += is_word_char(c);
    if (is_surrogate(c)) continue;
    lowered.add(lower({&c, 1}));
    lowered.add(0u);
    for (const std::size_t at : {0, 5, 9, 13}) context[at] = c;
    const std::u32string in_context = lower(context);
    for (std::uint32_t i = 0; i < in_context.size(); ++i) {
      if (in_context[i] == U'\u03C2') sigmas.add(i);
    }
  }
  EXPECT_EQ(expected.at("source"),
            std::string("ICU 72 (Unicode ") + kUnicodeVersion + ")");
  EXPECT_EQ(classes.text(), expected.at("char_class"));
  EXPECT_EQ(spaces.text(), expected.at("is_space"));
  EXPECT_EQ(digits.text(), expected.at("is_decimal_digit"));
  EXPECT_EQ(forms.text(), expected.at("normal_form"));
  EXPECT_EQ(lowered.text(), expected.at("lower"));
  EXPECT_EQ(sigmas.text(), expected.at("final_sigmas"));
  EXPECT_EQ(space_count, 29);
  EXPECT_EQ(word_count, 136104 + 1831 + 1);
}

TEST(UnicodeTest, LowerHasFullMappings) {
  EXPECT_EQ(lower(U"\u0130"), U"i\u0307");
  EXPECT_EQ(lower(U"\u212A"), U"k");
  EXPECT_EQ(lower(U"\u0391\u03A3.\u0391"), U"\u03B1\u03C3.\u03B1");
  EXPECT_EQ(lower(U"\u0391\u03A3 . \u0391"), U"\u03B1\u03C2 . \u03B1");
  EXPECT_EQ(lower(U"\u03A3"), U"\u03C3");
  EXPECT_EQ(lower(U"a\u0301\u03A3\u0301"), U"a\u0301\u03C2\u0301");
  EXPECT_EQ(lower(U"AbC\u00C9\U00010400"), U"abc\u00E9\U00010428");
  EXPECT_EQ(lower(U""), U"");
}

TEST(UnicodeTest, FindsWhatNfkcMayChange) {
  EXPECT_EQ(find_unnormalized(U"\u30C6\u30B9\u30C8 caf\u00E9."), 9u);
  EXPECT_EQ(find_unnormalized(U"a\u0301"), 1u);
  EXPECT_EQ(find_unnormalized(U"x\uFF21"), 1u);
  EXPECT_EQ(find_unnormalized(U"ab\uFF76\uFF9E"), 2u);
  EXPECT_EQ(find_unnormalized(U"x\u0349\u0348\u0315\u0349"), 4u);
  EXPECT_EQ(find_unnormalized(U""), 0u);
}

TEST(UnicodeTest, WordCharactersAreThoseOfPython) {
  EXPECT_TRUE(is_word_char(U'_') && is_word_char(U'\u00BD'));
  EXPECT_TRUE(is_word_char(U'\u4E00') && is_word_char(U'9'));
  EXPECT_FALSE(is_word_char(U'\u0301') || is_word_char(U'-'));
}

TEST(UnicodeTest, DecodesAndEncodesEveryCodePoint) {
  std::u32string all;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (!is_surrogate(c)) all.push_back(c);
  }
  const std::string bytes = encode_utf8(all);
  EXPECT_EQ(decode_utf8(bytes, kPlace), all);
  EXPECT_NO_THROW(check_utf8(bytes, kPlace));
  std::size_t at = 0;
  for (const char32_t c : all) ASSERT_EQ(next_code_point(bytes, at), c);
  std::u32string joined = U"x";
  decode_utf8("é", kPlace, joined);
  EXPECT_EQ(joined, U"x\u00E9");
}

TEST(UnicodeTest, WhatIsNotUtf8NamesSampleAndByte) {
  const auto refused = [](const std::string& text) {
    const std::string message = refusal_of([&] { decode_utf8(text, kPlace); });
    EXPECT_EQ(message, refusal_of([&] { check_utf8(text, kPlace); }));
    return message;
  };
  EXPECT_THAT(refused("caf\xE9 au lait"),
              HasSubstr("expected preds in UTF-8, got byte 0xE9 at byte 3 of "
                        "sample 7"));
  const std::string lead = "twelve bytes";
  for (const char* const bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x91",
        "\xE2\x28\xA1", "\xC3\x28"}) {
    EXPECT_THAT(refused(lead + bad), HasSubstr("at byte 12 of sample 7"));
    EXPECT_THAT(refused(lead + bad + lead), HasSubstr("at byte 12 of"));
  }
}

TEST(UnicodeTest, ATextThatIsRefusedLeavesTheOthers) {
  std::u32string out = U"ab";
  EXPECT_THROW(decode_utf8("cd\xFF", kPlace, out), c10::ValueError);
  EXPECT_EQ(out, U"ab");
}

TEST(UnicodeTest, SplitsAndStripsAsPython) {
  EXPECT_THAT(split(U" a\u00A0b\u3000\u2028c\x1F"
                    U"d\n"),
              ElementsAre(U"a", U"b", U"c", U"d"));
  EXPECT_THAT(split(U"a\u200B\uFEFFb"), ElementsAre(U"a\u200B\uFEFFb"));
  EXPECT_THAT(split(U" \t "), IsEmpty());
  EXPECT_EQ(strip(U"\u0085 a b \u1680"), U"a b");
  EXPECT_EQ(strip_end(U" a\r\n"), U" a");
  EXPECT_EQ(strip(U"\t"), U"");
}

}  // namespace
}  // namespace tally::internal::text
