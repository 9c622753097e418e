#include "tally/metrics/classification/inputs/multiclass_inputs.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/classification/counts/multiclass_counts.h"
#include "tally/metrics/classification/kernels/prediction_kernels.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally {

namespace classification = internal::classification;
namespace {

using classification::MulticlassBatch;
using classification::MulticlassRules;
using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Sizes = std::vector<std::int64_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The counts of a batch by the plain loop, which those by tensor operations
// must equal.
at::Tensor counts_of(const MulticlassRules& rules, const at::Tensor& preds,
                     const at::Tensor& target, bool samplewise = false,
                     const at::Tensor& weight = {}) {
  const MulticlassBatch batch(rules, preds, target, weight);
  at::Tensor counts;
  for (const auto distance : {classification::ClassDistance::kLinear,
                              classification::ClassDistance::kQuadratic,
                              classification::ClassDistance::kNone}) {
    counts = classification::count_classes(batch, samplewise, distance);
    EXPECT_TRUE(testkit::same_bits(
        classification::count_classes_by_tensors(batch, samplewise, distance),
        counts));
  }
  return counts;
}

at::Tensor labels(at::IntArrayRef values) { return at::tensor(values); }

// By its definition.
std::int64_t prediction(const double* scores, std::int64_t target,
                        std::int64_t classes, std::int64_t top_k) {
  std::int64_t best = 0;
  std::int64_t above = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    if (scores[c] != scores[c]) return classification::kNanClass;
    if (scores[c] > scores[best]) best = c;
    if (target < 0 || target >= classes) continue;
    above += scores[c] > scores[target] ||
             (scores[c] == scores[target] && c < target);
  }
  const bool is_class = target >= 0 && target < classes;
  return is_class && above < top_k ? target : best;
}

// Few distinct scores, among them infinities, and now and then a NaN.
at::Tensor odd_scores(std::int64_t rows, std::int64_t classes) {
  const Sizes sizes = {rows, classes};
  return at::randint(0, 9, sizes)
      .to(at::kDouble)
      .masked_fill(at::rand(sizes).lt(0.1), -kInfinity)
      .masked_fill(at::rand(sizes).lt(0.02), kInfinity)
      .masked_fill(at::rand(sizes).lt(0.2 / static_cast<double>(classes)),
                   kNaN);
}

TEST(PredictionKernelsTest, PredictRows) {
  testkit::for_each_vector_target([] {
    for (std::int64_t classes = 1; classes <= 70; ++classes) {
      for (const std::int64_t rows : {1, 2, 23}) {
        const at::Tensor scores = odd_scores(rows, classes);
        const at::Tensor floats = scores.to(at::kFloat);
        const at::Tensor targets = at::randint(-1, classes + 1, {rows});
        const at::Tensor labels = targets.to(at::kLong);
        const auto* const target = labels.const_data_ptr<std::int64_t>();
        for (const std::int64_t k : {1, 2, 5}) {
          if (k > classes) continue;
          std::vector<std::int64_t> wide(rows), narrow(rows), expected;
          classification::predict_rows(scores.const_data_ptr<double>(), target,
                                       rows, classes, k, wide.data());
          classification::predict_rows(floats.const_data_ptr<float>(), target,
                                       rows, classes, k, narrow.data());
          for (std::int64_t i = 0; i < rows; ++i) {
            expected.push_back(
                prediction(scores.const_data_ptr<double>() + i * classes,
                           target[i], classes, k));
          }
          ASSERT_EQ(wide, expected) << classes << " classes, k " << k;
          ASSERT_EQ(narrow, expected) << classes << " classes, k " << k;
        }
      }
    }
  });
}

TEST(PredictionKernelsTest, PredictColumns) {
  testkit::for_each_vector_target([] {
    for (const std::int64_t columns : {1, 2, 7, 16, 70, 512, 1100}) {
      for (const std::int64_t classes : {1, 2, 21}) {
        const at::Tensor scores = odd_scores(columns + 3, classes);
        for (const auto type :
             {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
          const at::Tensor given = scores.t().to(type).contiguous();
          std::vector<std::int64_t> predicted(columns), expected;
          classification::predict_columns(given.const_data_ptr(), type, classes,
                                          columns + 3, columns,
                                          predicted.data());
          for (std::int64_t i = 0; i < columns; ++i) {
            expected.push_back(
                prediction(scores.const_data_ptr<double>() + i * classes,
                           /*target=*/-1, classes, /*top_k=*/1));
          }
          ASSERT_EQ(predicted, expected)
              << classes << " classes, " << columns << " columns, " << type;
        }
      }
    }
  });
}

TEST(MulticlassInputsTest, LoopEqualsTensorOperations) {
  for (const Sizes& shape : {Sizes({40}), Sizes({9, 130}), Sizes({3, 2, 5})}) {
    Sizes with_classes = shape;
    with_classes.insert(with_classes.begin() + 1, 5);
    // Whole numbers, so that there are ties; now and then a NaN.
    at::Tensor scores = at::randint(0, 6, with_classes).to(at::kFloat);
    scores = scores.masked_fill(at::rand(with_classes).lt(0.02), kNaN);
    const at::Tensor target = at::randint(-1, 5, shape, at::kLong);
    const at::Tensor predicted = at::randint(0, 5, shape, at::kLong);
    for (const bool samplewise : {false, true}) {
      for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
        for (const std::int64_t k : {1, 2, 5}) {
          const MulticlassRules rules{5, k, -1, policy};
          const at::Tensor counts =
              counts_of(rules, scores, target, samplewise);
          for (const auto dtype : {at::kDouble, at::kHalf, at::kBFloat16}) {
            EXPECT_TRUE(testkit::same_bits(
                counts_of(rules, scores.to(dtype), target, samplewise),
                counts));
          }
        }
      }
      counts_of({5, 1, -1}, predicted, target, samplewise);
      if (!samplewise) {
        const at::Tensor weight =
            at::randint(0, 8, shape)
                .div(4)
                .masked_fill(at::rand(shape).lt(0.05), kNaN);
        for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
          counts_of({5, 2, -1, policy}, scores, target, false, weight);
          counts_of({5, 1, -1, policy}, predicted, target, false, weight);
        }
      }
      counts_of({5, 1, 3}, predicted, target.clamp_min(0), samplewise);
      counts_of({5, 1, std::nullopt}, predicted, target.abs(), samplewise);
    }
  }
}

