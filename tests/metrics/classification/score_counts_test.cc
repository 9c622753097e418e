#include "tally/metrics/classification/curves/score_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/classification/curves/curve_values.h"
#include "tally/metrics/classification/kernels/score_kernels.h"
#include "tally/metrics/classification/kernels/sorted_kernels.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/tests/metrics/classification/score_groups.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally::internal::classification {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(ScoreCountsTest, KeysHaveTheOrderOfTheScores) {
  const std::vector<float> scores = {-kInf,  -3e38f, -1.0f, -1e-45f, 0.0f,
                                     1e-45f, 0.5f,   1.0f,  3e38f,   kInf};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double wide = scores[i];
    EXPECT_EQ(from_ordered_bits(ordered_bits(scores[i])), wide);
    EXPECT_EQ(from_ordered_bits(ordered_bits(wide)), wide);
    if (i == 0) continue;
    EXPECT_LT(ordered_bits(scores[i - 1]), ordered_bits(scores[i]));
    EXPECT_LT(ordered_bits(static_cast<double>(scores[i - 1])),
              ordered_bits(wide));
  }
  EXPECT_EQ(ordered_bits(-0.0f), ordered_bits(0.0f));
  EXPECT_EQ(ordered_bits(-0.0), ordered_bits(0.0));
}

RankedScores<std::uint32_t> plain(const at::Tensor& scores,
                                  const at::Tensor& codes) {
  return *RankedScores<std::uint32_t>::of(scores.const_data_ptr<float>(),
                                          codes.const_data_ptr<std::uint8_t>(),
                                          scores.numel());
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
  EXPECT_FALSE(RankedScores<std::uint32_t>::of(
      scores.const_data_ptr<float>(), codes.const_data_ptr<std::uint8_t>(), 3));
}

template <class Score>
void expect_orders() {
  for (const std::size_t count : {1, 2, 9, 64, 65, 66, 129, 300}) {
    std::vector<Score> scores(count);
    const auto order = [&] {
      return order_of(scores.data(), static_cast<std::int64_t>(count));
    };
    for (const std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
      scores.assign(count, 0);
      scores[place] = NAN;
      EXPECT_FALSE(order().any()) << count << ' ' << place;
      scores[place] = -0.0;
      EXPECT_TRUE(order().rising && order().falling) << count << ' ' << place;
      scores[place] = 1;
      EXPECT_EQ(order().rising, place + 1 == count) << count << ' ' << place;
      EXPECT_EQ(order().falling, place == 0) << count << ' ' << place;
    }
  }
  EXPECT_TRUE(order_of(static_cast<const Score*>(nullptr), 0).any());
}

TEST(ScoreCountsTest, KnowsTheOrderOfScores) {
  testkit::for_each_vector_target(expect_orders<float>);
  testkit::for_each_vector_target(expect_orders<double>);
}

// What RankedScores tells, by the plainest means.
struct Reference {
  Groups groups;
  double pairs = 0;
  double precisions = 0;

  template <class Score>
  Reference(const std::vector<Score>& scores,
            const std::vector<std::uint8_t>& codes) {
    std::vector<std::pair<double, bool>> samples;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (codes[i] < 2) samples.emplace_back(scores[i], codes[i] == 1);
    }
    std::sort(samples.begin(), samples.end());
    double tp = 0;
    double fp = 0;
    for (std::size_t i = samples.size(); i > 0;) {
      const double score = samples[i - 1].first;
      std::int64_t positives = 0;
      std::int64_t negatives = 0;
      while (i > 0 && samples[i - 1].first == score) {
        ++(samples[--i].second ? positives : negatives);
      }
      groups.emplace_back(score, positives, negatives);
      pairs += static_cast<double>(negatives) *
               (tp + 0.5 * static_cast<double>(positives));
      tp += static_cast<double>(positives);
      fp += static_cast<double>(negatives);
      precisions += static_cast<double>(positives) * (tp / (tp + fp));
    }
  }
};

