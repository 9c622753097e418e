#include "tally/metrics/text/kernels/edit_alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tally::internal::text {
namespace {

using Tokens = std::vector<std::uint32_t>;

// The rule written down over the whole matrix.
EditCounts by_matrix(TokenSpan a, TokenSpan b) {
  EditCounts counts;
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a = a.slice(1);
    b = b.slice(1);
    ++counts.hits;
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a = a.slice(0, a.size() - 1);
    b = b.slice(0, b.size() - 1);
    ++counts.hits;
  }
  const std::size_t width = b.size() + 1;
  std::vector<int> cells((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> int& {
    return cells[i * width + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = static_cast<int>(i + j);
        continue;
      }
      const int pair = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({pair, at(i - 1, j) + 1, at(i, j - 1) + 1});
    }
  }
  std::size_t i = a.size();
  std::size_t j = b.size();
  while (i > 0 && j > 0) {
    if (at(i, j) == at(i - 1, j) + 1) {
      ++counts.deletions;
      --i;
    } else if (j > 1 && at(i, j - 1) == at(i - 1, j - 1) - 1) {
      ++counts.insertions;
      --j;
    } else {
      ++(a[i - 1] == b[j - 1] ? counts.hits : counts.substitutions);
      --i;
      --j;
    }
  }
  counts.deletions += static_cast<std::int64_t>(i);
  counts.insertions += static_cast<std::int64_t>(j);
  return counts;
}

std::int64_t common_by_matrix(const Tokens& a, const Tokens& b) {
  std::vector<std::int64_t> row(b.size() + 1), next(b.size() + 1);
  for (const std::uint32_t token : a) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = token == b[j] ? row[j] + 1 : std::max(row[j + 1], next[j]);
    }
    row = next;
  }
  return row.back();
}

void expect_equal(const EditCounts& got, const EditCounts& expected) {
  EXPECT_EQ(got.hits, expected.hits);
  EXPECT_EQ(got.substitutions, expected.substitutions);
  EXPECT_EQ(got.deletions, expected.deletions);
  EXPECT_EQ(got.insertions, expected.insertions);
}

Tokens drawn(std::mt19937& random, std::size_t most, std::uint32_t distinct) {
  Tokens tokens(random() % (most + 1));
  for (std::uint32_t& token : tokens) token = random() % distinct;
  return tokens;
}

TEST(EditAlignmentTest, FollowsTheRuleAtEveryLength) {
  std::mt19937 random(3);
  EditAlignment alignment;
  for (int round = 0; round < 120; ++round) {
    const std::uint32_t distinct = 2 + round % 4;
    const std::size_t most = round % 3 == 0 ? 8 : round % 3 == 1 ? 70 : 200;
    const Tokens a = drawn(random, most, distinct);
    const Tokens b = drawn(random, most, distinct);
    const EditCounts expected = by_matrix(a, b);
    const std::int64_t edits =
        expected.substitutions + expected.deletions + expected.insertions;
    // With a table of the tokens' places and with lists of them; with all rows
    // in memory and with some of them.
    for (const std::size_t all : {std::size_t{6}, std::size_t{100'000}}) {
      expect_equal(alignment.align(a, b, all), expected);
      expect_equal(alignment.align(a, b, all, /*limit=*/64), expected);
      EXPECT_EQ(alignment.levenshtein(a, b, all), edits);
      EXPECT_EQ(alignment.common_length(a, b, all), common_by_matrix(a, b));
    }
  }
}

// From this size on rapidfuzz divides the texts, and follows the rule in each
// part only.
TEST(EditAlignmentTest, FollowsTheRuleForLongTexts) {
  std::mt19937 random(4);
  Tokens a(2100), b(2000);
  for (std::uint32_t& token : a) token = random() % 2;
  for (std::uint32_t& token : b) token = random() % 2;
  EditAlignment alignment;
  const EditCounts expected = by_matrix(a, b);
  expect_equal(alignment.align(a, b, 2), expected);
  expect_equal(alignment.align(a, b, 2, /*limit=*/1 << 16), expected);
}

}  // namespace
}  // namespace tally::internal::text