// As above, with enough classes for the loops over vectors, and enough rows for
// several threads.
TEST(MulticlassInputsTest, VectorsEqualTensorOperations) {
  for (const Sizes& shape :
       {Sizes({50, 16}), Sizes({300, 17}), Sizes({20, 33}), Sizes({9, 130}),
        Sizes({9000, 40}), Sizes({1, 1000})}) {
    const std::int64_t classes = shape[1];
    at::Tensor scores = at::randint(0, 30, shape).to(at::kFloat).sub(7);
    scores = scores.masked_fill(at::rand(shape).lt(0.2 / classes), kNaN);
    const at::Tensor target = at::randint(-1, classes, {shape[0]}, at::kLong);
    for (const std::int64_t k : {1, 2, 5}) {
      for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
        counts_of({classes, k, -1, policy}, scores, target);
        counts_of({classes, k, -1, policy}, scores.to(at::kDouble), target);
      }
    }
    counts_of({classes, 3, -1}, at::zeros(shape), target);
    counts_of({classes, 3, -1}, at::full(shape, -kInfinity), target);
  }
  EXPECT_THAT(refusal_of<c10::IndexError>([] {
                counts_of({20, 5, std::nullopt}, at::rand({3, 20}),
                          labels({0, 19, 20}));
              }),
              HasSubstr("expected target in [0, 20), got 20 at position 2"));
}

TEST(MulticlassInputsTest, LoopEqualsTensorOperationsOnNothing) {
  for (const bool samplewise : {false, true}) {
    for (const Sizes& shape : {Sizes({0}), Sizes({0, 3}), Sizes({3, 0})}) {
      Sizes with_classes = shape;
      with_classes.insert(with_classes.begin() + 1, 5);
      const at::Tensor target = at::empty(shape, at::kLong);
      counts_of({5, 2}, at::empty(with_classes), target, samplewise);
      counts_of({5, 1}, target, target, samplewise);
    }
  }
}

TEST(MulticlassInputsTest, TensorOperationsRefuseTheSame) {
  const auto message = [](const MulticlassRules& rules, const at::Tensor& preds,
                          const at::Tensor& target) {
    const MulticlassBatch batch(rules, preds, target);
    const auto text = refusal_of<c10::Error>(
        [&] { classification::count_classes_by_tensors(batch, false); });
    EXPECT_EQ(text, refusal_of<c10::Error>(
                        [&] { classification::count_classes(batch, false); }));
    return text;
  };
  EXPECT_THAT(message({3, 1, -1}, at::rand({3, 3}), labels({0, -1, 3})),
              HasSubstr("got 3 at position 2"));
  EXPECT_THAT(message({3}, labels({0, -5}), labels({0, 1})),
              HasSubstr("got -5 at position 1"));
  EXPECT_THAT(message({3, 1, {}, NanPolicy::kError}, at::full({2, 3}, kNaN),
                      labels({0, 1})),
              HasSubstr("expected preds without NaN, got NaN among the scores "
                        "for target's position 0"));
}

TEST(MulticlassInputsTest, LowerClassWinsTies) {
  const at::Tensor preds = at::tensor({1.0, 2.0, 2.0, 2.0}).reshape({1, 4});
  for (const std::int64_t target : {1, 2, 3}) {
    for (const std::int64_t k : {1, 2, 3}) {
      const at::Tensor counts =
          counts_of({4, k, std::nullopt, {}}, preds, labels({target}));
      const bool hit = target <= k;
      EXPECT_EQ(counts[target].item<std::int64_t>(), hit);
      EXPECT_EQ(counts[4 + (hit ? target : 1)].item<std::int64_t>(), 1);
    }
  }
}

TEST(MulticlassInputsTest, TakesEveryLabelType) {
  const at::Tensor preds = at::randint(0, 2, {30}, at::kLong);
  const at::Tensor target = at::randint(0, 2, {30}, at::kLong);
  const at::Tensor counts = counts_of({2}, preds, target);
  for (const auto dtype :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt}) {
    EXPECT_TRUE(testkit::same_bits(
        counts_of({2}, preds.to(dtype), target.to(dtype)), counts));
  }
}

}  // namespace
}  // namespace tally