// `draw(random, i)` gives scores, of which a share of `chance` are positive.
template <class Score, class Draw>
void expect_ranks(const char* what, std::int64_t count, double chance,
                  const Draw& draw) {
  std::mt19937 random(11);
  std::vector<Score> scores(count);
  std::vector<std::uint8_t> codes(count);
  for (std::int64_t i = 0; i < count; ++i) {
    scores[i] = static_cast<Score>(draw(random, i));
    codes[i] = std::bernoulli_distribution(chance)(random);
  }
  using Ranked = RankedScores<
      std::conditional_t<sizeof(Score) == 4, std::uint32_t, std::uint64_t>>;
  for (const bool all_count : {true, false}) {
    if (!all_count) {
      for (auto& code : codes) code = random() % 8 == 0 ? 2 : code;
    }
    const Reference expected(scores, codes);
    std::optional<double> precisions;
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      const auto ranked = *Ranked::of(scores.data(), codes.data(), count);
      EXPECT_EQ(groups(ranked), expected.groups) << what << ' ' << count;
      EXPECT_EQ(ranked.pairs_in_order(), expected.pairs)
          << what << ' ' << count;
      if (!precisions) precisions = ranked.sum_of_precisions();
      EXPECT_NEAR(*precisions, expected.precisions,
                  1e-13 * expected.precisions);
      EXPECT_EQ(ranked.sum_of_precisions(), *precisions) << what;
    }
    at::set_num_threads(1);
  }
}

template <class Score>
void expect_ranks_of_all_kinds(const std::vector<std::int64_t>& counts) {
  using Random = std::mt19937;
  constexpr Score kInfinity = std::numeric_limits<Score>::infinity();
  constexpr Score kTiny = std::numeric_limits<Score>::denorm_min();
  const std::vector<Score> odd = {-kInfinity, -3,    -1, -kTiny, -0.0,
                                  0.0,        kTiny, 1,  3,      kInfinity};
  for (const std::int64_t count : counts) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (const double chance : {0.5, 0.003}) {
      expect_ranks<Score>("probabilities", count, chance,
                          [&](Random& r, std::int64_t) { return uniform(r); });
      expect_ranks<Score>("logits", count, chance,
                          [&](Random& r, std::int64_t) { return normal(r); });
    }
    expect_ranks<Score>("negative", count, 0.5, [&](Random& r, std::int64_t) {
      return -1e-3 - uniform(r);
    });
    expect_ranks<Score>("few", count, 0.5, [](Random& r, std::int64_t) {
      return static_cast<double>(r() % 7) / 4 - 1;
    });
    expect_ranks<Score>("equal", count, 0.5,
                        [](Random&, std::int64_t) { return 0.5; });
    expect_ranks<Score>("sorted", count, 0.5, [&](Random&, std::int64_t i) {
      return static_cast<double>(i);
    });
    expect_ranks<Score>("falling", count, 0.5, [](Random&, std::int64_t i) {
      return 1.0 / static_cast<double>(i + 1);
    });
    expect_ranks<Score>("odd", count, 0.5, [&](Random& r, std::int64_t) {
      return odd[r() % odd.size()];
    });
  }
}

// As `expect_ranks`, of sorted scores and of what is almost sorted.
template <class Score, class Draw>
void expect_ranks_in_order(const char* what, std::int64_t count,
                           const Draw& draw) {
  std::mt19937 random(5);
  std::vector<Score> scores(count);
  for (Score& score : scores) score = static_cast<Score>(draw(random));
  const auto expect = [&](const char* order) {
    expect_ranks<Score>((std::string(what) + ", " + order).c_str(), count, 0.4,
                        [&](std::mt19937&, std::int64_t i) {
                          return scores[static_cast<std::size_t>(i)];
                        });
  };
  std::sort(scores.begin(), scores.end());
  expect("rising");
  std::reverse(scores.begin(), scores.end());
  expect("falling");
  if (count < 2) return;
  std::swap(scores.front(), scores.back());
  expect("falling but for the ends");
  std::sort(scores.begin(), scores.end());
  std::swap(scores[count - 2], scores[count - 1]);
  expect("rising but for the last");
  std::rotate(scores.begin(), scores.begin() + count / 2, scores.end());
  expect("two runs");
}

template <class Score>
void expect_ranks_in_any_order(const std::vector<std::int64_t>& counts) {
  using Random = std::mt19937;
  constexpr Score kInfinity = std::numeric_limits<Score>::infinity();
  std::normal_distribution<double> normal;
  for (const std::int64_t count : counts) {
    expect_ranks_in_order<Score>("logits", count,
                                 [&](Random& r) { return normal(r); });
    expect_ranks_in_order<Score>("pairs", count, [&](Random& r) {
      return static_cast<double>(r() % (count / 2 + 1)) + 1;
    });
    expect_ranks_in_order<Score>(
        "few", count, [&](Random& r) { return std::round(2 * normal(r)); });
    expect_ranks_in_order<Score>("odd", count, [&](Random& r) {
      const Score odd[] = {-kInfinity, -1, -0.0, 0.0, 1, kInfinity};
      return odd[r() % 6];
    });
    // Larger than the blocks that are summed up.
    expect_ranks_in_order<Score>("mostly equal", count, [&](Random& r) {
      return r() % 8 == 0 ? normal(r) : -0.25;
    });
    expect_ranks_in_order<Score>("equal", count, [](Random&) { return -0.5; });
  }
}

