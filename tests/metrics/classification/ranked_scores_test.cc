#include "tally/metrics/classification/ranked_scores.h"

#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tally/metrics/classification/roc_area.h"

namespace tally::internal {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

using Groups = std::vector<std::pair<std::int64_t, std::int64_t>>;

template <class Counts>
Groups groups(const Counts& counts) {
  Groups list;
  counts.for_each([&](std::int64_t positives, std::int64_t negatives) {
    list.emplace_back(positives, negatives);
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

TEST(RankedScoresTest, SortsKeys) {
  for (const std::int64_t count : {0, 1, 2, 1000, 1024, 5000}) {
    for (const int bits : {1, 11, 12, 23, 32}) {
      expect_sorts<std::uint32_t>(count, bits);
      expect_sorts<std::uint64_t>(count, bits);
      expect_sorts<std::uint64_t>(count, bits + 32);
    }
  }
}

TEST(RankedScoresTest, KeysHaveTheOrderOfTheScores) {
  const std::vector<float> scores = {-kInf,  -3e38f, -1.0f, -1e-45f, 0.0f,
                                     1e-45f, 0.5f,   1.0f,  3e38f,   kInf};
  for (std::size_t i = 1; i < scores.size(); ++i) {
    EXPECT_LT(ordered(scores[i - 1]), ordered(scores[i]));
    EXPECT_LT(ordered(static_cast<double>(scores[i - 1])),
              ordered(static_cast<double>(scores[i])));
  }
  EXPECT_EQ(ordered(-0.0f), ordered(0.0f));
  EXPECT_EQ(ordered(-0.0), ordered(0.0));
}

RankedScores<std::uint32_t> plain(const at::Tensor& scores,
                                  const at::Tensor& positive) {
  const auto* const values = scores.const_data_ptr<float>();
  const auto* const labels = positive.const_data_ptr<bool>();
  return *RankedScores<std::uint32_t>::of(
      scores.numel(), [&](std::int64_t i) { return values[i]; },
      [&](std::int64_t i) { return labels[i]; });
}

TEST(RankedScoresTest, GroupsTiesHighestFirst) {
  const at::Tensor scores =
      at::tensor({0.5f, -0.0f, 0.9f, 0.5f, 0.0f, 0.5f, -kInf, kInf});
  const at::Tensor positive =
      at::tensor({1, 1, 0, 0, 0, 1, 1, 0}, at::kByte).to(at::kBool);
  const Groups expected = {{0, 1}, {0, 1}, {2, 1}, {1, 1}, {1, 0}};
  EXPECT_EQ(groups(plain(scores, positive)), expected);
  EXPECT_EQ(groups(*DeviceRankedScores::of(scores, positive)), expected);
}

TEST(RankedScoresTest, BothSortsAgree) {
  for (const std::int64_t count : {0, 1, 50, 20000}) {
    const at::Tensor scores = at::rand({count}).mul_(500).round_().div_(500);
    const at::Tensor positive = at::randint(0, 2, {count}).to(at::kBool);
    const auto here = plain(scores, positive);
    const auto there = *DeviceRankedScores::of(scores, positive);
    EXPECT_EQ(here.positives(), there.positives());
    EXPECT_EQ(here.negatives(), there.negatives());
    EXPECT_EQ(groups(here), groups(there));
  }
}

TEST(RankedScoresTest, NanMakesNoCounts) {
  const at::Tensor scores = at::tensor({0.5f, NAN, 0.25f});
  const at::Tensor positive = at::tensor({1, 0, 0}, at::kByte).to(at::kBool);
  EXPECT_FALSE(DeviceRankedScores::of(scores, positive));
  const auto* const values = scores.const_data_ptr<float>();
  EXPECT_FALSE(RankedScores<std::uint32_t>::of(
      3, [&](std::int64_t i) { return values[i]; },
      [](std::int64_t i) { return i == 0; }));
}

TEST(RocAreaTest, EqualsThePairsItIsDefinedBy) {
  const at::Tensor scores = at::rand({300}).mul_(40).round_();
  const at::Tensor positive = at::rand({300}).gt(0.7);
  const at::Tensor high = scores.masked_select(positive).unsqueeze(1);
  const at::Tensor low =
      scores.masked_select(positive.logical_not()).unsqueeze(0);
  const double expected =
      high.gt(low).to(at::kDouble).add(high.eq(low), 0.5).mean().item<double>();
  EXPECT_NEAR(roc_area(plain(scores, positive)), expected, 1e-14);
}

}  // namespace
}  // namespace tally::internal
