#include "tally/benchmarks/coverage/simulation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tally/metrics/common/distributions.h"
#include "tally/metrics/warnings.h"

namespace tally::coverage {
namespace {

at::Generator& generator() {
  static at::Generator random = at::detail::createCPUGenerator(/*seed=*/1);
  return random;
}

double percent(std::int64_t count, std::int64_t all) {
  return all == 0 ? 0 : 100. * static_cast<double>(count) / all;
}

// Twice the standard error of a percentage.
double error_of(double share, std::int64_t all) {
  return all == 0 ? 0 : 2 * std::sqrt(share * (100 - share) / all);
}

class Counts {
 public:
  void add(double low, double high, double truth, bool is_flagged) {
    ++all_;
    flagged_ += is_flagged;
    if (!(low == low && high == high)) return;
    ++defined_;
    covered_ += low <= truth && truth <= high;
    width_ += high - low;
  }
  void print() const {
    if (defined_ > 0) {
      const double covered = percent(covered_, defined_);
      std::printf(" %.1f ± %.1f | %.4g |", covered, error_of(covered, defined_),
                  width_ / defined_);
    } else {
      std::printf(" – | – |");
    }
    std::printf(" %.1f | %.1f |", percent(all_ - defined_, all_),
                percent(flagged_, all_));
  }

 private:
  std::int64_t all_ = 0;
  std::int64_t flagged_ = 0;
  std::int64_t defined_ = 0;
  std::int64_t covered_ = 0;
  double width_ = 0;
};

}  // namespace

at::Tensor uniform(at::IntArrayRef sizes) {
  return at::rand(sizes, generator(), at::kDouble);
}

at::Tensor normal(at::IntArrayRef sizes) {
  return at::randn(sizes, generator(), at::kDouble);
}

at::Tensor cells(const std::vector<double>& probabilities, std::int64_t n) {
  const at::Tensor ends =
      at::tensor(probabilities, at::kDouble).cumsum(0).slice(0, 0, -1);
  return uniform({n, 1}).ge(ends).to(at::kLong).sum(1);
}

at::Tensor beta(double a, double b, std::int64_t n) {
  // Johnk's method.
  std::vector<double> drawn;
  while (static_cast<std::int64_t>(drawn.size()) < n) {
    const at::Tensor both = uniform({2});
    const double x = std::pow(both[0].item<double>(), 1 / a);
    const double y = std::pow(both[1].item<double>(), 1 / b);
    if (x + y <= 1 && x + y > 0) drawn.push_back(x / (x + y));
  }
  return at::tensor(drawn, at::kDouble);
}

Rows scores(std::int64_t positives, std::int64_t negatives, double area,
            double spread) {
  const double distance = std::sqrt(1 + spread * spread) *
                          internal::intervals::normal_quantile(area);
  return {at::cat({normal({positives}).mul(spread).add(distance),
                   normal({negatives})}),
          at::cat({at::ones({positives}, at::kLong),
                   at::zeros({negatives}, at::kLong)})};
}

Choice Choice::of(int argc, char** argv) {
  Choice choice;
  if (argc > 1) choice.runs = std::atoll(argv[1]);
  if (argc > 2) choice.part = argv[2];
  return choice;
}

void print_interval_head() {
  std::printf(
      "| situation | method | coverage | width | none | flagged |\n"
      "|---|---|---|---|---|---|\n");
}

void measure_intervals(const Choice& choice, const Situation& situation,
                       const std::vector<IntervalMethod>& methods) {
  if (!choice.includes(situation.name)) return;
  const WarningGuard quiet([](const MetricWarning&) {});
  std::vector<IntervalMethod> all = {IntervalMethod::kAuto};
  all.insert(all.end(), methods.begin(), methods.end());
  std::vector<Counts> counts(all.size());
  std::string automatic;
  for (std::int64_t run = 0; run < choice.runs; ++run) {
    const Rows rows = situation.draw();
    for (std::size_t m = 0; m < all.size(); ++m) {
      IntervalMetric metric(situation.metric(),
                            IntervalOptions().method(all[m]).seed(run).grouped(
                                rows.groups.defined()));
      std::vector<InputRef> inputs = {InputRef::of(rows.preds)};
      if (rows.target.defined()) inputs.push_back(InputRef::of(rows.target));
      if (rows.other.defined()) inputs.push_back(InputRef::of(rows.other));
      if (rows.groups.defined()) {
        metric.update_inputs(SampleIds(rows.groups), inputs);
      } else {
        metric.update_inputs(inputs);
      }
      const Interval interval = metric.compute().value();
      counts[m].add(interval.low.item<double>(), interval.high.item<double>(),
                    situation.truth, !interval.flags.empty());
      if (m == 0 && run == 0) {
        automatic =
            internal::OptionType<IntervalMethod>::print(metric.method());
      }
    }
  }
  for (std::size_t m = 0; m < all.size(); ++m) {
    const std::string name =
        m == 0 ? "auto: " + automatic
               : internal::OptionType<IntervalMethod>::print(all[m]);
    std::printf("| %s | %s |", situation.name.c_str(), name.c_str());
    counts[m].print();
    std::printf("\n");
    std::fflush(stdout);
  }
}

void print_comparison_head() {
  std::printf(
      "| situation | method | coverage | width | none | flagged | "
      "p < .05 |\n|---|---|---|---|---|---|---|\n");
}

void measure_comparisons(const Choice& choice, const PairedSituation& situation,
                         const std::vector<ComparisonMethod>& methods) {
  if (!choice.includes(situation.name)) return;
  const WarningGuard quiet([](const MetricWarning&) {});
  std::vector<ComparisonMethod> all = {ComparisonMethod::kAuto};
  all.insert(all.end(), methods.begin(), methods.end());
  std::vector<Counts> counts(all.size());
  std::vector<std::int64_t> found(all.size(), 0);
  std::string automatic;
  for (std::int64_t run = 0; run < choice.runs; ++run) {
    const Rows rows = situation.draw();
    for (std::size_t m = 0; m < all.size(); ++m) {
      ModelComparison models(
          situation.metric(),
          ModelComparisonOptions().method(all[m]).seed(run).grouped(
              rows.groups.defined()));
      const std::vector<InputRef> inputs = {InputRef::of(rows.preds),
                                            InputRef::of(rows.other),
                                            InputRef::of(rows.target)};
      if (rows.groups.defined()) {
        models.update_inputs(SampleIds(rows.groups), inputs);
      } else {
        models.update_inputs(inputs);
      }
      const Comparison result = models.compute().value();
      counts[m].add(result.low.item<double>(), result.high.item<double>(),
                    situation.difference, !result.flags.empty());
      found[m] += result.p_value.item<double>() < 0.05;
      if (m == 0 && run == 0) {
        automatic =
            internal::OptionType<ComparisonMethod>::print(models.method());
      }
    }
  }
  for (std::size_t m = 0; m < all.size(); ++m) {
    const std::string name =
        m == 0 ? "auto: " + automatic
               : internal::OptionType<ComparisonMethod>::print(all[m]);
    std::printf("| %s | %s |", situation.name.c_str(), name.c_str());
    counts[m].print();
    const double share = percent(found[m], choice.runs);
    std::printf(" %.1f ± %.1f |\n", share, error_of(share, choice.runs));
    std::fflush(stdout);
  }
}

}  // namespace tally::coverage