template <class Score>
void expect_ranks_of_any_size() {
  testkit::for_each_vector_target([] {
    expect_ranks_of_all_kinds<Score>({0, 1, 2, 500});
    expect_ranks_in_any_order<Score>(
        {0, 1, 2, 3, 8, 15, 16, 17, 63, 64, 65, 128, 129, 130, 2049});
  });
  expect_ranks_of_all_kinds<Score>({132'000});
  expect_ranks_in_any_order<Score>({200'000});
}

TEST(ScoreCountsTest, RanksFloatsOfAllKinds) {
  expect_ranks_of_any_size<float>();
}

TEST(ScoreCountsTest, RanksDoublesOfAllKinds) {
  expect_ranks_of_any_size<double>();
}

// Of a table of every `step`-th score.
void expect_rank_sum(const std::vector<float>& scores, std::size_t step) {
  std::vector<float> few;
  for (std::size_t i = 0; i < scores.size(); i += step) {
    few.push_back(scores[i]);
  }
  std::sort(few.begin(), few.end());
  std::vector<std::uint32_t> keys;
  for (const float score : few) keys.push_back(ordered_bits(score));
  std::uint64_t expected = 0;
  for (const float score : scores) {
    const auto [low, high] = std::equal_range(few.begin(), few.end(), score);
    expected += (low - few.begin()) + (high - few.begin());
  }
  const RankTable table(keys.data(), static_cast<std::int64_t>(keys.size()));
  const RankSum ranks =
      sum_ranks(scores.data(), static_cast<std::int64_t>(scores.size()), table);
  EXPECT_EQ(ranks.sum, expected) << scores.size() << ' ' << step;
  EXPECT_FALSE(ranks.nan);
}

void expect_rank_sums() {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> logits;
  std::vector<float> few;
  std::vector<float> close;
  std::vector<float> odd = {0.0f, -0.0f, kInf, -kInf, 1e-45f, -1e-45f, 0.0f};
  for (int i = 0; i < 1003; ++i) {
    logits.push_back(normal(random));
    few.push_back(std::round(normal(random)));
    // In one cell but for the last.
    close.push_back(i == 1000 ? 1e30f : 1 + 1e-6f * normal(random));
    odd.push_back(odd[random() % 7]);
  }
  for (const std::size_t step : {1, 8, 500, 2000}) {
    for (const auto& scores : {logits, few, close, odd}) {
      expect_rank_sum(scores, step);
    }
  }
  expect_rank_sum({0.5f}, 1);
  const std::uint32_t key = ordered_bits(0.5f);
  const RankTable table(&key, 1);
  logits[77] = NAN;
  EXPECT_TRUE(sum_ranks(logits.data(), 1000, table).nan);
}

TEST(ScoreCountsTest, SumsRanksInATable) {
  testkit::for_each_vector_target(expect_rank_sums);
}

TEST(ScoreCountsTest, TablesAreFastUnlessScoresAreClose) {
  std::vector<std::uint32_t> keys = {0, 1, 2, 3, 4, 5, 6};
  const auto count = static_cast<std::int64_t>(keys.size());
  EXPECT_TRUE(RankTable(keys.data(), count).is_fast());
  EXPECT_TRUE(RankTable(keys.data(), count).all_distinct());
  keys.back() = ~std::uint32_t{0} - 1;
  keys[5] = 5;
  EXPECT_TRUE(RankTable(keys.data(), count).is_fast());
  keys.insert(keys.begin() + 6, {6, 7});
  EXPECT_FALSE(RankTable(keys.data(), count + 2).is_fast());
}

TEST(ScoreCountsTest, FindsNanAnywhere) {
  std::vector<float> scores(140'000, 0.5f);
  std::vector<std::uint8_t> codes(scores.size(), 1);
  const auto count = static_cast<std::int64_t>(scores.size());
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    for (const std::int64_t place : {std::int64_t{0}, count / 2, count - 1}) {
      scores[place] = NAN;
      EXPECT_FALSE(
          RankedScores<std::uint32_t>::of(scores.data(), codes.data(), count));
      codes[place] = 2;
      EXPECT_TRUE(
          RankedScores<std::uint32_t>::of(scores.data(), codes.data(), count));
      codes[place] = 1;
      scores[place] = 0.5f;
    }
  }
  at::set_num_threads(1);
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
}  // namespace tally::internal::classification
