// How often 95 % intervals cover the truth: see README.md.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/matthews_corr_coef.h"
#include "tally/metrics/intervals/intervals.h"

namespace {

using tally::Interval;
using tally::IntervalMethod;
using tally::IntervalMetric;
using tally::IntervalOptions;

at::Generator& generator() {
  static at::Generator random = at::detail::createCPUGenerator(/*seed=*/1);
  return random;
}

struct Rows {
  at::Tensor preds;
  at::Tensor target;
};

/// Rows of `cells`, probabilities by 2 * target + prediction.
Rows draw_cells(const std::vector<double>& cells, std::int64_t n) {
  const at::Tensor uniform = at::rand({n}, generator(), at::kDouble);
  at::Tensor cell = at::zeros({n}, at::kLong);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
    sum += cells[i];
    cell = cell.add(uniform.ge(sum));
  }
  const auto classes =
      static_cast<std::int64_t>(std::lround(std::sqrt(double(cells.size()))));
  return {cell.remainder(classes), cell.div(classes, "floor")};
}

/// Binormal scores with this share of positives and distance of the means.
Rows draw_scores(double share, double distance, std::int64_t n) {
  const at::Tensor target =
      at::rand({n}, generator(), at::kDouble).lt(share).to(at::kLong);
  return {target.to(at::kDouble)
              .mul(distance)
              .add(at::randn({n}, generator(), at::kDouble)),
          target};
}

void measure(const char* truth_name, double truth, const char* method_name,
             std::int64_t runs,
             const std::function<Interval(std::int64_t)>& interval_of) {
  std::printf("| %s | %s |", truth_name, method_name);
  for (const std::int64_t n : {50, 200, 1000}) {
    std::int64_t covered = 0;
    for (std::int64_t run = 0; run < runs; ++run) {
      const Interval interval = interval_of(n);
      covered += interval.low.item<double>() <= truth &&
                 truth <= interval.high.item<double>();
    }
    std::printf(" %.1f |", 100. * double(covered) / double(runs));
    std::fflush(stdout);
  }
  std::printf("\n");
}

template <class Make>
auto from(const Make& make, IntervalMethod method,
          const std::function<Rows(std::int64_t)>& draw) {
  return [=](std::int64_t n) {
    IntervalMetric metric(make(), IntervalOptions().method(method));
    const Rows rows = draw(n);
    metric.update(rows.preds, rows.target);
    return metric.compute().value();
  };
}

}  // namespace

int main(int argc, char** argv) {
  using Method = IntervalMethod;
  const std::int64_t runs = argc > 1 ? std::atoll(argv[1]) : 10'000;
  std::printf(
      "| truth | method | n = 50 | 200 | 1000 |\n|---|---|---|---|---|\n");
  for (const double p : {0.9, 0.99}) {
    const auto draw = [p](std::int64_t n) {
      return draw_cells({p / 2, (1 - p) / 2, (1 - p) / 2, p / 2}, n);
    };
    const std::string name = p == 0.9 ? "accuracy .9" : "accuracy .99";
    const auto make = [] { return tally::BinaryAccuracy(); };
    measure(name.c_str(), p, "wilson", runs, from(make, Method::kAuto, draw));
    measure(name.c_str(), p, "clopper_pearson", runs,
            from(make, Method::kClopperPearson, draw));
  }
  const auto f1_of = [](const std::vector<double>& c) {
    return 2 * c[3] / (2 * c[3] + c[1] + c[2]);
  };
  for (const auto& [name, cells] :
       {std::pair<const char*, std::vector<double>>{"F1 .80, half positive",
                                                    {0.4, 0.1, 0.1, 0.4}},
        {"F1 .95, 10 % positive", {0.895, 0.005, 0.005, 0.095}}}) {
    const auto draw = [cells = cells](std::int64_t n) {
      return draw_cells(cells, n);
    };
    const auto make = [] { return tally::BinaryF1Score(); };
    measure(name, f1_of(cells), "wilson", runs,
            from(make, Method::kAuto, draw));
    measure(name, f1_of(cells), "logit_delta", runs,
            from(make, Method::kLogitDelta, draw));
    measure(name, f1_of(cells), "jackknife", runs,
            from(make, Method::kJackknife, draw));
  }
  for (const auto& [name, share, area] :
       {std::tuple<const char*, double, double>{"AUROC .75, half positive", 0.5,
                                                0.75},
        {"AUROC .90, 10 % positive", 0.1, 0.9},
        {"AUROC .98, 10 % positive", 0.1, 0.98}}) {
    // sqrt(2) times the normal quantile.
    const double distance = area == 0.75  ? 0.9538725524089
                            : area == 0.9 ? 1.8123876048736
                                          : 2.9044395631245;
    const auto draw = [share = share, distance](std::int64_t n) {
      return draw_scores(share, distance, n);
    };
    const auto make = [] {
      return tally::BinaryAUROC(
          tally::BinaryAUROCOptions().input(tally::ScoreKind::kScores));
    };
    measure(name, area, "delong", runs, from(make, Method::kAuto, draw));
    measure(name, area, "newcombe", runs, from(make, Method::kNewcombe, draw));
  }
  // Targets of a third each, 80 % of which are found.
  const std::vector<double> three = {0.8 / 3, 0.1 / 3, 0.1 / 3,
                                     0.1 / 3, 0.8 / 3, 0.1 / 3,
                                     0.1 / 3, 0.1 / 3, 0.8 / 3};
  const auto draw = [&](std::int64_t n) { return draw_cells(three, n); };
  measure(
      "macro F1 .80, 3 classes", 0.8, "logit_delta", runs,
      from([] { return tally::MulticlassF1Score(3); }, Method::kAuto, draw));
  measure("MCC .70, 3 classes", 0.7, "logit_delta", runs,
          from([] { return tally::MulticlassMatthewsCorrCoef(3); },
               Method::kAuto, draw));
}
