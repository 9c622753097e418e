#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tally/metrics/text/kernels/common_subsequence.h"
#include "tally/metrics/text/kernels/ngram_counts.h"
#include "tally/metrics/text/kernels/porter_stemmer.h"
#include "tally/metrics/text/kernels/sentence_tokenizer.h"
#include "tally/metrics/text/kernels/unicode.h"

namespace tally::internal::text {
namespace {

using ::testing::ElementsAre;
using Symbols = std::vector<std::uint32_t>;

nlohmann::json read(const std::string& name) {
  std::ifstream file("tests/reference/data/text/" + name + ".json");
  return nlohmann::json::parse(file);
}

TEST(SentenceTokenizerTest, TokensAreThoseOfSacrebleu) {
  const auto reference = read("bleu_tokens");
  const auto& names = EnumNames<BleuTokenizer>::kNames;
  for (const auto& one : reference.at("cases")) {
    const std::string text = one.at("text");
    const std::u32string decoded = decode_utf8(text, {"preds", 0});
    for (std::size_t kind = 0; kind < std::size(names); ++kind) {
      SentenceTokenizer tokenizer(static_cast<BleuTokenizer>(kind),
                                  one.at("lowercase"));
      TokenizedSentence sentence;
      tokenizer.tokenize(decoded, sentence);
      std::vector<std::string> tokens;
      for (const auto token : sentence.tokens) {
        tokens.push_back(encode_utf8(token));
      }
      EXPECT_EQ(tokens, one.at("tokens").at(names[kind])) << text;
    }
  }
}

// Those that run, not those that its source means.
TEST(SentenceTokenizerTest, ZhTakesTheRangesOfSacrebleu) {
  const auto reference = read("bleu_tokens");
  const auto& ranges = reference.at("alone_in_zh");
  SentenceTokenizer tokenizer(BleuTokenizer::kZh, /*lowercase=*/false);
  auto range = ranges.begin();
  for (char32_t c = 0; c < 0x10000; ++c) {
    if (c == 0xD800) c = 0xE000;  // no characters
    if (range != ranges.end() && range->at(1) < c) ++range;
    const bool is_alone = range != ranges.end() && range->at(0) <= c;
    TokenizedSentence sentence;
    const std::u32string text = {U'a', c, U'b'};
    tokenizer.tokenize(text, sentence);
    ASSERT_EQ(sentence.tokens.size() == 3, is_alone)
        << std::hex << static_cast<std::uint32_t>(c);
  }
}

TEST(PorterStemmerTest, StemsAreThoseOfNLTK) {
  const auto reference = read("stems");
  for (const auto& [word, stem] : reference.at("stems").items()) {
    std::string stemmed = word;
    porter_stem(stemmed);
    EXPECT_EQ(stemmed, stem.get<std::string>()) << word;
  }
}

TEST(NgramCountsTest, AMatchUsesUpAReferencesNgram) {
  NgramCounts counts;
  counts.add_reference(Symbols{1, 1, 2, 1, 2}, 3);
  std::vector<std::int64_t> matches(3);
  counts.match(Symbols{1, 2, 1, 1, 1, 7}, 3, matches.data());
  EXPECT_THAT(matches, ElementsAre(4, 3, 1));
  counts.clear();
  counts.match(Symbols{1, 2}, 3, matches.data());
  EXPECT_THAT(matches, ElementsAre(4, 3, 1));
}

TEST(NgramCountsTest, SeveralReferencesCountByTheMostOfOne) {
  NgramCounts counts;
  counts.add_reference(Symbols{1, 1, 2}, 1);
  counts.add_reference(Symbols{1, 2, 2, 2}, 1);
  std::vector<std::int64_t> matches(1);
  counts.match(Symbols{1, 1, 1, 2, 2, 2, 2}, 1, matches.data());
  EXPECT_THAT(matches, ElementsAre(2 + 3));
}

// The table of all pairs, and rouge-score's way back through it.
struct Table {
  Table(const Symbols& reference, const Symbols& other)
      : hit(reference.size()) {
    const std::size_t rows = reference.size() + 1, columns = other.size() + 1;
    std::vector<std::vector<std::int64_t>> t(
        rows, std::vector<std::int64_t>(columns));
    for (std::size_t i = 1; i < rows; ++i) {
      for (std::size_t j = 1; j < columns; ++j) {
        t[i][j] = reference[i - 1] == other[j - 1]
                      ? t[i - 1][j - 1] + 1
                      : std::max(t[i - 1][j], t[i][j - 1]);
      }
    }
    length = t.back().back();
    std::size_t i = rows - 1, j = columns - 1;
    while (i > 0 && j > 0) {
      if (reference[i - 1] == other[j - 1]) {
        hit[--i] = 1;
        --j;
      } else if (t[i][j - 1] > t[i - 1][j]) {
        --j;
      } else {
        --i;
      }
    }
  }

  std::int64_t length;
  std::vector<char> hit;
};

TEST(CommonSubsequenceTest, EqualsTheTableOfAllPairs) {
  std::mt19937 random(7);
  CommonSubsequence common;
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t vocabulary = 1 + random() % 20;
    const auto draw = [&] {
      Symbols symbols(random() % (round % 3 == 0 ? 200 : 12));
      for (auto& symbol : symbols) symbol = random() % vocabulary;
      return symbols;
    };
    const Symbols reference = draw();
    common.set_reference(reference, vocabulary);
    for (int other = 0; other < 2; ++other) {
      const Symbols symbols = draw();
      const Table table(reference, symbols);
      std::vector<char> hit(reference.size());
      common.mark(symbols, hit);
      EXPECT_EQ(common.length(symbols), table.length);
      EXPECT_EQ(hit, table.hit);
    }
  }
}

}  // namespace
}  // namespace tally::internal::text
