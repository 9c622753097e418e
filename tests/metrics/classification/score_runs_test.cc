#include "tally/metrics/classification/curves/score_runs.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tally/metrics/classification/curves/curve_values.h"
#include "tally/metrics/classification/curves/exact_scores.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"
#include "tally/tests/metrics/classification/score_groups.h"
#include "tally/tests/testing/refusal.h"

namespace tally::internal::classification {
namespace {

using ::testing::HasSubstr;

at::Tensor run_of(const at::Tensor& preds, const at::Tensor& codes,
                  const at::Tensor& before = {}) {
  return with_rows(before,
                   ExactScores(preds, codes, CurveShape(), ScoreKind::kScores));
}

RunScores scores_of_runs(const at::Tensor& bytes, std::size_t curve = 0) {
  std::vector<ScoreTable> tables;
  for (const ScoreRun& run : read_runs(bytes)) {
    tables.push_back(run.curves[curve]);
  }
  return *RunScores::of(std::move(tables), {bytes});
}

at::Tensor with_word(const at::Tensor& bytes, std::int64_t place,
                     std::int64_t value) {
  at::Tensor other = bytes.clone();
  std::memcpy(other.mutable_data_ptr<std::uint8_t>() + 8 * place, &value, 8);
  return other;
}

TEST(ScoreRunsTest, HaveTheGroupsOfSortedScores) {
  for (const std::int64_t size : {1, 2, 255, 256, 257, 3000, 40000}) {
    for (const std::int64_t distinct : {1, 3, 300, 1 << 20}) {
      const at::Tensor preds =
          at::randint(-distinct, distinct, {size}, at::kFloat).div(64);
      const at::Tensor codes = at::randint(0, 3, {size}, at::kByte);
      const auto ranked = RankedScores<std::uint32_t>::of(
          preds.const_data_ptr<float>(), codes.const_data_ptr<std::uint8_t>(),
          size);
      const RunScores runs = scores_of_runs(run_of(preds, codes));
      EXPECT_EQ(groups(runs), groups(*ranked));
      EXPECT_EQ(runs.positives(), ranked->positives());
      EXPECT_EQ(runs.negatives(), ranked->negatives());
      EXPECT_EQ(runs.pairs_in_order(), ranked->pairs_in_order());
      const double sum = ranked->sum_of_precisions();
      EXPECT_NEAR(runs.sum_of_precisions(), sum, 1e-12 * sum);
    }
  }
}

TEST(ScoreRunsTest, HaveEveryKindOfScore) {
  const float inf = std::numeric_limits<float>::infinity();
  const at::Tensor preds = at::tensor(
      {-inf, -3e38f, -1.0f, -1e-45f, -0.0f, 0.0f, 1e-45f, 3e38f, inf});
  const at::Tensor codes =
      at::tensor({0, 1, 1, 0, 1, 0, 2, 0, 1}, at::kInt).to(at::kByte);
  const Groups expected = {{inf, 1, 0},     {3e38f, 0, 1}, {0.0, 1, 1},
                           {-1e-45f, 0, 1}, {-1.0, 1, 0},  {-3e38f, 1, 0},
                           {-inf, 0, 1}};
  EXPECT_EQ(groups(scores_of_runs(run_of(preds, codes))), expected);
}

TEST(ScoreRunsTest, MergeLikeRows) {
  RunLimitsGuard limits({0, 100, 1});
  const at::Tensor preds = at::randint(0, 500, {5000}, at::kFloat);
  const at::Tensor codes = at::randint(0, 2, {5000}, at::kByte);
  at::Tensor bytes;
  for (std::int64_t i = 0; i < 5000; i += 250) {
    bytes = run_of(preds.narrow(0, i, 250), codes.narrow(0, i, 250), bytes);
  }
  const auto runs = read_runs(bytes);
  EXPECT_LE(runs.size(), 8u);
  std::int64_t rows = 0;
  for (const ScoreRun& run : runs) rows += run.rows;
  EXPECT_EQ(rows, 5000);
  const auto ranked = RankedScores<std::uint32_t>::of(
      preds.const_data_ptr<float>(), codes.const_data_ptr<std::uint8_t>(),
      5000);
  EXPECT_EQ(groups(scores_of_runs(bytes)), groups(*ranked));
}

TEST(ScoreRunsTest, ManyAreMergedInParts) {
  RunLimitsGuard limits({0, 100, 1});
  std::vector<at::Tensor> bytes;
  const at::Tensor preds = at::rand({20000});
  const at::Tensor codes = at::randint(0, 2, {20000}, at::kByte);
  for (std::int64_t i = 0; i < 20000; i += 100) {
    bytes.push_back(run_of(preds.narrow(0, i, 100), codes.narrow(0, i, 100)));
  }
  const at::Tensor all = at::cat(bytes);
  ASSERT_EQ(read_runs(all).size(), 200u);
  const auto ranked = RankedScores<std::uint32_t>::of(
      preds.const_data_ptr<float>(), codes.const_data_ptr<std::uint8_t>(),
      20000);
  EXPECT_EQ(groups(scores_of_runs(all)), groups(*ranked));
  const at::Tensor few = with_few_runs(all);
  EXPECT_EQ(read_runs(few).size(), 1u);
  EXPECT_EQ(groups(scores_of_runs(few)), groups(*ranked));
  EXPECT_TRUE(with_few_runs(few).is_same(few));
}

TEST(ScoreRunsTest, CountPairsExactlyInManySamples) {
  // From the highest score on: 2^40 + 1 positives, 3 of each, 2^40 + 3
  // negatives. Pairs: (2^40 + 1) (2^40 + 6) + 9 / 2 + 3 (2^40 + 3)
  // = 2^80 + 10 2^40 + 19.5.
  const std::int64_t many = std::int64_t{1} << 40;
  ScoreEntries block;
  block.size = 3;
  const std::int64_t negatives[] = {0, 3, many + 3};
  const std::int64_t positives[] = {many + 1, 3, 0};
  for (std::uint32_t i = 0; i < 3; ++i) {
    block.keys[i] = 7 * i;
    block.negatives[i] = negatives[i];
    block.positives[i] = positives[i];
  }
  const at::Tensor bytes = at::zeros({100}, at::kByte);
  TableWriter writer;
  auto* const data = bytes.mutable_data_ptr<std::uint8_t>();
  const std::int64_t size = writer.write(block, data) - data;
  const auto runs = RunScores::of({{data, size, writer.totals()}}, {bytes});
  // Rounded once: 10 2^40 + 19.5 is below half of the last place, 2^28, of
  // neither.
  EXPECT_EQ(runs->pairs_in_order(), std::ldexp(1.0, 80) + std::ldexp(10.0, 40));
  // All but 3 of the positives have a precision of 1.
  EXPECT_NEAR(runs->sum_of_precisions() / static_cast<double>(many + 4), 1,
              1e-11);
}

TEST(ScoreRunsTest, ANaNIsOfItsCurveAlone) {
  at::Tensor preds = at::rand({10, 2});
  preds[3][1] = std::nan("");
  const at::Tensor codes = at::randint(0, 2, {10, 2}, at::kByte);
  const CurveShape shape{CurveShape::Task::kMultilabel, 2};
  const at::Tensor bytes =
      with_rows({}, ExactScores(preds, codes, shape, ScoreKind::kScores));
  const auto runs = read_runs(bytes);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].curves[0].has_nan);
  EXPECT_TRUE(runs[0].curves[1].has_nan);
  EXPECT_FALSE(RunScores::of({runs[0].curves[1]}, {bytes}).has_value());
  // It stays when runs are merged.
  const at::Tensor merged = with_rows(
      bytes, ExactScores(at::rand({10, 2}), codes, shape, ScoreKind::kScores));
  ASSERT_EQ(read_runs(merged).size(), 1u);
  EXPECT_EQ(read_runs(merged)[0].rows, 20);
  EXPECT_TRUE(read_runs(merged)[0].curves[1].has_nan);
}

