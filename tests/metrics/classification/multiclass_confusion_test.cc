#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "tally/metrics/classification/confusion_matrix.h"
#include "tally/testing/compare.h"
#include "tally/testing/metric_laws.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {

namespace classification = internal::classification;
namespace {

using classification::MulticlassBatch;
using classification::MulticlassRules;
using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Options = MulticlassConfusionMatrixOptions;
using Sizes = std::vector<std::int64_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Normalize kNormalize[] = {Normalize::kNone, Normalize::kTrue,
                                    Normalize::kPred, Normalize::kAll};

at::Tensor labels(at::IntArrayRef values) { return at::tensor(values); }

at::Tensor random_labels(std::int64_t classes, std::int64_t size) {
  return at::randint(0, classes, {size}, at::kLong);
}

TEST(MulticlassConfusionTest, SumsWeights) {
  const at::Tensor preds = random_labels(4, 60);
  const at::Tensor target = random_labels(4, 60);
  const at::Tensor times = random_labels(4, 60);
  MulticlassConfusionMatrix weighted(4);
  MulticlassConfusionMatrix repeated(4);
  weighted.update(preds, target, times);
  repeated.update(preds.repeat_interleave(times),
                  target.repeat_interleave(times));
  EXPECT_TRUE(
      testkit::near(weighted.compute(), repeated.compute().to(at::kDouble)));
  weighted.update(preds, target);
  repeated.update(preds, target);
  EXPECT_TRUE(
      testkit::near(weighted.compute(), repeated.compute().to(at::kDouble)));
  const MulticlassRules rules{4};
  const at::Tensor nan = times.to(at::kDouble).masked_fill(times.eq(3), kNaN);
  for (const at::Tensor& weight : {times.to(at::kDouble), nan}) {
    const MulticlassBatch batch(rules, preds, target, weight);
    const auto by_loop = classification::pairs_of(batch);
    const auto by_tensors = classification::pairs_by_tensors(batch);
    EXPECT_TRUE(testkit::same_bits(by_tensors.sums, by_loop.sums));
    EXPECT_EQ(by_tensors.nans.value(), by_loop.nans.value());
  }
}

// Counted one by one.
at::Tensor matrix_of(const at::Tensor& preds, const at::Tensor& target,
                     std::int64_t classes) {
  const at::Tensor pairs = target.mul(classes).add(preds);
  return pairs.bincount({}, classes * classes).reshape({classes, classes});
}

TEST(MulticlassConfusionTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.strip_options = {"input"};
  testkit::check_metric<MulticlassConfusionMatrix>("MulticlassConfusionMatrix",
                                                   options);
}

TEST(MulticlassConfusionTest, RowsAreTargets) {
  MulticlassConfusionMatrix matrix(3);
  matrix.update(labels({1, 1, 2}), labels({0, 1, 0}));
  const at::Tensor value = matrix.compute();
  EXPECT_EQ(value.scalar_type(), at::kLong);
  EXPECT_TRUE(testkit::same_bits(
      value, labels({0, 1, 1, 0, 1, 0, 0, 0, 0}).reshape({3, 3})));
  EXPECT_EQ(matrix.repr(),
            "MulticlassConfusionMatrix(num_classes=3, ignore_index=none, "
            "normalize=none)");
  EXPECT_EQ(matrix.higher_is_better(), std::nullopt);
  EXPECT_FALSE(matrix.is_differentiable());
}

TEST(MulticlassConfusionTest, NormalizedSharesTheState) {
  EXPECT_EQ(MulticlassConfusionMatrix(3).state_key(),
            MulticlassConfusionMatrix(Options(3).normalize(Normalize::kAll))
                .state_key());
  EXPECT_NE(MulticlassConfusionMatrix(3).state_key(),
            MulticlassConfusionMatrix(Options(3).ignore_index(0)).state_key());
}

TEST(MulticlassConfusionTest, OptionsAreChecked) {
  for (const std::int64_t classes : {0, 1, 46341}) {
    EXPECT_THAT(refusal_of<c10::ValueError>(
                    [&] { MulticlassConfusionMatrix matrix(classes); }),
                HasSubstr(c10::str("MulticlassConfusionMatrix: expected "
                                   "num_classes from 2 to 46340, got ",
                                   classes)));
  }
}

TEST(MulticlassConfusionTest, OfNothing) {
  for (const Normalize normalize : kNormalize) {
    MulticlassConfusionMatrix matrix(Options(3).normalize(normalize));
    const at::Tensor zeros = at::zeros({3, 3});
    EXPECT_TRUE(testkit::near(matrix.compute(), zeros));
    matrix.update(at::empty({0, 3}), at::empty({0}, at::kLong));
    EXPECT_TRUE(testkit::near(matrix.compute(), zeros));
    EXPECT_EQ(matrix.compute().scalar_type(),
              normalize == Normalize::kNone ? at::kLong : at::kDouble);
  }
}

TEST(MulticlassConfusionTest, NanPolicies) {
  at::Tensor preds = at::arange(6, at::kFloat).reshape({3, 2});
  preds[1][0] = kNaN;
  const at::Tensor target = labels({0, 1, 1});
  // Few classes are counted at once, many are kept as pairs first.
  for (const std::int64_t classes : {2, 100}) {
    const at::Tensor scores = at::full({3, classes}, -1.0f);
    scores.narrow(1, 0, 2).copy_(preds);
    for (const Normalize normalize : kNormalize) {
      const auto metric = [&](NanPolicy policy) {
        return MulticlassConfusionMatrix(Options(classes).normalize(normalize),
                                         MetricOptions().nan_policy(policy));
      };
      MulticlassConfusionMatrix propagate = metric(NanPolicy::kPropagate);
      propagate.update(scores, target);
      EXPECT_TRUE(testkit::near(propagate.compute(),
                                at::full({classes, classes}, kNaN)));

      MulticlassConfusionMatrix ignore = metric(NanPolicy::kIgnore);
      ignore.update(scores, target);
      MulticlassConfusionMatrix without = metric(NanPolicy::kPropagate);
      without.update(labels({1, 1}), labels({0, 1}));
      EXPECT_TRUE(testkit::same_bits(ignore.compute(), without.compute()));

      MulticlassConfusionMatrix error = metric(NanPolicy::kError);
      EXPECT_THAT(
          refusal_of<c10::ValueError>([&] { error.update(scores, target); }),
          HasSubstr("expected preds without NaN, got NaN among the scores for "
                    "target's position 1"));
      EXPECT_EQ(error.status(), MetricStatus::kEmpty);
    }
  }
}

TEST(MulticlassConfusionTest, RefusesLabelsThatAreNoClasses) {
  for (const std::int64_t classes : {3, 100}) {
    MulticlassConfusionMatrix matrix(classes);
    matrix.update(labels({0}), labels({1}));
    const at::Tensor before = matrix.compute();
    EXPECT_THAT(refusal_of<c10::IndexError>([&] {
                  matrix.update(labels({0, 0}), labels({0, classes}));
                }),
                HasSubstr("at position 1"));
    EXPECT_THAT(refusal_of<c10::IndexError>(
                    [&] { matrix.update(labels({-1}), labels({0})); }),
                HasSubstr("expected preds in [0, "));
    EXPECT_TRUE(testkit::same_bits(matrix.compute(), before));
  }
}

TEST(MulticlassConfusionTest, LoopEqualsTensorOperations) {
  for (const Sizes& shape : {Sizes({60}), Sizes({9, 70}), Sizes({0, 2})}) {
    for (const std::int64_t classes : {5, 100}) {
      Sizes with_classes = shape;
      with_classes.insert(with_classes.begin() + 1, classes);
      at::Tensor scores = at::randint(0, 6, with_classes).to(at::kFloat);
      scores = scores.masked_fill(at::rand(with_classes).lt(0.002), kNaN);
      const at::Tensor target = at::randint(-1, classes, shape, at::kLong);
      for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
        const MulticlassRules rules{classes, 1, -1, policy};
        const MulticlassBatch batch(rules, scores, target);
        const MulticlassConfusion::State loop = classification::pairs_of(batch);
        const MulticlassConfusion::State ops =
            classification::pairs_by_tensors(batch);
        const at::Tensor counts = loop.matrix();
        EXPECT_TRUE(testkit::near(
            counts.defined() ? counts : at::zeros({classes, classes}),
            ops.counts));
        EXPECT_EQ(loop.nans.value(), ops.nans.value());
      }
    }
  }
}

