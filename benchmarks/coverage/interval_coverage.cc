// The coverage of intervals: see ../README.md and docs/statistics.md.
//
//     interval_coverage [RUNS] [PART OF A SITUATION'S NAME]

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tally/benchmarks/coverage/grouped_situations.h"
#include "tally/benchmarks/coverage/simulation.h"
#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/brier_score.h"
#include "tally/metrics/classification/calibration_error.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/log_loss.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/regression/mean_absolute_error.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/quantile_scores.h"
#include "tally/metrics/regression/r2_score.h"
#include "tally/metrics/regression/spearman_corr_coef.h"
#include "tally/metrics/warnings.h"

namespace tally::coverage {
namespace {

using Method = IntervalMethod;

std::string named(const char* what, double truth, const std::string& rest) {
  char text[96];
  std::snprintf(text, sizeof text, "%s %.3g, %s", what, truth, rest.c_str());
  return text;
}
std::string rows_text(std::int64_t n) { return "n = " + std::to_string(n); }

// Cells by 2 * target + prediction, or classes * target + prediction.
Rows labels(const std::vector<double>& probabilities, std::int64_t n) {
  const auto classes =
      std::lround(std::sqrt(static_cast<double>(probabilities.size())));
  const at::Tensor cell = cells(probabilities, n);
  return {cell.remainder(classes), cell.div(classes, "floor")};
}

void proportions(const Choice& choice) {
  for (const double p : {0.9, 0.99}) {
    for (const std::int64_t n : {30, 50, 200}) {
      const std::vector<double> all = {p / 2, (1 - p) / 2, (1 - p) / 2, p / 2};
      measure_intervals(choice,
                        {named("accuracy", p, rows_text(n)), p,
                         [] { return OwnedMetric(BinaryAccuracy()); },
                         [=] { return labels(all, n); }},
                        {Method::kClopperPearson, Method::kJackknife});
    }
  }
  for (const auto& [f1, positives] : {std::pair{0.8, 0.5}, {0.95, 0.1}}) {
    // As many are missed as are wrongly found.
    const double missed = positives * (1 - f1);
    const std::vector<double> all = {1 - positives - missed, missed, missed,
                                     positives - missed};
    for (const std::int64_t n : {50, 200}) {
      measure_intervals(
          choice,
          {named("F1", f1, named("positive", positives, rows_text(n))), f1,
           [] { return OwnedMetric(BinaryF1Score()); },
           [=, all = all] { return labels(all, n); }},
          {Method::kLogitDelta, Method::kJackknife});
    }
  }
}

// Confusions in which each class is found with probability `recall`.
std::vector<double> confusion(const std::vector<double>& prior, double recall) {
  std::vector<double> all;
  for (std::size_t t = 0; t < prior.size(); ++t) {
    for (std::size_t p = 0; p < prior.size(); ++p) {
      all.push_back(prior[t] * (p == t
                                    ? recall
                                    : (1 - recall) / double(prior.size() - 1)));
    }
  }
  return all;
}

double macro_f1(const std::vector<double>& all, std::size_t classes) {
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double both = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      both += all[c * classes + i] + all[i * classes + c];
    }
    sum += 2 * all[c * classes + c] / both;
  }
  return sum / double(classes);
}

void averages(const Choice& choice) {
  const std::vector<std::pair<const char*, std::vector<double>>> priors = {
      {"classes .8 .15 .05", {0.8, 0.15, 0.05}},
      {"classes .95 .05", {0.95, 0.05}},
      {"classes .5 .5", {0.5, 0.5}}};
  for (const auto& [name, prior] : priors) {
    const auto classes = static_cast<std::int64_t>(prior.size());
    for (const double recall : {0.8, 0.9, 0.97}) {
      const auto all = confusion(prior, recall);
      for (const std::int64_t n : {50, 100, 200, 1000}) {
        const std::string rest = std::string(name) + ", " + rows_text(n);
        const auto draw = [all, n] { return labels(all, n); };
        measure_intervals(
            choice,
            {named("macro recall", recall, rest), recall,
             [=] { return OwnedMetric(MulticlassAccuracy(classes)); }, draw},
            {Method::kLogitDelta});
        const double f1 = macro_f1(all, prior.size());
        measure_intervals(
            choice,
            {named("macro F1", f1, rest), f1,
             [=] { return OwnedMetric(MulticlassF1Score(classes)); }, draw},
            {Method::kLogitDelta});
      }
    }
  }
  for (const double positives : {0.05, 0.1}) {
    const auto all = confusion({1 - positives, positives}, 0.935);
    measure_intervals(
        choice,
        {named("balanced accuracy", 0.935,
               named("positive", positives, rows_text(200))),
         0.935, [] { return OwnedMetric(BinaryBalancedAccuracy()); },
         [=] { return labels(all, 200); }},
        {Method::kLogitDelta});
  }
  for (const std::int64_t n : {30, 100}) {
    measure_intervals(
        choice,
        {named("label accuracy", 0.99, "5 labels, " + rows_text(n)), 0.99,
         [] { return OwnedMetric(MultilabelAccuracy(5)); },
         [n] {
           const at::Tensor target = uniform({n, 5}).lt(0.3);
           return Rows{
               target.logical_xor(uniform({n, 5}).lt(0.01)).to(at::kLong),
               target.to(at::kLong)};
         }});
  }
}

