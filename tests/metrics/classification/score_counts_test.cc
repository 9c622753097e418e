#include "tally/metrics/classification/score_counts.h"

#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "tally/metrics/classification/curve_values.h"

namespace tally::internal {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Score, positives, negatives.
using Groups = std::vector<std::tuple<double, std::int64_t, std::int64_t>>;

template <class Counts>
Groups groups(const Counts& counts) {
  Groups list;
  counts.for_each(
      [&](double score, std::int64_t positives, std::int64_t negatives) {
        list.emplace_back(score, positives, negatives);
      });
  return list;
}

template <class Key>
void expect_sorts(std::int64_t count, int bits) {
  std::mt19937_64 random(3);
  std::vector<Key> keys(count);
  for (Key& key : keys) {
    key = static_cast<Key>(random()) >> (8 * sizeof(Key) - bits);
  }
  std::vector<Key> expected = keys;
  std::sort(expected.begin(), expected.end());
  std::vector<Key> spare(count);
  sort_keys(keys.data(), count, spare.data());
  EXPECT_EQ(keys, expected) << count << " keys of " << bits << " bits";
}

TEST(ScoreCountsTest, SortsKeys) {
  for (const std::int64_t count : {0, 1, 2, 1000, 1024, 5000}) {
    for (const int bits : {1, 11, 12, 23, 32}) {
      expect_sorts<std::uint32_t>(count, bits);
      expect_sorts<std::uint64_t>(count, bits);
      expect_sorts<std::uint64_t>(count, bits + 32);
    }
  }
}

TEST(ScoreCountsTest, KeysHaveTheOrderOfTheScores) {
  const std::vector<float> scores = {-kInf,  -3e38f, -1.0f, -1e-45f, 0.0f,
                                     1e-45f, 0.5f,   1.0f,  3e38f,   kInf};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double wide = scores[i];
    EXPECT_EQ(unordered(ordered(scores[i])), wide);
    EXPECT_EQ(unordered(ordered(wide)), wide);
    if (i == 0) continue;
    EXPECT_LT(ordered(scores[i - 1]), ordered(scores[i]));
    EXPECT_LT(ordered(static_cast<double>(scores[i - 1])), ordered(wide));
  }
  EXPECT_EQ(ordered(-0.0f), ordered(0.0f));
  EXPECT_EQ(ordered(-0.0), ordered(0.0));
}

RankedScores<std::uint32_t> plain(const at::Tensor& scores,
                                  const at::Tensor& codes) {
  const auto* const values = scores.const_data_ptr<float>();
  const auto* const labels = codes.const_data_ptr<std::uint8_t>();
  return *RankedScores<std::uint32_t>::of(
      scores.numel(), [&](std::int64_t i) { return values[i]; },
      [&](std::int64_t i) { return labels[i]; });
}

TEST(ScoreCountsTest, GroupsTiesHighestFirst) {
  const at::Tensor scores = at::tensor(
      {0.5f, -0.0f, 0.9f, 0.5f, 0.0f, 0.5f, -kInf, kInf, 0.5f, NAN, 7.0f});
  const at::Tensor codes =
      at::tensor({1, 1, 0, 0, 0, 1, 1, 0, 2, 2, 2}, at::kByte);
  const Groups expected = {
      {kInf, 0, 1}, {0.9f, 0, 1}, {0.5, 2, 1}, {0, 1, 1}, {-kInf, 1, 0}};
  EXPECT_EQ(groups(plain(scores, codes)), expected);
  EXPECT_EQ(groups(*DeviceRankedScores::of(scores, codes)), expected);
}

TEST(ScoreCountsTest, BothSortsAgree) {
  for (const std::int64_t count : {0, 1, 50, 20000}) {
    const at::Tensor scores = at::rand({count}).mul_(500).round_().div_(500);
    const at::Tensor codes = at::randint(0, 3, {count}, at::kByte);
    const auto here = plain(scores, codes);
    const auto there = *DeviceRankedScores::of(scores, codes);
    EXPECT_EQ(here.positives(), there.positives());
    EXPECT_EQ(here.negatives(), there.negatives());
    EXPECT_EQ(groups(here), groups(there));
  }
}

TEST(ScoreCountsTest, NanMakesNoCounts) {
  const at::Tensor scores = at::tensor({0.5f, NAN, 0.25f});
  const at::Tensor codes = at::tensor({1, 0, 0}, at::kByte);
  EXPECT_FALSE(DeviceRankedScores::of(scores, codes));
  const auto* const values = scores.const_data_ptr<float>();
  EXPECT_FALSE(RankedScores<std::uint32_t>::of(
      3, [&](std::int64_t i) { return values[i]; },
      [](std::int64_t i) { return i == 0; }));
}

TEST(ScoreCountsTest, ValuesEqualTheirDefinitionsOverPairs) {
  const at::Tensor scores = at::rand({300}).mul_(40).round_();
  const at::Tensor positive = at::rand({300}).gt(0.7);
  const at::Tensor high = scores.masked_select(positive).unsqueeze(1);
  const at::Tensor low =
      scores.masked_select(positive.logical_not()).unsqueeze(0);
  const at::Tensor above = high.lt(low).sum(1).add(high.eq(low).sum(1));
  const at::Tensor as_high = high.le(high.t()).sum(1);
  const ScoreCounts counts = plain(scores, positive.to(at::kByte));
  EXPECT_NEAR(
      roc_area(counts),
      high.gt(low).to(at::kDouble).add(high.eq(low), 0.5).mean().item<double>(),
      1e-14);
  EXPECT_NEAR(
      average_precision(counts),
      as_high.to(at::kDouble).div(as_high.add(above)).mean().item<double>(),
      1e-14);
}

TEST(ScoreCountsTest, ChanceHasItsValues) {
  const at::Tensor scores = at::full({10}, 0.5f);
  const at::Tensor codes =
      at::tensor({1, 0, 0, 0, 0, 0, 0, 0, 1, 1}, at::kByte);
  const ScoreCounts counts = plain(scores, codes);
  EXPECT_DOUBLE_EQ(roc_area(counts), 0.5);
  EXPECT_DOUBLE_EQ(roc_area(counts, 0.25), 0.5);
  EXPECT_DOUBLE_EQ(equal_error_rate(counts), 0.5);
  EXPECT_DOUBLE_EQ(average_precision(counts), 0.3);
  EXPECT_DOUBLE_EQ(log_roc_area(counts, 0.001, 0.1), 0.099 / std::log(100.0));
}

}  // namespace
}  // namespace tally::internal
