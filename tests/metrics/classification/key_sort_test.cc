#include "tally/metrics/common/key_sort.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/classification/curves/weighted_scores.h"
#include "tally/metrics/classification/kernels/sample_keys.h"
#include "tally/metrics/classification/kernels/score_kernels.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/common/scratch.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally::internal::classification {
namespace {

template <class Key>
void expect_sorts(const std::string& what, std::vector<Key> keys) {
  std::vector<Key> expected = keys;
  std::sort(expected.begin(), expected.end());
  // What lies around them stays.
  constexpr Key kGuard = 0x5a5a5a5a;
  keys.insert(keys.begin(), kGuard);
  keys.push_back(kGuard);
  const auto count = static_cast<std::int64_t>(expected.size());
  const auto check = [&](std::vector<Key> sorted, const char* how) {
    EXPECT_EQ(sorted.front(), kGuard) << what << ' ' << count << ' ' << how;
    EXPECT_EQ(sorted.back(), kGuard) << what << ' ' << count << ' ' << how;
    EXPECT_TRUE(
        std::equal(expected.begin(), expected.end(), sorted.begin() + 1))
        << what << ' ' << count << ' ' << how;
  };
  std::vector<Key> sorted = keys;
  sort_by_digits(sorted.data() + 1, count);
  check(sorted, "by digits");
  sorted = keys;
  sort_keys(sorted.data() + 1, count);
  check(sorted, "by vectors");
}

template <class Key>
void expect_sorts_of_all_kinds(std::int64_t count) {
  constexpr int kBits = 8 * sizeof(Key);
  constexpr Key kMost = std::numeric_limits<Key>::max();
  std::mt19937_64 random(3);
  const auto expect = [&](const std::string& what, const auto& draw) {
    std::vector<Key> keys(count);
    for (std::int64_t i = 0; i < count; ++i) {
      keys[i] = static_cast<Key>(draw(i));
    }
    expect_sorts(what, keys);
  };
  for (const int bits : {1, 3, 11, 23, kBits - 1, kBits}) {
    expect("of " + std::to_string(bits) + " bits",
           [&](std::int64_t) { return random() >> (64 - bits); });
  }
  expect("rising", [](std::int64_t i) { return i / 3; });
  expect("falling", [&](std::int64_t i) { return (count - i) / 3; });
  expect("up and down", [&](std::int64_t i) { return std::min(i, count - i); });
  expect("sawtooth", [](std::int64_t i) { return i % 97; });
  expect("lowest", [](std::int64_t) { return 0; });
  expect("highest", [&](std::int64_t) { return kMost; });
  expect("both ends",
         [&](std::int64_t) { return random() % 2 == 0 ? Key{0} : kMost; });
  expect("mostly equal", [&](std::int64_t) {
    return random() % 8 == 0 ? static_cast<Key>(random()) : kMost / 2;
  });
  expect("one other", [&](std::int64_t i) { return i == count / 2 ? 7 : 8; });
}

TEST(KeySortTest, SortsKeysOfAllKinds) {
  testkit::for_each_vector_target([] {
    for (std::int64_t count = 0; count < 40; ++count) {
      expect_sorts_of_all_kinds<std::uint32_t>(count);
      expect_sorts_of_all_kinds<std::uint64_t>(count);
    }
    // Around what is sorted in registers, and what a vector's steps are.
    for (const std::int64_t few : {64, 128, 256, 320, 512, 1024, 5000}) {
      for (const std::int64_t more : {-17, -1, 0, 1, 15, 33}) {
        expect_sorts_of_all_kinds<std::uint32_t>(few + more);
        expect_sorts_of_all_kinds<std::uint64_t>(few + more);
      }
    }
    expect_sorts_of_all_kinds<std::uint32_t>(70'001);
    expect_sorts_of_all_kinds<std::uint64_t>(70'001);
  });
}

// What sorts zeros and ones sorts everything.
TEST(KeySortTest, NetworksSortRunsOfOnes) {
  testkit::for_each_vector_target([] {
    for (const std::int64_t count : {16, 32, 64, 128, 256}) {
      for (std::int64_t begin = 0; begin < count; begin += 3) {
        for (std::int64_t end = begin; end <= count; end += 5) {
          std::vector<std::uint32_t> keys(count, 0);
          std::fill(keys.begin() + begin, keys.begin() + end, 1);
          std::vector<std::uint64_t> wide(keys.begin(), keys.end());
          sort_keys(keys.data(), count);
          sort_keys(wide.data(), count);
          ASSERT_TRUE(std::is_sorted(keys.begin(), keys.end())) << count;
          ASSERT_TRUE(std::is_sorted(wide.begin(), wide.end())) << count;
          ASSERT_EQ(std::count(keys.begin(), keys.end(), 1), end - begin);
          ASSERT_EQ(std::count(wide.begin(), wide.end(), 1), end - begin);
        }
      }
    }
  });
}

template <class Score>
void expect_packs(const std::vector<Score>& cuts, std::int64_t count) {
  using Key =
      std::conditional_t<sizeof(Score) == 4, std::uint32_t, std::uint64_t>;
  std::mt19937 random(7);
  std::normal_distribution<Score> normal;
  std::vector<Score> scores(count);
  std::vector<std::uint8_t> codes(count);
  std::vector<std::vector<Key>> expected(cuts.size() + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    // Some equal a cut, zeros have both signs.
    scores[i] = i % 7 == 0 && !cuts.empty() ? cuts[random() % cuts.size()]
                : i % 11 == 0               ? Score{-0.0}
                                            : normal(random);
    codes[i] = random() % 2;
    const auto part =
        std::upper_bound(cuts.begin(), cuts.end(), scores[i]) - cuts.begin();
    expected[part].push_back(static_cast<Key>(ordered_bits(scores[i]) << 1) |
                             codes[i]);
  }
  // Parts lie side by side.
  std::vector<Key> keys(count + 1, 99);
  std::vector<Key*> next;
  std::vector<Key*> ends;
  Key* place = keys.data();
  for (const auto& part : expected) {
    next.push_back(place);
    place += part.size();
    ends.push_back(place);
  }
  pack_samples(scores.data(), codes.data(), count, cuts.data(),
               static_cast<std::int64_t>(cuts.size()), next.data(),
               ends.data());
  EXPECT_EQ(next, ends) << count;
  EXPECT_EQ(keys.back(), 99) << count;
  const Key* key = keys.data();
  for (const auto& part : expected) {
    EXPECT_TRUE(std::equal(part.begin(), part.end(), key)) << count;
    key += part.size();
  }
}

TEST(KeySortTest, PacksSamplesInParts) {
  testkit::for_each_vector_target([] {
    for (const std::int64_t count : {0, 1, 7, 16, 17, 100, 1003}) {
      expect_packs<float>({}, count);
      expect_packs<float>({0}, count);
      expect_packs<float>({-1, -0.5, 0, 0.25, 1, 5}, count);
      expect_packs<double>({}, count);
      expect_packs<double>({0}, count);
      expect_packs<double>({-1, -0.5, 0, 0.25, 1, 5}, count);
    }
  });
}

// Sorted by score, then by index, however few bits are left for scores.
template <class Score>
void expect_sample_order(const std::vector<Score>& scores) {
  const auto count = static_cast<std::int64_t>(scores.size());
  std::vector<std::int64_t> expected(count);
  for (std::int64_t i = 0; i < count; ++i) expected[i] = i;
  std::stable_sort(
      expected.begin(), expected.end(),
      [&](std::int64_t a, std::int64_t b) { return scores[a] < scores[b]; });
  const int fewest = SampleKeys<Score>::low_bits_for(count);
  for (const int low_bits : {fewest, 20, 31, 32, 33, 45, 60}) {
    const SampleKeys<Score> samples(scores.data(), low_bits);
    std::vector<std::uint64_t> keys(count);
    for (std::int64_t i = 0; i < count; ++i) {
      keys[i] = samples.key(i, static_cast<std::uint8_t>(i % 3 == 0));
    }
    std::shuffle(keys.begin(), keys.end(), std::mt19937(1));
    samples.sort(keys.data(), count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t own = samples.index(keys[i]);
      ASSERT_EQ(own, expected[i]) << low_bits;
      EXPECT_EQ(samples.score(keys[i]), static_cast<double>(scores[own]));
      EXPECT_EQ(samples.code(keys[i]), own % 3 == 0);
      if (i == 0) continue;
      EXPECT_EQ(samples.have_same_score(keys[i - 1], keys[i]),
                scores[expected[i - 1]] == scores[expected[i]]);
    }
  }
}

template <class Score>
void expect_sample_orders() {
  constexpr Score kInfinity = std::numeric_limits<Score>::infinity();
  constexpr Score kTiny = std::numeric_limits<Score>::denorm_min();
  std::mt19937_64 random(4);
  std::normal_distribution<Score> normal;
  for (const std::int64_t count : {0, 1, 2, 65, 3000}) {
    std::vector<Score> scores(count);
    for (Score& score : scores) score = normal(random);
    expect_sample_order(scores);
    // Sharing all but the last bits with many others.
    for (Score& score : scores) {
      score = 1 + std::numeric_limits<Score>::epsilon() *
                      static_cast<Score>(random() % 1000);
    }
    expect_sample_order(scores);
    const Score odd[] = {-kInfinity, -kTiny, -0.0, 0.0, kTiny, 1, kInfinity};
    for (Score& score : scores) score = odd[random() % 7];
    expect_sample_order(scores);
  }
}

TEST(KeySortTest, SamplesSortByScoreThenByIndex) {
  EXPECT_EQ(SampleKeys<float>::low_bits_for(0), 1);
  EXPECT_EQ(SampleKeys<float>::low_bits_for(1), 1);
  EXPECT_EQ(SampleKeys<float>::low_bits_for(2), 2);
  EXPECT_EQ(SampleKeys<float>::low_bits_for(256), 9);
  EXPECT_EQ(SampleKeys<float>::low_bits_for(257), 10);
  expect_sample_orders<float>();
  expect_sample_orders<double>();
}

using Steps = std::vector<std::vector<double>>;

template <class Score>
Steps steps_of(const std::vector<Score>& scores,
               const std::vector<std::uint8_t>& codes,
               const std::vector<double>& weights, std::int64_t columns) {
  const auto count = static_cast<std::int64_t>(scores.size());
  const auto weighted = *WeightedScores::of(scores.data(), codes.data(),
                                            weights.data(), count, columns);
  Steps steps;
  double positives = 0;
  double negatives = 0;
  weighted.for_each([&](double score, double p, double n) {
    steps.push_back({score, p, n});
    positives += p;
    negatives += n;
  });
  EXPECT_EQ(weighted.positives(), positives);
  EXPECT_EQ(weighted.negatives(), negatives);
  return steps;
}

// Sums begin with the last sample of a score, whatever the threads.
template <class Score>
void expect_weighted_steps(const char* what, const std::vector<Score>& scores,
                           std::int64_t columns) {
  std::mt19937 random(9);
  std::vector<std::uint8_t> codes;
  std::vector<double> weights;
  std::map<Score, std::pair<double, double>, std::greater<Score>> expected;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    codes.push_back(random() % 3);
    if (static_cast<std::int64_t>(i) % columns == 0) {
      weights.push_back(random() % 9 == 0 ? 0 : random() * 1e-3);
    }
  }
  for (std::size_t i = scores.size(); i-- > 0;) {
    const double weight = weights[i / columns];
    if (codes[i] > 1 || weight == 0) continue;
    auto& sums = expected[scores[i]];
    (codes[i] == 1 ? sums.first : sums.second) += weight;
  }
  Steps steps;
  for (const auto& [score, sums] : expected) {
    steps.push_back({static_cast<double>(score), sums.first, sums.second});
  }
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    EXPECT_EQ(steps_of(scores, codes, weights, columns), steps)
        << what << ' ' << threads;
  }
  at::set_num_threads(1);
}

template <class Score>
void expect_weighted_steps_of_all_kinds() {
  std::mt19937_64 random(2);
  std::normal_distribution<Score> normal;
  for (const std::int64_t count : {0, 1, 1000, 400'000}) {
    std::vector<Score> scores(count);
    for (Score& score : scores) score = normal(random);
    expect_weighted_steps("logits", scores, 1);
    for (Score& score : scores) score = std::round(4 * score);
    expect_weighted_steps("few", scores, 1);
    expect_weighted_steps("columns", scores, 4);
    std::fill(scores.begin(), scores.end(), Score{0.5});
    expect_weighted_steps("equal", scores, 1);
  }
}

TEST(KeySortTest, WeightedStepsAreThoseOfOneThread) {
  expect_weighted_steps_of_all_kinds<float>();
  expect_weighted_steps_of_all_kinds<double>();
}

TEST(KeySortTest, OnlySoMuchScratchMemoryIsKept) {
  constexpr std::size_t kMost = ScratchBlock::kMostKept;
  const void* memory = nullptr;
  {
    Scratch<char> block(kMost / 2);
    memory = block.data();
    std::fill_n(block.data(), kMost / 2, 'a');
  }
  EXPECT_GE(ScratchBlock::kept(), kMost / 2);
  EXPECT_LE(ScratchBlock::kept(), kMost);
  {
    Scratch<char> again(kMost / 2);
    EXPECT_EQ(again.data(), memory);
    std::fill_n(again.data(), kMost / 2, 'b');
    Scratch<char> another(kMost / 2);
    EXPECT_NE(another.data(), memory);
    Scratch<char> large(kMost + 1);
    large[kMost] = 'c';
  }
  EXPECT_LE(ScratchBlock::kept(), kMost);
  std::vector<Scratch<char>> many;
  for (int i = 0; i < 20; ++i) many.emplace_back(std::size_t{1} << 22);
  many.clear();
  EXPECT_LE(ScratchBlock::kept(), kMost);
}

}  // namespace
}  // namespace tally::internal::classification