OwnedMetric auroc() {
  return BinaryAUROC(BinaryAUROCOptions().input(ScoreKind::kScores));
}

void areas(const Choice& choice) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {
      {2, 48}, {5, 45}, {10, 190}, {25, 25}, {25, 475}, {100, 100}};
  for (const double area : {0.8, 0.95, 0.99}) {
    for (const auto& [p, q] : sizes) {
      const std::string rest =
          std::to_string(p) + " of " + std::to_string(p + q);
      measure_intervals(choice,
                        {named("AUROC", area, rest), area, auroc,
                         [=, p = p, q = q] { return scores(p, q, area); }},
                        {Method::kDelong, Method::kNewcombe});
    }
  }
  for (const auto& [p, q] : {sizes[3], sizes[5], {10, 90}}) {
    const std::string rest =
        std::to_string(p) + " of " + std::to_string(p + q) + ", spread 3";
    measure_intervals(choice,
                      {named("AUROC", 0.8, rest), 0.8, auroc,
                       [p = p, q = q] { return scores(p, q, 0.8, 3); }},
                      {Method::kDelong, Method::kNewcombe});
  }
  // Each patient has a label, an effect, and 10 rows; or the first one has 100.
  for (const std::int64_t patients : {10, 20, 50}) {
    for (const std::int64_t most : {10, 100}) {
      const double area =
          internal::intervals::normal_cdf(1 / std::sqrt(2.0 * 2));
      const std::string rest = std::to_string(patients) + " patients" +
                               (most > 10 ? ", one with 100 rows" : "");
      measure_intervals(
          choice,
          {named("AUROC", area, rest), area, auroc,
           [=] {
             const at::Tensor groups =
                 (at::arange(most + 10 * (patients - 1)) - (most - 10))
                     .clamp_min(0)
                     .floor_divide(10);
             const at::Tensor target = groups.remainder(2);
             return Rows{normal({patients}).index_select(0, groups) +
                             normal({groups.numel()}) + target,
                         target,
                         {},
                         groups};
           }},
          {Method::kPoisson, Method::kJackknife});
    }
  }
}

// At the sample's share of positives, of very many rows.
double true_precision(std::int64_t p, std::int64_t q, double area) {
  double sum = 0;
  for (int run = 0; run < 4; ++run) {
    constexpr std::int64_t kScale = 200'000;
    const std::int64_t n = p + q;
    const Rows rows = scores(kScale * p / n, kScale * q / n, area);
    BinaryAveragePrecision precision;
    precision.update(rows.preds.sigmoid(), rows.target);
    sum += precision.compute().item<double>();
  }
  return sum / 4;
}

void precisions(const Choice& choice) {
  for (const auto& [p, q, area] :
       {std::tuple<std::int64_t, std::int64_t, double>{2, 98, 0.9},
        {3, 97, 0.9},
        {5, 95, 0.9},
        {10, 190, 0.9},
        {10, 90, 0.7},
        {50, 50, 0.8},
        {50, 50, 0.97},
        {30, 270, 0.97}}) {
    const std::string rest = std::to_string(p) + " of " + std::to_string(p + q);
    if (!choice.includes("average precision")) return;
    const double truth = true_precision(p, q, area);
    measure_intervals(choice,
                      {named("average precision", truth, rest), truth,
                       [] { return OwnedMetric(BinaryAveragePrecision()); },
                       [=, p = p, q = q, area = area] {
                         Rows rows = scores(p, q, area);
                         rows.preds = rows.preds.sigmoid();
                         return rows;
                       }},
                      {Method::kPoisson});
  }
}

void errors(const Choice& choice) {
  const auto squared = [] { return OwnedMetric(MeanSquaredError()); };
  const auto absolute = [] { return OwnedMetric(MeanAbsoluteError()); };
  const auto from = [](const at::Tensor& errors) {
    return Rows{errors, at::zeros_like(errors)};
  };
  for (const std::int64_t n : {5, 10, 20, 30, 50, 200}) {
    const auto rest = rows_text(n);
    const auto normals = [=] { return from(normal({n})); };
    const auto logs = [=] { return from(normal({n}).exp()); };
    measure_intervals(choice,
                      {"MSE of normal errors, " + rest, 1, squared, normals},
                      {Method::kPoisson});
    measure_intervals(choice,
                      {"MAE of normal errors, " + rest,
                       std::sqrt(2 / internal::kPi), absolute, normals},
                      {Method::kPoisson});
    measure_intervals(
        choice, {"median error of normal errors, " + rest,
                 internal::intervals::normal_quantile(0.75),
                 [] { return OwnedMetric(MedianAbsoluteError()); }, normals});
    measure_intervals(
        choice,
        {"MSE of lognormal errors, " + rest, std::exp(2.0), squared, logs},
        {Method::kPoisson});
    // Of a calibrated model, whose predictions are uniform.
    const auto calibrated = [=] {
      const at::Tensor p = uniform({n});
      return Rows{p, uniform({n}).lt(p).to(at::kLong)};
    };
    measure_intervals(
        choice,
        {"Brier score, " + rest, 1. / 6,
         [] { return OwnedMetric(BinaryBrierScore()); }, calibrated},
        {Method::kPoisson});
    measure_intervals(choice,
                      {"log loss, " + rest, 0.5,
                       [] { return OwnedMetric(BinaryLogLoss()); }, calibrated},
                      {Method::kPoisson});
    measure_intervals(
        choice,
        {"mean, 2 % of rows are 5, others .01, " + rest, 0.02 * 5 + 0.98 * 0.01,
         [] { return OwnedMetric(MeanMetric()); },
         [=] {
           return Rows{
               uniform({n}).lt(0.02).to(at::kDouble).mul(4.99).add(0.01), {}};
         }});
  }
}