TEST(MulticlassConfusionTest, AddsPairsTheSameWay) {
  const at::Tensor pairs = random_labels(9, 50).to(at::kInt);
  const at::Tensor loop = at::zeros({3, 3}, at::kLong);
  const at::Tensor ops = at::zeros({3, 3}, at::kLong);
  classification::add_pairs(loop, pairs);
  classification::add_pairs_by_tensors(ops, pairs);
  EXPECT_TRUE(testkit::same_bits(loop, ops));
  EXPECT_EQ(loop.sum().item<std::int64_t>(), 50);
}

TEST(MulticlassConfusionTest, RefusesPairsOfOtherClasses) {
  for (const std::int64_t pair : {-1, 9}) {
    const at::Tensor counts = at::zeros({3, 3}, at::kLong);
    EXPECT_THAT(
        refusal_of<c10::ValueError>([&] {
          classification::add_pairs(counts, labels({0, pair}).to(at::kInt));
        }),
        HasSubstr("expected pairs of 3 classes in the state"));
    EXPECT_EQ(counts.sum().item<std::int64_t>(), 0);
  }
}

TEST(MulticlassConfusionTest, KeepsPairsUntilTheyTakeHalfAMatrix) {
  constexpr std::int64_t kClasses = 50;
  MulticlassConfusionMatrix matrix(kClasses);
  const at::Tensor expected = at::zeros({kClasses, kClasses}, at::kLong);
  bool was_compacted = false;
  for (int i = 0; i < 12; ++i) {
    const at::Tensor preds = random_labels(kClasses, 450);
    const at::Tensor target = random_labels(kClasses, 450);
    matrix.update(preds, target);
    expected.add_(matrix_of(preds, target, kClasses));
    EXPECT_TRUE(testkit::same_bits(matrix.compute(), expected));
    const Results state = matrix.state();
    if (i < 5) {
      EXPECT_FALSE(state["counts"].defined());
    }
    was_compacted |= state["counts"].defined();
    EXPECT_LT(state["pairs"].size(0), kClasses * kClasses + 450);
  }
  EXPECT_TRUE(was_compacted);
}

