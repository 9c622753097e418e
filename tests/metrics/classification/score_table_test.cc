#include "tally/metrics/classification/curves/score_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tally/tests/testing/refusal.h"

namespace tally::internal::classification {
namespace {

using ::testing::HasSubstr;

// See testkit::refusal_of().
constexpr const char* kTaken = "nothing";
constexpr std::uint32_t kLastKey = std::numeric_limits<std::uint32_t>::max();

// Negatives and positives by key.
using Counts = std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>;
using Bytes = std::vector<std::uint8_t>;

struct Table {
  Bytes bytes;
  TableTotals totals;

  ScoreTable view() const {
    return {bytes.data(), static_cast<std::int64_t>(bytes.size()), totals};
  }
};

Table table_of(const Counts& counts) {
  Table table;
  table.bytes.resize((counts.size() + 1) * TableWriter::kMostBytes);
  std::uint8_t* end = table.bytes.data();
  TableWriter writer;
  ScoreEntries block;
  const auto flush = [&] {
    end = writer.write(block, end);
    block.size = 0;
  };
  for (const auto& [key, own] : counts) {
    block.keys[block.size] = key;
    block.negatives[block.size] = own.first;
    block.positives[block.size] = own.second;
    if (++block.size == ScoreEntries::kMost) flush();
  }
  flush();
  table.bytes.resize(static_cast<std::size_t>(end - table.bytes.data()));
  table.totals = writer.totals();
  return table;
}

Counts read(const std::vector<ScoreTable>& tables) {
  Counts counts;
  for_each_block(merged(tables), [&](const ScoreEntries& block) {
    for (std::int64_t i = 0; i < block.size; ++i) {
      EXPECT_TRUE(counts.empty() || counts.rbegin()->first < block.keys[i]);
      counts[block.keys[i]] = {block.negatives[i], block.positives[i]};
    }
  });
  return counts;
}

Counts random_counts(std::mt19937_64& random, std::size_t size,
                     std::uint32_t most_skipped, std::int64_t most) {
  Counts counts;
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < size && key <= kLastKey; ++i) {
    key += random() % (most_skipped + 1);
    if (key > kLastKey) break;
    auto& own = counts[static_cast<std::uint32_t>(key++)];
    const auto limit = static_cast<std::uint64_t>(most);
    own.first = static_cast<std::int64_t>(random() % (limit + 1));
    own.second = static_cast<std::int64_t>(random() % (limit + 1));
    if (own.first + own.second == 0) own.second = 1;
  }
  return counts;
}

std::string refusal_of(const Bytes& bytes, const TableTotals& totals) {
  return testkit::refusal_of([&] { read({Table{bytes, totals}.view()}); });
}

TEST(ScoreTableTest, GivesBackItsEntries) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {1, 2, 255, 256, 257, 5000}) {
    for (const std::uint32_t skipped : {0u, 1u, 60u, 1000u, 1u << 30}) {
      for (const std::int64_t most : {1, 4, 20, 200, 1 << 30}) {
        const Counts counts = random_counts(random, size, skipped, most);
        EXPECT_EQ(read({table_of(counts).view()}), counts);
      }
    }
  }
}

TEST(ScoreTableTest, TakesTheEndsOfTheRange) {
  const std::int64_t most = TableTotals::kMostSamples;
  const Counts counts = {{0, {1, 0}}, {kLastKey, {most - 1, most}}};
  EXPECT_EQ(read({table_of(counts).view()}), counts);
  EXPECT_EQ(read({table_of({}).view()}), Counts());
  EXPECT_EQ(read({}), Counts());
}

TEST(ScoreTableTest, TakesAByteForMostEntries) {
  Counts counts;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    counts[40 * i] = {i % 2, 1 - i % 2};
  }
  EXPECT_EQ(table_of(counts).bytes.size(), 1000u);
}

TEST(ScoreTableTest, AddsUpWhatIsMerged) {
  std::mt19937_64 random(2);
  for (const std::size_t tables : {2, 3, 7}) {
    std::vector<Table> all;
    Counts expected;
    for (std::size_t i = 0; i < tables; ++i) {
      const Counts counts = random_counts(random, 1 + 700 * i, 3, 3);
      for (const auto& [key, own] : counts) {
        expected[key].first += own.first;
        expected[key].second += own.second;
      }
      all.push_back(table_of(counts));
    }
    all.push_back(table_of({}));
    std::vector<ScoreTable> views;
    for (const Table& table : all) views.push_back(table.view());
    EXPECT_EQ(read(views), expected);
  }
}

TEST(ScoreTableTest, RefusesTruncatedBytes) {
  std::mt19937_64 random(3);
  const Table table = table_of(random_counts(random, 300, 1000, 200));
  for (std::size_t size = 0; size < table.bytes.size(); ++size) {
    const Bytes some(table.bytes.begin(),
                     table.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal_of(some, table.totals), kTaken) << size;
  }
}

TEST(ScoreTableTest, RefusesWhatIsNoTable) {
  const Table table = table_of({{3, {1, 0}}, {9, {0, 1}}});
  EXPECT_EQ(refusal_of(table.bytes, table.totals), kTaken);
  for (const TableTotals totals : {TableTotals{0, 1}, TableTotals{1, 0},
                                   TableTotals{2, 1}, TableTotals{1, 2}}) {
    EXPECT_THAT(refusal_of(table.bytes, totals), HasSubstr("totals"));
  }
  // A number without an end, one of more than 63 bits, and keys beyond 32.
  const Bytes skips = table_of({{kLastKey, {1, 0}}}).bytes;
  ASSERT_EQ(skips.size(), 6u);
  Bytes endless(40, 255);
  endless[0] = skips[0];
  EXPECT_THAT(refusal_of(endless, {1, 0}), HasSubstr("63 bits"));
  endless.resize(4);
  EXPECT_THAT(refusal_of(endless, {1, 0}), HasSubstr("end of a number"));
  Bytes twice = skips;
  twice.insert(twice.end(), skips.begin(), skips.end());
  EXPECT_THAT(refusal_of(twice, {2, 0}), HasSubstr("ascending scores"));
  Bytes large = {skips[0], 255, 255, 255, 255, 127};
  EXPECT_THAT(refusal_of(large, {1, 0}), HasSubstr("ascending scores"));
  // Counts of none.
  const Bytes many = table_of({{0, {100, 100}}}).bytes;
  EXPECT_THAT(refusal_of({many[0], 0, 0, 0}, {0, 0}),
              HasSubstr("at byte 4 of 4"));
}

TEST(ScoreTableTest, AnyBytesAreReadOrRefused) {
  std::mt19937_64 random(4);
  const Table table = table_of(random_counts(random, 600, 1000, 40));
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = table.bytes;
    for (std::uint64_t left = 1 + random() % 4; left > 0; --left) {
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    }
    std::int64_t samples = 0;
    const std::string refused = testkit::refusal_of([&] {
      for (const auto& [key, own] : read({Table{bytes, table.totals}.view()})) {
        samples += own.first + own.second;
      }
    });
    EXPECT_TRUE(refused != kTaken ||
                samples == table.totals.negatives + table.totals.positives);
  }
}

TEST(ScoreTableTest, RefusesTotalsBeyondTheRange) {
  TableTotals totals{TableTotals::kMostSamples, 0};
  totals.add({0, TableTotals::kMostSamples});
  EXPECT_THAT(testkit::refusal_of([&] {
                totals.add({1, 0});
              }),
              HasSubstr("fewer than 2^62 samples"));
  EXPECT_EQ(totals.negatives, TableTotals::kMostSamples);
}

}  // namespace
}  // namespace tally::internal::classification
