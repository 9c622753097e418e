// How often 95 % intervals of the difference of two models cover the truth, and
// how often p is below 0.05 without a difference: see README.md.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/intervals/intervals.h"
#include "tally/metrics/regression/mean_squared_error.h"

namespace {

using tally::Comparison;
using tally::ComparisonMethod;

at::Generator& generator() {
  static at::Generator random = at::detail::createCPUGenerator(/*seed=*/1);
  return random;
}

at::Tensor normal(std::int64_t n) {
  return at::randn({n}, generator(), at::kDouble);
}

/// What two models predict for the same rows.
struct Rows {
  at::Tensor first;
  at::Tensor second;
  at::Tensor target;
};
using Draw = std::function<Rows(std::int64_t n)>;

/// Rows of `cells`, probabilities by 4 * target + 2 * first + second.
Rows draw_cells(const std::vector<double>& cells, std::int64_t n) {
  const at::Tensor ends =
      at::tensor(cells, at::kDouble).cumsum(0).slice(0, 0, -1);
  const at::Tensor cell =
      at::rand({n, 1}, generator(), at::kDouble).ge(ends).to(at::kLong).sum(1);
  return {cell.bitwise_and(2).ne(0), cell.bitwise_and(1).ne(0), cell.ge(4)};
}

/// Cells of two classes alike, by which models are right.
std::vector<double> cells_of(double both, double first, double second) {
  const double neither = 1 - both - first - second;
  std::vector<double> cells = {both,    first,  second, neither,
                               neither, second, first,  both};
  for (double& cell : cells) cell /= 2;
  return cells;
}

/// Scores with these distances of the classes' means in standard deviations,
/// whose noise is correlated.
Rows draw_scores(double share, double first, double second, std::int64_t n) {
  constexpr double kCorrelation = 0.8;
  const at::Tensor target =
      at::rand({n}, generator(), at::kDouble).lt(share).to(at::kLong);
  const at::Tensor noise = normal(n);
  const double rest = std::sqrt(1 - kCorrelation * kCorrelation);
  return {
      target.mul(first).add(noise),
      target.mul(second).add(noise.mul(kCorrelation)).add(normal(n).mul(rest)),
      target};
}

/// Errors, of which the second model's have this variance.
Rows draw_errors(double variance, std::int64_t n) {
  const at::Tensor common = normal(n);
  const double scale = std::sqrt(0.5);
  const auto errors = [&] { return common.add(normal(n)).mul(scale); };
  return {errors(), errors().mul(std::sqrt(variance)),
          at::zeros({n}, at::kDouble)};
}

/// Two models with a true difference.
struct Case {
  const char* name;
  double difference;
  Draw draw;
};

template <class Make>
void measure(const Case& truth, ComparisonMethod method, const Make& make,
             std::int64_t runs) {
  const std::string name =
      tally::internal::OptionType<ComparisonMethod>::print(method);
  std::printf("| %s | %s |", truth.name, name.c_str());
  std::string alarms;
  for (const std::int64_t n : {50, 200, 1000}) {
    std::int64_t covered = 0, found = 0;
    for (std::int64_t run = 0; run < runs; ++run) {
      tally::ModelComparison models(
          make(), tally::ModelComparisonOptions().method(method).seed(run));
      const Rows rows = truth.draw(n);
      models.update(rows.first, rows.second, rows.target);
      const Comparison result = models.compute().value();
      covered += result.low.item<double>() <= truth.difference &&
                 truth.difference <= result.high.item<double>();
      found += result.p_value.item<double>() < 0.05;
    }
    const auto percent = [runs](std::int64_t count) {
      return 100. * static_cast<double>(count) / static_cast<double>(runs);
    };
    std::printf(" %.1f |", percent(covered));
    std::fflush(stdout);
    char text[32];
    std::snprintf(text, sizeof text, " %.1f |", percent(found));
    alarms += truth.difference == 0 ? text : " |";
  }
  std::printf("%s\n", alarms.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  using Method = ComparisonMethod;
  const std::int64_t runs = argc > 1 ? std::atoll(argv[1]) : 10'000;
  const std::int64_t resampled = argc > 2 ? std::atoll(argv[2]) : runs;
  std::printf(
      "| truth | method | n = 50 | 200 | 1000 | p < .05: 50 | 200 | 1000 |\n"
      "|---|---|---|---|---|---|---|---|\n");
  const auto cells = [](const std::vector<double>& each) {
    return [each](std::int64_t n) { return draw_cells(each, n); };
  };
  const auto accuracy = [] { return tally::BinaryAccuracy(); };
  for (const Case& each :
       {Case{"accuracy .90, .85", 0.05, cells(cells_of(0.82, 0.08, 0.03))},
        Case{"accuracy .90, .90", 0, cells(cells_of(0.85, 0.05, 0.05))},
        Case{"accuracy .99, .98", 0.01,
             cells(cells_of(0.975, 0.015, 0.005))}}) {
    measure(each, Method::kMcnemar, accuracy, runs);
    measure(each, Method::kPoisson, accuracy, resampled);
  }
  // sqrt(2) times normal quantiles.
  constexpr double k75 = 0.9538725524089, k80 = 1.1902321628999,
                   k85 = 1.4657381559184;
  const auto area = [] {
    return tally::BinaryAUROC(
        tally::BinaryAUROCOptions().input(tally::ScoreKind::kScores));
  };
  const auto scores = [](double share, double first, double second) {
    return [=](std::int64_t n) { return draw_scores(share, first, second, n); };
  };
  for (const Case& each :
       {Case{"AUROC .80, .75, half positive", 0.05, scores(0.5, k80, k75)},
        Case{"AUROC .80, .80, half positive", 0, scores(0.5, k80, k80)},
        Case{"AUROC .85, .80, 10 % positive", 0.05, scores(0.1, k85, k80)}}) {
    measure(each, Method::kDelong, area, runs);
    measure(each, Method::kJackknife, area, resampled);
  }
  // Of 40 % positives, 80 % and 75 % are found, and as many wrong ones.
  const Case f1_case{"F1 .80, .75", 0.05,
                     cells({0.47, 0.05, 0.03, 0.05, 0.05, 0.03, 0.05, 0.27})};
  const auto f1_score = [] { return tally::BinaryF1Score(); };
  for (const Method method :
       {Method::kPoisson, Method::kDoubleOrNothing, Method::kJackknife}) {
    measure(f1_case, method, f1_score, resampled);
  }
  const auto error = [] { return tally::MeanSquaredError(); };
  for (const Case& each :
       {Case{"squared error 1.0, 1.2", -0.2,
             [](std::int64_t n) { return draw_errors(1.2, n); }},
        Case{"squared error 1.0, 1.0", 0,
             [](std::int64_t n) { return draw_errors(1, n); }}}) {
    measure(each, Method::kPoisson, error, resampled);
    measure(each, Method::kJackknife, error, resampled);
  }
}
