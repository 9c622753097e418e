// The coverage of intervals of differences, and how often p is below .05:
// see ../README.md and docs/statistics.md.
//
//     comparison_coverage [RUNS] [PART OF A SITUATION'S NAME]

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <string>
#include <vector>

#include "tally/benchmarks/coverage/simulation.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/regression/mean_squared_error.h"

namespace tally::coverage {
namespace {

using Method = ComparisonMethod;

/// Rows of `all`, probabilities by 4 * target + 2 * first + second.
Rows paired_labels(const std::vector<double>& all, std::int64_t n) {
  const at::Tensor cell = cells(all, n);
  return {cell.bitwise_and(2).ne(0), cell.ge(4), cell.bitwise_and(1).ne(0)};
}

/// Two classes alike, by which models are right.
std::vector<double> right(double both, double first, double second) {
  const double neither = 1 - both - first - second;
  std::vector<double> all = {both,    first,  second, neither,
                             neither, second, first,  both};
  for (double& each : all) each /= 2;
  return all;
}

/// Scores whose noise is correlated, of areas `first` and `second`.
Rows paired_scores(std::int64_t positives, std::int64_t n, double first,
                   double second) {
  constexpr double kCorrelation = 0.8;
  const auto distance = [](double area) {
    return std::sqrt(2.0) * internal::intervals::normal_quantile(area);
  };
  const at::Tensor target = at::arange(n).lt(positives).to(at::kLong);
  const at::Tensor noise = normal({n});
  const double rest = std::sqrt(1 - kCorrelation * kCorrelation);
  return {target.mul(distance(first)).add(noise), target,
          target.mul(distance(second)).add(noise * kCorrelation) +
              normal({n}) * rest};
}

/// Errors of which half the variance is common, the second's times `scale`.
Rows paired_errors(std::int64_t n, double scale, bool has_tails = false) {
  const at::Tensor common = normal({n});
  const auto own = [&] {
    at::Tensor errors = common.add(normal({n})).mul(std::sqrt(0.5));
    if (has_tails) {
      // Student's t with 3 degrees of freedom.
      const at::Tensor squares = normal({3, n}).square().mean(0);
      errors = errors / squares.sqrt();
    }
    return errors;
  };
  return {own(), at::zeros({n}, at::kDouble), own() * scale};
}

/// Groups of 10 rows with an effect for each model, and rows in common.
Rows grouped_errors(std::int64_t groups) {
  const at::Tensor ids = at::arange(groups).repeat_interleave(10);
  const at::Tensor common = normal({10 * groups});
  const auto own = [&] {
    return normal({groups}).repeat_interleave(10) + common +
           normal({10 * groups});
  };
  return {own(), at::zeros({10 * groups}, at::kDouble), own(), ids};
}

void accuracies(const Choice& choice) {
  const auto metric = [] { return OwnedMetric(BinaryAccuracy()); };
  for (const std::int64_t n : {50, 200}) {
    const std::string rest = ", n = " + std::to_string(n);
    measure_comparisons(
        choice,
        {"accuracy .90, .90" + rest, 0, metric,
         [=] { return paired_labels(right(0.85, 0.05, 0.05), n); }},
        {Method::kJackknife});
    measure_comparisons(
        choice,
        {"accuracy .92, .86" + rest, 0.06, metric,
         [=] { return paired_labels(right(0.82, 0.10, 0.04), n); }},
        {Method::kJackknife});
    measure_comparisons(
        choice,
        {"accuracy .99, .99" + rest, 0, metric,
         [=] { return paired_labels(right(0.98, 0.01, 0.01), n); }},
        {Method::kJackknife});
    // Of 40 % positives, 80 % and 75 % are found, and as many wrong ones.
    measure_comparisons(
        choice, {"F1 .80, .75" + rest, 0.05,
                 [] { return OwnedMetric(BinaryF1Score()); },
                 [=] {
                   return paired_labels(
                       {0.47, 0.05, 0.03, 0.05, 0.05, 0.03, 0.05, 0.27}, n);
                 }});
  }
}

void areas(const Choice& choice) {
  const auto metric = [] {
    return OwnedMetric(
        BinaryAUROC(BinaryAUROCOptions().input(ScoreKind::kScores)));
  };
  const auto precision = [] { return OwnedMetric(BinaryAveragePrecision()); };
  for (const auto& [positives, n] :
       {std::pair<std::int64_t, std::int64_t>{25, 50},
        {10, 100},
        {5, 100},
        {100, 200}}) {
    const std::string rest =
        ", " + std::to_string(positives) + " of " + std::to_string(n);
    for (const double second : {0.8, 0.85}) {
      measure_comparisons(
          choice, {"AUROC .85, " + std::to_string(second).substr(1, 3) + rest,
                   0.85 - second, metric, [=, p = positives, n = n] {
                     return paired_scores(p, n, 0.85, second);
                   }});
    }
    measure_comparisons(choice, {"average precision of equal models" + rest, 0,
                                 precision, [=, p = positives, n = n] {
                                   Rows rows = paired_scores(p, n, 0.85, 0.85);
                                   rows.preds = rows.preds.sigmoid();
                                   rows.other = rows.other.sigmoid();
                                   return rows;
                                 }});
  }
}

void means(const Choice& choice) {
  const auto metric = [] { return OwnedMetric(MeanSquaredError()); };
  for (const std::int64_t n : {4, 5, 8, 10, 20, 50, 200, 500}) {
    const std::string rest = ", n = " + std::to_string(n);
    for (const bool has_tails : {false, true}) {
      measure_comparisons(
          choice,
          {(has_tails ? "MSE of equal models, t3 errors"
                      : "MSE of equal models") +
               rest,
           0, metric, [=] { return paired_errors(n, 1, has_tails); }},
          {Method::kPoisson});
    }
    measure_comparisons(choice,
                        {"MSE, errors times 1.25" + rest, 1 - 1.25 * 1.25,
                         metric, [=] { return paired_errors(n, 1.25); }},
                        {Method::kPoisson});
  }
  for (const std::int64_t groups : {4, 5, 8, 10, 20}) {
    const std::string rest = ", " + std::to_string(groups) + " groups of 10";
    measure_comparisons(choice,
                        {"MSE of equal models" + rest, 0, metric,
                         [=] { return grouped_errors(groups); }},
                        {Method::kPoisson});
    measure_comparisons(
        choice,
        {"accuracy of equal models" + rest, 0,
         [] { return OwnedMetric(BinaryAccuracy()); },
         [=] {
           const at::Tensor ids = at::arange(groups).repeat_interleave(10);
           const auto own = [&] {
             return uniform({10 * groups})
                 .lt(beta(4.5, 0.5, groups).repeat_interleave(10))
                 .to(at::kLong);
           };
           return Rows{own(), at::zeros({10 * groups}, at::kLong).add(1), own(),
                       ids};
         }});
  }
}

}  // namespace
}  // namespace tally::coverage

int main(int argc, char** argv) {
  using namespace tally::coverage;  // NOLINT
  const Choice choice = Choice::of(argc, argv);
  print_comparison_head();
  accuracies(choice);
  areas(choice);
  means(choice);
}
