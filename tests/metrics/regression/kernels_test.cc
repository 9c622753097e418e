#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tally/metrics/regression/kernels/error_kernels.h"
#include "tally/metrics/regression/kernels/row_kernels.h"

namespace tally {

namespace regression = internal::regression;
namespace {

using regression::ErrorKind;
using regression::RowKind;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = std::numeric_limits<double>::epsilon();

// For each kind of vectors that this processor has.
template <class Check>
void for_each_target(const Check& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::GetChosenTarget().Update(target);
    check();
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

long double exact_error(ErrorKind kind, double a, long double p,
                        long double t) {
  switch (kind) {
    case ErrorKind::kSquaredLog:
      return powl(log1pl(p) - log1pl(t), 2);
    case ErrorKind::kLogCosh: {
      const long double x = fabsl(p - t);
      const long double sinh = sinhl(fminl(x, 1) / 2);
      return x < 1 ? log1pl(2 * sinh * sinh)
                   : x + log1pl(expl(-2 * x)) - logl(2);
    }
    case ErrorKind::kPercentage:
      return fabsl(p - t) / fmaxl(fabsl(t), a);
    case ErrorKind::kSymmetric:
      return 2 * fabsl(p - t) / fmaxl(fabsl(p) + fabsl(t), a);
    case ErrorKind::kOverTargets:
      return fabsl(p - t);
    case ErrorKind::kPower:
      return powl(fabsl(p - t), a);
    case ErrorKind::kPinball:
      return fmaxl(a * (t - p), (a - 1) * (t - p));
    case ErrorKind::kPoisson:
      return 2 * ((t == 0 ? 0 : t * logl(t / p)) + p - t);
    case ErrorKind::kGamma:
      return 2 * (logl(p / t) + t / p - 1);
  }
  return 0;
}

// The sizes of what errors are the sum of: each is rounded.
long double size_of_error(ErrorKind kind, double p, double t) {
  if (kind == ErrorKind::kPoisson) {
    return 2 * (t == 0 ? p : fabsl(t * logl(t / p)) + fabsl(p - t));
  }
  return 2 * (fabsl(logl(p / t)) + fabsl(t / p - 1));
}

bool has_logarithm(ErrorKind kind) {
  return kind == ErrorKind::kPoisson || kind == ErrorKind::kGamma;
}

// From 1e-9 to 1e9, near each other and apart.
std::vector<std::pair<double, double>> positive_pairs() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> decades(-9, 9), near(-1, 1);
  std::vector<std::pair<double, double>> pairs = {{1, 1},
                                                  {1, 2},
                                                  {2, 1},
                                                  {1, 1.5},
                                                  {1.5, 1},
                                                  {0x1p50, 0x1p-400},
                                                  {0x1p-400, 0x1p50}};
  for (int i = 0; i < 2000; ++i) {
    const double p = std::pow(10, decades(random));
    const double t = i % 2 == 0 ? std::pow(10, decades(random))
                                : p * std::pow(1 + i * 1e-3, near(random));
    pairs.emplace_back(p, t);
  }
  return pairs;
}

void expect_accurate(ErrorKind kind, double parameter) {
  for (const auto& [p, t] : positive_pairs()) {
    const auto sums = regression::error_sums(kind, parameter, &p, &t, 1);
    ASSERT_TRUE(sums);
    const long double exact = exact_error(kind, parameter, p, t);
    const long double size =
        has_logarithm(kind) ? size_of_error(kind, p, t) : exact;
    EXPECT_NEAR(sums->sum, static_cast<double>(exact),
                static_cast<double>(8 * kRounding * size))
        << static_cast<int>(kind) << " of " << p << " and " << t;
    EXPECT_EQ(sums->weight, kind == ErrorKind::kOverTargets ? t : 1);
    EXPECT_TRUE(sums->valid);
  }
}

TEST(KernelsTest, ErrorsAreAccurate) {
  for_each_target([] {
    expect_accurate(ErrorKind::kSquaredLog, 0);
    expect_accurate(ErrorKind::kLogCosh, 0);
    expect_accurate(ErrorKind::kPercentage, 1e-6);
    expect_accurate(ErrorKind::kSymmetric, 1e-6);
    expect_accurate(ErrorKind::kOverTargets, 0);
    for (const int power : {1, 2, 3, 8}) {
      expect_accurate(ErrorKind::kPower, power);
    }
    expect_accurate(ErrorKind::kPinball, 0.3);
    expect_accurate(ErrorKind::kPoisson, 0);
    expect_accurate(ErrorKind::kGamma, 0);
  });
}

// Whole numbers: all types give the same.
template <class T>
void expect_sums(ErrorKind kind, double parameter) {
  for (const std::int64_t count : {1, 2, 3, 7, 8, 9, 31, 32, 100}) {
    std::vector<T> preds, target;
    long double sum = 0, weight = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      preds.push_back(static_cast<T>(1 + i * 7 % 11));
      target.push_back(static_cast<T>(2 + i * 5 % 13));
      const auto p = static_cast<long double>(preds.back());
      const auto t = static_cast<long double>(target.back());
      sum += exact_error(kind, parameter, p, t);
      weight += kind == ErrorKind::kOverTargets ? t : 1;
    }
    const auto sums = regression::error_sums(kind, parameter, preds.data(),
                                             target.data(), count);
    ASSERT_TRUE(sums);
    EXPECT_NEAR(sums->sum, static_cast<double>(sum),
                static_cast<double>(sum) * 1e-14);
    EXPECT_EQ(sums->weight, static_cast<double>(weight));
  }
}

TEST(KernelsTest, SumsAreThoseOfAllErrors) {
  for_each_target([] {
    for (const ErrorKind kind :
         {ErrorKind::kSquaredLog, ErrorKind::kLogCosh, ErrorKind::kPercentage,
          ErrorKind::kSymmetric, ErrorKind::kOverTargets, ErrorKind::kPower,
          ErrorKind::kPinball, ErrorKind::kPoisson, ErrorKind::kGamma}) {
      const double parameter = kind == ErrorKind::kPower ? 3 : 0.25;
      expect_sums<float>(kind, parameter);
      expect_sums<double>(kind, parameter);
      expect_sums<std::int64_t>(kind, parameter);
    }
  });
}

TEST(KernelsTest, ErrorsTakeOnlyWhatTheirFormulasHoldFor) {
  for_each_target([] {
    const auto sum = [](ErrorKind kind, double p, double t) {
      return regression::error_sums(kind, 0.5, &p, &t, 1);
    };
    for (const double odd : {kNaN, kInfinity, -2.0, 0x1p501}) {
      for (const ErrorKind kind :
           {ErrorKind::kSquaredLog, ErrorKind::kPoisson, ErrorKind::kGamma}) {
        EXPECT_FALSE(sum(kind, odd, 1));
        EXPECT_FALSE(sum(kind, 1, odd));
      }
    }
    EXPECT_FALSE(sum(ErrorKind::kPoisson, 0, 1));
    EXPECT_FALSE(sum(ErrorKind::kPoisson, 0, 0));
    EXPECT_FALSE(sum(ErrorKind::kGamma, 1, 0));
    EXPECT_EQ(sum(ErrorKind::kPoisson, 1.5, 0)->sum, 3);
    EXPECT_EQ(sum(ErrorKind::kLogCosh, kInfinity, 0)->sum, kInfinity);
    for (const ErrorKind kind :
         {ErrorKind::kLogCosh, ErrorKind::kPercentage, ErrorKind::kSymmetric,
          ErrorKind::kOverTargets, ErrorKind::kPower, ErrorKind::kPinball}) {
      EXPECT_TRUE(std::isnan(sum(kind, kNaN, 1)->sum));
      EXPECT_TRUE(std::isnan(sum(kind, 1, kNaN)->sum));
    }
  });
}

long double exact_score(RowKind kind, const double* a, const double* b,
                        std::int64_t size) {
  long double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    sum_a += a[i];
    sum_b += b[i];
    aa += static_cast<long double>(a[i]) * a[i];
    bb += static_cast<long double>(b[i]) * b[i];
    ab += static_cast<long double>(a[i]) * b[i];
  }
  if (kind == RowKind::kCosine) {
    return aa == 0 || bb == 0 ? 0 : ab / (sqrtl(aa) * sqrtl(bb));
  }
  const auto term = [](long double p, long double q) {
    return p == 0 ? 0 : p * logl(p / q);
  };
  long double score = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const long double p = a[i] / sum_a;
    const long double q = b[i] / sum_b;
    const long double m = (p + q) / 2;
    score += kind == RowKind::kKL ? term(p, q) : (term(p, m) + term(q, m)) / 2;
  }
  return score;
}