void correlations(const Choice& choice) {
  for (const std::int64_t n : {10, 30, 200, 1000}) {
    for (const double r : {0.3, 0.8, 0.95}) {
      const auto draw = [=] {
        const at::Tensor x = normal({n});
        return Rows{x * r, x * r + normal({n}) * std::sqrt(1 - r * r)};
      };
      const auto rest = rows_text(n);
      measure_intervals(choice,
                        {named("Pearson", r, rest), r,
                         [] { return OwnedMetric(PearsonCorrCoef()); }, draw});
      const double rank = 6 / internal::kPi * std::asin(r / 2);
      measure_intervals(choice,
                        {named("Spearman", rank, rest), rank,
                         [] { return OwnedMetric(SpearmanCorrCoef()); }, draw});
      measure_intervals(choice, {named("R2", r * r, rest), r * r,
                                 [] { return OwnedMetric(R2Score()); }, draw});
    }
  }
}

// How much the width of one sample's interval varies over 200 seeds.
// Of probabilities p that should be those of odds p / (1 - p) to a power.
void calibration(const Choice& choice) {
  constexpr std::int64_t kBins = 15;
  const auto right = [](const at::Tensor& p, double slope) {
    return p.logit().mul(slope).sigmoid();
  };
  const auto make = [] {
    return OwnedMetric(BinaryCalibrationError(
        BinaryCalibrationErrorOptions().norm(CalibrationNorm::kL2)));
  };
  for (const double slope : {1.0, 0.9, 0.7, 0.2}) {
    // The gaps of bins, by a fine grid of uniform probabilities.
    const at::Tensor grid =
        at::arange(kBins * 4000, at::kDouble).add(0.5).div(kBins * 4000);
    const double gap = (right(grid, slope) - grid)
                           .reshape({kBins, -1})
                           .mean(1)
                           .square()
                           .mean()
                           .sqrt()
                           .item<double>();
    const double truth = slope == 1 ? 0 : gap;
    for (const std::int64_t n : {50, 200, 1000}) {
      measure_intervals(
          choice, {named("L2 calibration error", truth, rows_text(n)),
                   slope == 1 ? 0 : truth, make, [=] {
                     const at::Tensor preds = uniform({n});
                     return Rows{
                         preds,
                         uniform({n}).lt(right(preds, slope)).to(at::kLong)};
                   }});
    }
  }
}

void seeds(const Choice& choice) {
  if (!choice.includes("seeds")) return;
  const WarningGuard quiet([](const MetricWarning&) {});
  std::printf(
      "\n| width over 200 seeds | standard deviation, %% |\n|---|---|\n");
  for (const std::int64_t n : {150, 300, 1000, 10'000}) {
    const at::Tensor x = normal({n});
    const at::Tensor y = x * 0.8 + normal({n}) * 0.6;
    double sum = 0;
    double squares = 0;
    constexpr int kSeeds = 200;
    for (int seed = 0; seed < kSeeds; ++seed) {
      IntervalMetric metric(PearsonCorrCoef(), IntervalOptions().seed(seed));
      metric.update(x, y);
      const IntervalBounds ends = metric.compute().value().ends();
      sum += ends.high - ends.low;
      squares += (ends.high - ends.low) * (ends.high - ends.low);
    }
    const double mean = sum / kSeeds;
    std::printf(
        "| Pearson, %s | %.1f |\n", rows_text(n).c_str(),
        100 * std::sqrt(std::max(squares / kSeeds / mean / mean - 1, 0.0)));
  }
}

}  // namespace
}  // namespace tally::coverage

int main(int argc, char** argv) {
  using namespace tally::coverage;  // NOLINT
  const Choice choice = Choice::of(argc, argv);
  print_interval_head();
  proportions(choice);
  averages(choice);
  areas(choice);
  precisions(choice);
  errors(choice);
  correlations(choice);
  calibration(choice);
  groups(choice);
  retrieval(choice);
  seeds(choice);
}
