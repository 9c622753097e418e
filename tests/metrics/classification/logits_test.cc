#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/classification/inputs/logit_tensors.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/vector_targets.h"
#include "tally/tests/testing/with_gaps.h"

namespace tally {

namespace classification = internal::classification;
namespace {

using testkit::for_each_vector_target;
using testkit::same_bits;
using testkit::with_gaps;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

at::Tensor many_logits() {
  return at::cat(
      {at::randn({3000}, at::kDouble), at::randn({3000}, at::kDouble).mul(30),
       at::linspace(-800, 800, 1601, at::kDouble),
       at::tensor({0.0, -0.0, 1e-300, -1e-17, 36.7, kInf, -kInf, kNaN},
                  at::kDouble)});
}

// Every kernel's results of the same logits.
std::vector<at::Tensor> results_of_kernels(const at::Tensor& logits) {
  const at::Tensor single = logits.to(at::kFloat);
  const auto size = logits.numel();
  std::vector<at::Tensor> results;
  const auto fresh = [&]() {
    results.push_back(at::full({size}, 7, at::kDouble));
    return results.back().mutable_data_ptr<double>();
  };
  const auto* const wide = logits.const_data_ptr<double>();
  const auto* const narrow = single.const_data_ptr<float>();
  classification::sigmoids(wide, size, fresh());
  classification::sigmoids(narrow, size, fresh());
  classification::exps(wide, size, fresh());
  for (const std::int64_t classes : {2, 7, 8, 30}) {
    classification::softmaxes(wide, size / classes, classes, fresh());
    classification::softmaxes(narrow, size / classes, classes, fresh());
  }
  return results;
}

TEST(LogitKernelsTest, HaveTheSameBitsInAllVectors) {
  const at::Tensor logits = many_logits();
  std::vector<at::Tensor> first;
  for_each_vector_target([&] {
    const std::vector<at::Tensor> results = results_of_kernels(logits);
    if (first.empty()) first = results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(same_bits(results[i], first[i])) << i;
    }
    // One by one, behind the last whole vector.
    for (std::int64_t i = 0; i < logits.numel(); ++i) {
      const auto* const logit = logits.const_data_ptr<double>() + i;
      double one[2];
      classification::sigmoids(logit, 1, one);
      classification::exps(logit, 1, one + 1);
      for (int k = 0; k < 2; ++k) {
        const double other = first[2 * k].const_data_ptr<double>()[i];
        EXPECT_TRUE(one[k] == other ||
                    (std::isnan(one[k]) && std::isnan(other)))
            << *logit;
      }
    }
  });
}

TEST(LogitKernelsTest, HaveTheseBitsOnEveryProcessor) {
  for_each_vector_target([] {
    double values[5];
    const double logits[] = {0.0913897380232811f, -7.3, 2.5};
    classification::sigmoids(logits, 3, values);
    EXPECT_EQ(values[0], 0x1.0bb0938d11476p-1);
    EXPECT_EQ(values[1], 0x1.61f0120055274p-11);
    EXPECT_EQ(values[2], 0x1.d9291ddb596f8p-1);
    const double logs[] = {-0.37, -11.1, -300.7};
    classification::exps(logs, 3, values);
    EXPECT_EQ(values[0], 0x1.61a7ee209faffp-1);
    EXPECT_EQ(values[1], 0x1.fb15df8679a51p-17);
    EXPECT_EQ(values[2], 0x1.225720438e36dp-434);
    // Two that are fused would end on 9cf in the second.
    const double row[] = {1, -2.5, 3.25, 0.1, 3};
    classification::softmaxes(row, 1, 5, values);
    EXPECT_EQ(values[0], 0x1.bf519fa58e66ep-5);
    EXPECT_EQ(values[1], 0x1.b04060a9689cep-10);
    EXPECT_EQ(values[2], 0x1.0940b02b4b9d4p-1);
    EXPECT_EQ(values[3], 0x1.6bbb87ace07e1p-6);
    EXPECT_EQ(values[4], 0x1.9d2872d93f882p-2);
    EXPECT_EQ(classification::logit(0.3), -0x1.b1d10670aae9ap-1);
  });
}

TEST(LogitKernelsTest, TensorOperationsHaveTheSameBits) {
  const at::Tensor logits = many_logits();
  for (const at::Tensor& given :
       {logits, logits.to(at::kFloat), with_gaps(logits)}) {
    EXPECT_TRUE(same_bits(classification::sigmoids_by_tensors(given),
                          classification::sigmoids(given)));
    EXPECT_TRUE(same_bits(classification::exps_by_tensors(given),
                          classification::exps(given)));
  }
  const at::Tensor rows = logits.narrow(0, 0, 6000).view({200, 30});
  at::Tensor expected = at::full({200, 30}, 0, at::kDouble);
  classification::softmaxes(rows.const_data_ptr<double>(), 200, 30,
                            expected.mutable_data_ptr<double>());
  EXPECT_TRUE(same_bits(classification::softmaxes(rows), expected));
  EXPECT_TRUE(same_bits(classification::softmaxes(with_gaps(rows)), expected));
}

void expect_probabilities() {
  std::vector<double> logits = {0, -0.0, kInf, -kInf, 800, -800, 1e-300, 40};
  for (int i = 0; i < 20; ++i) logits.push_back(i - 10.3);
  const auto size = static_cast<std::int64_t>(logits.size());
  std::vector<double> values(size);
  classification::sigmoids(logits.data(), size, values.data());
  for (std::int64_t i = 0; i < size; ++i) {
    EXPECT_NEAR(values[i], 1 / (1 + std::exp(-logits[i])),
                1e-300 + 3e-16 * values[i])
        << logits[i];
  }
  EXPECT_EQ(values[0], 0.5);
  for (double& logit : logits) logit = -std::abs(logit);
  classification::exps(logits.data(), size, values.data());
  for (std::int64_t i = 0; i < size; ++i) {
    EXPECT_NEAR(values[i], std::exp(logits[i]), 1e-300 + 3e-16 * values[i])
        << logits[i];
  }
  EXPECT_EQ(values[0], 1);
  const std::vector<float> row = {1, -2, 3.5, 1, -1e30, 0.5, 1, 3.5, -90, 2};
  double sum = 0;
  for (const double x : row) sum += std::exp(x - 3.5);
  classification::softmaxes(row.data(), 1, 10, values.data());
  for (std::size_t c = 0; c < row.size(); ++c) {
    EXPECT_NEAR(values[c], std::exp(row[c] - 3.5) / sum, 1e-15) << c;
  }
  for (const double odd : {kNaN, kInf}) {
    logits[3] = odd;
    classification::softmaxes(logits.data(), 1, 5, values.data());
    for (int c = 0; c < 5; ++c) EXPECT_TRUE(std::isnan(values[c]));
  }
  for (const double p : {1e-300, 0.1, 0.3, 0.4999, 0.5, 0.7, 1 - 1e-15}) {
    EXPECT_NEAR(classification::logit(p), std::log(p / (1 - p)),
                1e-15 + 1e-15 * std::abs(classification::logit(p)))
        << p;
  }
  EXPECT_EQ(classification::logit(0), -kInf);
  EXPECT_EQ(classification::logit(1), kInf);
}

TEST(LogitKernelsTest, AreExactToTheLastDigits) {
  for_each_vector_target(expect_probabilities);
}

TEST(LogitKernelsTest, SoftmaxesDoNotSaturate) {
  const std::vector<double> row = {0, 50, 0};
  classification::LogSoftmaxTerms terms;
  classification::log_softmax_terms(row.data(), 1, 3, &terms);
  EXPECT_NEAR(terms.log_sum, 2 * std::exp(-50), 1e-36);
  const std::vector<double> ties = {2, 2, 2, 2};
  classification::log_softmax_terms(ties.data(), 1, 4, &terms);
  EXPECT_NEAR(terms.log_sum, std::log(4.0), 1e-15);
}

TEST(LogitKernelsTest, HigherLogitsHaveNoLowerProbabilities) {
  for (const float from : {-80.0f, -3.0f, -1e-3f, 0.25f, 1.0f, 7.0f}) {
    std::vector<float> logits = {from};
    for (int i = 0; i < 4000; ++i) {
      logits.push_back(std::nextafter(logits.back(), 100.0f));
    }
    std::vector<double> values(logits.size());
    classification::sigmoids(logits.data(), 4001, values.data());
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << from;
  }
}

// What is reported for the only score: at or above it is all there is.
template <class Options>
void expect_reached(const Options& options, const at::Tensor& logit) {
  const at::Tensor target = at::ones({1}, at::kLong);
  BinaryROC exact(options);
  exact.update(logit, target);
  const double threshold =
      exact.compute().thresholds[1].template item<double>();
  BinaryROC binned(
      BinaryROCOptions(options).thresholds(Thresholds({threshold})));
  binned.update(logit, target);
  const at::Tensor tpr = binned.compute().tpr;
  EXPECT_EQ(tpr[1].template item<double>(), 1)
      << logit << " reports " << threshold;
}

TEST(LogitsTest, ASingleLogitReachesItsThreshold) {
  const auto options = BinaryROCOptions().input(ScoreKind::kLogits);
  const at::Tensor logits =
      at::cat({at::full({1}, 0.0913897380232811), at::randn({2000}).mul(3)});
  for_each_vector_target([&] {
    for (std::int64_t i = 0; i < logits.numel(); ++i) {
      expect_reached(options, logits.narrow(0, i, 1));
    }
    const at::Tensor wide = at::randn({200}, at::kDouble).mul(10);
    for (std::int64_t i = 0; i < wide.numel(); ++i) {
      expect_reached(options, wide.narrow(0, i, 1));
      expect_reached(options, wide.narrow(0, i, 1).to(at::kHalf));
    }
    for (const double odd : {0.0, 40.0, 800.0, -40.0, -720.0, -800.0}) {
      expect_reached(options, at::full({1}, odd, at::kDouble));
    }
  });
}

TEST(LogitsTest, ARowOfLogitsReachesItsThresholds) {
  constexpr std::int64_t kClasses = 5;
  const auto options = MulticlassROCOptions(kClasses)
                           .average(Average::kNone)
                           .input(ScoreKind::kLogits);
  const at::Tensor rows = at::randn({200, kClasses}).mul(3);
  for_each_vector_target([&] {
    for (std::int64_t i = 0; i < rows.size(0); ++i) {
      const at::Tensor row = rows.narrow(0, i, 1);
      const std::int64_t c = i % kClasses;
      const at::Tensor target = at::full({1}, c, at::kLong);
      MulticlassROC exact(options);
      exact.update(row, target);
      const double threshold = exact.compute().thresholds[c][1].item<double>();
      for (const at::Tensor& given :
           {row, row.to(at::kDouble), with_gaps(row)}) {
        MulticlassROC binned(
            MulticlassROCOptions(options).thresholds(Thresholds({threshold})));
        binned.update(given, target);
        EXPECT_EQ(binned.compute().tpr[c][1].item<double>(), 1)
            << row << " reports " << threshold;
      }
    }
  });
}

// The curve's thresholds, ascending and in [0, 1], as a list.
std::vector<double> listed(const at::Tensor& thresholds) {
  const at::Tensor own = thresholds.contiguous();
  std::vector<double> list;
  for (std::int64_t i = own.numel(); i-- > 0;) {
    const double threshold = own.const_data_ptr<double>()[i];
    if (threshold <= 1) list.push_back(threshold);
  }
  return list;
}

void expect_curves_of_own_thresholds(const at::Tensor& logits,
                                     const at::Tensor& rows) {
  const auto options = BinaryROCOptions().input(ScoreKind::kLogits);
  const at::Tensor target = at::randint(0, 2, logits.sizes(), at::kLong);
  BinaryROC exact(options);
  exact.update(logits, target);
  const RocCurve curve = exact.compute();
  for (const at::Tensor& given :
       {logits, logits.to(at::kDouble), with_gaps(logits)}) {
    BinaryROC binned(
        BinaryROCOptions(options).thresholds(listed(curve.thresholds)));
    binned.update(given, target);
    const RocCurve own = binned.compute();
    EXPECT_TRUE(same_bits(own.thresholds, curve.thresholds));
    EXPECT_TRUE(same_bits(own.tpr, curve.tpr));
    EXPECT_TRUE(same_bits(own.fpr, curve.fpr));
  }

  const std::int64_t classes = rows.size(1);
  const auto given = MulticlassROCOptions(classes)
                         .average(Average::kNone)
                         .input(ScoreKind::kLogits);
  const at::Tensor labels = at::randint(0, classes, {rows.size(0)}, at::kLong);
  MulticlassROC of_rows(given);
  of_rows.update(rows, labels);
  const RocCurve curves = of_rows.compute();
  for (std::int64_t c = 0; c < classes; ++c) {
    MulticlassROC binned(
        MulticlassROCOptions(given).thresholds(listed(curves.thresholds[c])));
    binned.update(rows, labels);
    EXPECT_TRUE(same_bits(binned.compute().tpr[c], curves.tpr[c])) << c;
    EXPECT_TRUE(same_bits(binned.compute().fpr[c], curves.fpr[c])) << c;
  }
}

TEST(LogitsTest, CurvesAtTheirOwnThresholdsAreTheExactOnes) {
  const at::Tensor logits = at::randn({5000}).mul(4);
  const at::Tensor rows = at::randn({1000, 11}).mul(4);
  for_each_vector_target(
      [&] { expect_curves_of_own_thresholds(logits, rows); });
}

}  // namespace
}  // namespace tally