struct TwoInputs {
  std::vector<double> a, b;
};

// Numbers that float32 holds as well; `zeros`: a has some.
TwoInputs two_inputs(std::int64_t count, bool zeros) {
  std::mt19937_64 random(static_cast<std::uint64_t>(count));
  std::uniform_int_distribution<int> numbers(1, 1 << 20);
  TwoInputs inputs;
  for (std::int64_t i = 0; i < count; ++i) {
    inputs.a.push_back(zeros && i % 3 == 0 ? 0 : numbers(random));
    inputs.b.push_back(numbers(random));
  }
  return inputs;
}

template <class T>
void expect_scores(RowKind kind, std::int64_t rows, std::int64_t size,
                   bool zeros) {
  const TwoInputs inputs = two_inputs(rows * size, zeros);
  const std::vector<T> a(inputs.a.begin(), inputs.a.end());
  const std::vector<T> b(inputs.b.begin(), inputs.b.end());
  std::vector<double> scores(static_cast<std::size_t>(rows));
  const auto sum =
      regression::row_scores(kind, a.data(), b.data(), rows, size, nullptr);
  const auto written = regression::row_scores(kind, a.data(), b.data(), rows,
                                              size, scores.data());
  ASSERT_TRUE(sum && written);
  long double expected = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const long double score = exact_score(kind, inputs.a.data() + row * size,
                                          inputs.b.data() + row * size, size);
    EXPECT_NEAR(scores[row], static_cast<double>(score), 1e-14);
    expected += score;
  }
  EXPECT_NEAR(*sum, static_cast<double>(expected), 1e-14 * rows);
  EXPECT_NEAR(*written, *sum, 1e-14 * rows);
}