TEST(ScoreRunsTest, RefuseBytesThatAreNone) {
  const at::Tensor preds = at::tensor({0.1f, 0.2f, 0.2f});
  const at::Tensor codes = at::tensor({0, 1, 0}, at::kInt).to(at::kByte);
  const at::Tensor bytes = run_of(preds, codes);
  // Version, curves, rows; bytes, negatives, positives, NaN.
  EXPECT_EQ(testkit::refusal_of([&] { read_runs(bytes); }), "nothing");
  const std::vector<std::tuple<std::int64_t, std::int64_t, std::string>> words =
      {{0, 2, "version 1"},
       {1, 0, "sizes of its curves"},
       {1, -1, "sizes of its curves"},
       {1, std::int64_t{1} << 62, "sizes of its curves"},
       {2, -1, "number of rows"},
       {2, std::numeric_limits<std::int64_t>::max(), "number of rows"},
       {2, 2, "at most as many samples as rows"},
       {3, -1, "bytes of its tables"},
       {3, 1000, "bytes of its tables"},
       {4, -1, "at most as many samples as rows"},
       {5, std::int64_t{1} << 62, "at most as many samples as rows"},
       {6, 1, "whether there is a NaN"},
       {6, 7, "whether there is a NaN"}};
  for (const auto& [place, value, expected] : words) {
    EXPECT_THAT(testkit::refusal_of([&, place = place, value = value] {
                  read_runs(with_word(bytes, place, value));
                }),
                HasSubstr(expected))
        << place;
  }
  for (std::int64_t size = 1; size < bytes.numel(); ++size) {
    EXPECT_NE(testkit::refusal_of([&] { read_runs(bytes.narrow(0, 0, size)); }),
              "nothing");
  }
  EXPECT_THAT(testkit::refusal_of([&] {
                read_runs(at::cat({bytes, bytes.narrow(0, 0, 5)}));
              }),
              HasSubstr("a header in the state's runs of scores, at byte " +
                        std::to_string(bytes.numel())));
  EXPECT_NE(testkit::refusal_of([&] { read_runs(bytes.to(at::kInt)); }),
            "nothing");
  // Counts that the tables do not have: found when they are read.
  const at::Tensor other = with_word(with_word(bytes, 4, 1), 5, 2);
  EXPECT_THAT(testkit::refusal_of([&] { groups(scores_of_runs(other)); }),
              HasSubstr("totals"));
  EXPECT_THAT(testkit::refusal_of([&] { run_of(preds, codes, other); }),
              HasSubstr("totals"));
  const at::Tensor none = with_word(bytes, 3, 0).narrow(0, 0, 7 * 8);
  EXPECT_THAT(testkit::refusal_of([&] { groups(scores_of_runs(none)); }),
              HasSubstr("add up to the totals"));
}

}  // namespace
}  // namespace tally::internal::classification