// So few rows beside so many classes stay pairs until the end.
TEST(MulticlassConfusionTest, ObeysTheLawsAsPairs) {
  constexpr std::int64_t kClasses = 40;
  testkit::check_metric_laws(
      [](const MetricOptions& options) {
        return std::make_unique<MulticlassConfusionMatrix>(Options(kClasses),
                                                           options);
      },
      testkit::batch_of(
          {testkit::labels(kClasses), testkit::labels(kClasses)}));
}

TEST(MulticlassConfusionTest, CompactingLeavesCopiesAlone) {
  constexpr std::int64_t kClasses = 40;
  const at::Tensor preds = random_labels(kClasses, 1599);
  const at::Tensor target = random_labels(kClasses, 1599);
  const at::Tensor once = matrix_of(preds, target, kClasses);
  MulticlassConfusionMatrix matrix(kClasses);
  // Three updates: pairs counted into a matrix, and more pairs beside it.
  for (int i = 0; i < 3; ++i) matrix.update(preds, target);
  ASSERT_TRUE(matrix.state()["counts"].defined());
  const std::unique_ptr<Metric> copy = matrix.clone();
  for (int i = 0; i < 3; ++i) matrix.update(preds, target);
  EXPECT_TRUE(testkit::same_bits(copy->compute_results()[""], once.mul(3)));
  EXPECT_TRUE(testkit::same_bits(matrix.compute(), once.mul(6)));
  matrix.merge_state(*copy);
  EXPECT_TRUE(testkit::same_bits(matrix.compute(), once.mul(9)));
}

// One rank has a matrix that is reduced by itself, the others pairs that are
// more than a matrix only together.
TEST(MulticlassConfusionTest, SyncsLargeMatricesAndPairs) {
  constexpr std::int64_t kClasses = 400;
  constexpr std::int64_t kPairs = 100'000;
  const at::Tensor preds = random_labels(kClasses, kPairs);
  const at::Tensor target = random_labels(kClasses, kPairs);
  const at::Tensor once = matrix_of(preds, target, kClasses);
  std::vector<std::vector<at::Tensor>> values(4);
  testkit::run_thread_ranks(4, [&](const std::shared_ptr<sync::Communicator>&
                                       communicator) {
    MulticlassConfusionMatrix matrix(kClasses);
    const int updates = communicator->rank() == 0 ? 4 : 1;
    for (int i = 0; i < updates; ++i) matrix.update(preds, target);
    values[communicator->rank()] = {matrix.state()["counts"], matrix.compute()};
  });
  EXPECT_TRUE(values[0][0].defined());
  EXPECT_FALSE(values[1][0].defined());
  for (const auto& value : values) {
    EXPECT_TRUE(testkit::same_bits(value[1], once.mul(7)));
  }
}

}  // namespace
}  // namespace tally