TEST(KernelsTest, RowScoresAreAccurate) {
  for_each_target([] {
    for (const RowKind kind :
         {RowKind::kKL, RowKind::kJensenShannon, RowKind::kCosine}) {
      // Shorter than a vector, and longer than what is buffered.
      for (const std::int64_t size : {2, 3, 7, 8, 9, 10, 16, 100, 700, 1300}) {
        for (const std::int64_t rows : {1, 5, 67}) {
          if (rows * size > 20'000) continue;
          SCOPED_TRACE(::testing::Message() << static_cast<int>(kind) << ", "
                                            << rows << " rows of " << size);
          expect_scores<float>(kind, rows, size, false);
          expect_scores<double>(kind, rows, size, size > 3);
          expect_scores<std::int64_t>(kind, rows, size, false);
        }
      }
    }
  });
}

TEST(KernelsTest, RowsThatAreEqualOrHaveNothingInCommon) {
  for_each_target([] {
    const double p[] = {1, 2, 0, 0, 5}, q[] = {0, 0, 3, 1, 0};
    const double ones[] = {1, 1, 1, 1, 1};
    const auto score = [](RowKind kind, const double* a, const double* b) {
      return regression::row_scores(kind, a, b, 1, 5, nullptr);
    };
    EXPECT_EQ(score(RowKind::kKL, p, p), 0);
    EXPECT_EQ(score(RowKind::kJensenShannon, p, p), 0);
    EXPECT_DOUBLE_EQ(*score(RowKind::kJensenShannon, p, q), std::log(2));
    EXPECT_EQ(score(RowKind::kCosine, p, q), 0);
    // Infinite: not for this loop.
    EXPECT_FALSE(score(RowKind::kKL, ones, p));
    const double zeros[] = {0, 0, 0, 0, 0};
    EXPECT_EQ(score(RowKind::kCosine, zeros, ones), 0);
    const double negative[] = {2, 2, 2, 2, -1}, nan[] = {1, 1, 1, kNaN, 1};
    const double infinite[] = {1, kInfinity, 1, 1, 1};
    for (const RowKind kind : {RowKind::kKL, RowKind::kJensenShannon}) {
      for (const double* odd : {zeros, negative, nan, infinite}) {
        EXPECT_FALSE(score(kind, odd, ones));
        EXPECT_FALSE(score(kind, ones, odd));
      }
    }
    EXPECT_TRUE(std::isnan(*score(RowKind::kCosine, ones, nan)));
  });
}

template <class T>
void expect_ensembles(std::int64_t rows, std::int64_t members) {
  const TwoInputs inputs = two_inputs(rows * members, true);
  const std::vector<T> preds(inputs.a.begin(), inputs.a.end());
  const std::vector<T> target(inputs.b.begin(), inputs.b.begin() + rows);
  const auto size = static_cast<double>(members);
  double expected = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* const p = inputs.a.data() + row * members;
    for (std::int64_t i = 0; i < members; ++i) {
      expected += std::abs(p[i] - inputs.b[row]) / size;
      for (std::int64_t j = 0; j < i; ++j) {
        expected -= std::abs(p[i] - p[j]) / (size * size);
      }
    }
  }
  EXPECT_NEAR(regression::ensemble_score_sum(preds.data(), target.data(), rows,
                                             members),
              expected, 1e-12 * expected);
}

TEST(KernelsTest, EnsembleScoresCompareAllMembers) {
  for_each_target([] {
    for (const std::int64_t members : {1, 2, 3, 10, 64}) {
      for (const std::int64_t rows : {1, 7, 8, 33}) {
        expect_ensembles<float>(rows, members);
        expect_ensembles<double>(rows, members);
        expect_ensembles<std::int64_t>(rows, members);
      }
    }
    const double nan[] = {1, kNaN, 2}, target[] = {1};
    EXPECT_TRUE(std::isnan(regression::ensemble_score_sum(nan, target, 1, 3)));
  });
}

}  // namespace
}  // namespace tally
