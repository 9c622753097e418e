#include "tally/metrics/tables/pair_counts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tally/metrics/tables/label_places.h"
#include "tally/metrics/tables/label_range.h"
#include "tally/state/state.h"
#include "tally/tests/testing/refusal.h"

namespace tally {

namespace tables = internal::tables;
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

at::Tensor labels(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

using Counts = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

std::vector<std::int64_t> flat(const Counts& counts) {
  std::vector<std::int64_t> result;
  for (const auto& [pair, count] : counts) {
    result.insert(result.end(), {pair.first, pair.second, count});
  }
  return result;
}
std::vector<std::int64_t> flat(const at::Tensor& cells) {
  const auto* const begin = cells.const_data_ptr<std::int64_t>();
  return {begin, begin + cells.numel()};
}

// Labels from 0 on have a table, which grows when larger ones come late.
TEST(PairCountsTest, CountsSmallLabels) {
  std::mt19937_64 random(2);
  for (const std::size_t size : {1, 32, 257, 3000, 70'000}) {
    for (const std::size_t range : {1, 2, 10, 200, 300}) {
      std::vector<std::int64_t> a(size), b(size);
      Counts expected;
      for (std::size_t i = 0; i < size; ++i) {
        a[i] = static_cast<std::int64_t>(i * range / size);
        b[i] = static_cast<std::int64_t>(random() % range);
        ++expected[{a[i], b[i]}];
      }
      EXPECT_EQ(flat(tables::count_pairs(labels(a), labels(b))), flat(expected))
          << size << " below " << range;
      EXPECT_EQ(flat(tables::count_pairs(labels(b), labels(a))).size(),
                3 * expected.size());
    }
  }
}

TEST(PairCountsTest, CountsManyByAnyNumberOfThreads) {
  std::mt19937_64 random(3);
  const int before = at::get_num_threads();
  for (const std::int64_t last : {7, 90, 1 << 20}) {
    std::vector<std::int64_t> a(200'000), b(a.size());
    Counts expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<std::int64_t>(random() % 8);
      b[i] = static_cast<std::int64_t>(random() % 40);
      if (i + 1 == a.size()) a[i] = last;
      ++expected[{a[i], b[i]}];
    }
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      EXPECT_EQ(flat(tables::count_pairs(labels(a), labels(b))), flat(expected))
          << threads << " threads, at last " << last;
    }
  }
  at::set_num_threads(before);
}

// Few and many, of small ranges, of sparse ones, and of all int64.
TEST(PairCountsTest, CountsAnyLabels) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {1, 2, 255, 256, 257, 3000, 20'000}) {
    for (const std::uint64_t range :
         {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{900},
          std::uint64_t{1} << 40, std::uint64_t{0}}) {
      std::vector<std::int64_t> a(size), b(size);
      Counts expected;
      for (std::size_t i = 0; i < size; ++i) {
        const auto draw = [&] {
          const std::uint64_t value = random();
          return static_cast<std::int64_t>(range == 0 ? value
                                                      : value % range - 3);
        };
        a[i] = draw();
        b[i] = draw();
        // Some pairs occur twice, however many labels there are.
        if (i % 3 == 1) {
          a[i] = a[i - 1];
          b[i] = b[i - 1];
        }
        ++expected[{a[i], b[i]}];
      }
      EXPECT_EQ(flat(tables::count_pairs(labels(a), labels(b))), flat(expected))
          << size << " below " << range;
    }
  }
}

TEST(PairCountsTest, TakesTheEndsOfInt64) {
  const at::Tensor ends = labels({kMost, kLeast, 0, kLeast, kMost, -1});
  const tables::LabelPlaces places = tables::label_places(ends);
  EXPECT_EQ(places.labels, (std::vector<std::int64_t>{kLeast, -1, 0, kMost}));
  EXPECT_EQ(places.places, (std::vector<std::uint32_t>{3, 0, 2, 0, 3, 1}));
  const at::Tensor many = ends.repeat(100);
  EXPECT_EQ(flat(tables::count_pairs(many, many)),
            (std::vector<std::int64_t>{kLeast, kLeast, 200, -1, -1, 100, 0, 0,
                                       100, kMost, kMost, 200}));
}

TEST(PairCountsTest, AddsUpCellsInAnyOrder) {
  std::mt19937_64 random(2);
  for (const std::int64_t size : {3, 300, 5000}) {
    std::vector<std::int64_t> values;
    Counts expected;
    for (std::int64_t i = 0; i < size; ++i) {
      const auto a = static_cast<std::int64_t>(random() % 40) - 9;
      const auto b = static_cast<std::int64_t>(random() % 40);
      const auto count = static_cast<std::int64_t>(random() % 1000) + 1;
      values.insert(values.end(), {a, b, count});
      expected[{a, b}] += count;
    }
    const at::Tensor sum = tables::added_up(labels(values).view({-1, 3}));
    EXPECT_EQ(flat(sum), flat(expected));
    EXPECT_TRUE(tables::added_up(sum).equal(sum));
  }
}

TEST(PairCountsTest, DoesNotGrowWithTheSamples) {
  AnyState all(state_ops<PairCounts>());
  const at::Tensor a = at::arange(32).remainder(5);
  const at::Tensor b = at::arange(32).remainder(7);
  for (int i = 0; i < 1000; ++i) {
    PairCounts batch;
    batch.cells = Rows(tables::count_pairs(a, b));
    merge(all, AnyState::of(batch), "owner");
  }
  const PairCounts& counts = all.get<PairCounts>();
  EXPECT_LT(counts.cells.size(), 300);
  EXPECT_TRUE(tables::added_up(counts.cells.tensor())
                  .select(1, 2)
                  .sum()
                  .equal(labels({32'000}).squeeze()));
}

TEST(PairCountsTest, WritesToNoCellsThatOthersHold) {
  PairCounts counts;
  std::vector<at::Tensor> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(labels({1, i % 3, 1}));
  counts.cells = Rows(at::cat(parts).view({-1, 3}).repeat({10, 1}));
  const PairCounts copy = counts;
  counts.compact();
  EXPECT_EQ(counts.cells.size(), 3);
  EXPECT_EQ(copy.cells.size(), 1000);
  EXPECT_EQ(copy.cells.tensor().select(1, 2).sum().item<std::int64_t>(), 1000);
}

TEST(PairCountsTest, RefusesWhatIsNoTable) {
  const auto refusal = [](const at::Tensor& cells) {
    return refusal_of([&] { tables::added_up(cells); });
  };
  EXPECT_EQ(refusal(at::zeros({2, 3})),
            "expected cells of int64 [K, 3] in the state, got Float [2, 3]");
  EXPECT_EQ(refusal(at::zeros({6}, at::kLong)),
            "expected cells of int64 [K, 3] in the state, got Long [6]");
  EXPECT_THAT(refusal(labels({1, 2, 0}).view({1, 3})),
              HasSubstr("expected counts of at least 1"));
  EXPECT_THAT(refusal(labels({1, 2, kMost, 1, 2, 1}).view({2, 3})),
              HasSubstr("add up to less than 2^63"));
}

TEST(LabelRangeTest, NamesTheLabelAndItsPlace) {
  const at::Tensor values = labels({0, 4, 5, 1});
  tables::check_label_range("preds", values, std::nullopt);
  tables::check_label_range("preds", values, 6);
  EXPECT_EQ(refusal_of([&] { tables::check_label_range("preds", values, 5); }),
            "expected labels from 0 to 4 in preds, got 5 at position 2");
}

}  // namespace
}  // namespace tally
