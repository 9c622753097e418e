// How often slices that are equal are called worse, and one that is worse is
// found: slice_coverage [runs] [name].

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/slices/slice_comparison.h"

namespace {

using tally::ComparedSlice;
using tally::OwnedMetric;
using tally::SampleIds;
using tally::SliceComparison;
using tally::SliceComparisonOptions;
using tally::SliceKeys;

constexpr std::int64_t kSlices = 20;
constexpr std::int64_t kBad = 7;  // the slice that is worse, where one is

at::Generator& generator() {
  static at::Generator random = at::detail::createCPUGenerator(/*seed=*/1);
  return random;
}

at::Tensor uniform(std::int64_t n) {
  return at::rand({n}, generator(), at::kDouble);
}

struct Rows {
  at::Tensor keys;
  at::Tensor ids;
  at::Tensor preds;
  at::Tensor target;
};

/// Of each slice so many, without predictions.
Rows rows_of(std::int64_t each) {
  const at::Tensor ids = at::arange(kSlices * each);
  return {ids.div(each, "floor"), ids, {}, {}};
}

Rows draw_accuracy(double accuracy, std::int64_t each) {
  Rows rows = rows_of(each);
  const std::int64_t n = kSlices * each;
  rows.preds = uniform(n).lt(accuracy).to(at::kLong);
  rows.target = at::ones({n}, at::kLong);
  return rows;
}

/// Positives are found with a probability of `recall`, and of the negatives as
/// many as a twentieth of the positives are called such.
Rows draw_recall(double share, const at::Tensor& recall, std::int64_t each) {
  Rows rows = rows_of(each);
  const at::Tensor place = rows.ids.remainder(each).to(at::kDouble);
  rows.target = place.lt(share * static_cast<double>(each)).to(at::kLong);
  const at::Tensor rate =
      at::where(rows.target.eq(1), recall.index_select(0, rows.keys),
                0.2 * share / (1 - share));
  rows.preds = uniform(kSlices * each).lt(rate).to(at::kLong);
  return rows;
}
at::Tensor equal(double recall) {
  return at::zeros({kSlices}, at::kDouble).add(recall);
}
at::Tensor one_bad(double recall, double bad) {
  at::Tensor all = equal(recall);
  all[kBad] = bad;
  return all;
}

/// Patients of each slice, whose accuracies are Beta(4.5, 0.5): the share of a
/// gamma variable of 4.5 in its sum with one of 0.5, both from normal ones. In
/// one slice they are `bad` times that.
Rows draw_patients(std::int64_t patients, std::int64_t each, double bad = 1) {
  const auto gamma = [](std::int64_t halves, std::int64_t n) {
    return at::randn({n, halves}, generator(), at::kDouble).square().sum(1);
  };
  Rows rows = rows_of(patients * each);
  const at::Tensor own = gamma(9, kSlices * patients);
  const at::Tensor accuracy = own.div(own.add(gamma(1, kSlices * patients)));
  rows.ids = rows.ids.div(each, "floor");
  const at::Tensor rate = accuracy.index_select(0, rows.ids)
                              .mul(one_bad(1, bad).index_select(0, rows.keys));
  rows.preds = uniform(kSlices * patients * each).lt(rate).to(at::kLong);
  rows.target = at::ones({rows.preds.size(0)}, at::kLong);
  return rows;
}

Rows draw_scores(double share, double distance, std::int64_t each) {
  Rows rows = rows_of(each);
  const std::int64_t n = kSlices * each;
  rows.target = uniform(n).lt(share).to(at::kLong);
  rows.preds = at::randn({n}, generator(), at::kDouble)
                   .add(rows.target.to(at::kDouble).mul(distance));
  return rows;
}

Rows draw_errors(std::int64_t each) {
  Rows rows = rows_of(each);
  rows.preds = at::randn({kSlices * each}, generator(), at::kDouble);
  rows.target = at::zeros({rows.preds.size(0)}, at::kDouble);
  return rows;
}

struct Scenario {
  const char* name;
  std::function<OwnedMetric()> metric;
  std::function<Rows()> draw;
  bool grouped = false;
};

template <class M>
std::function<OwnedMetric()> a() {
  return [] { return OwnedMetric(M()); };
}

std::vector<Scenario> scenarios() {
  using namespace tally;  // NOLINT(build/namespaces)
  const auto scores = [] {
    return OwnedMetric(
        BinaryAUROC(BinaryAUROCOptions().input(ScoreKind::kScores)));
  };
  return {
      {"accuracy .9, 100 rows", a<BinaryAccuracy>(),
       [] { return draw_accuracy(0.9, 100); }},
      {"accuracy .9, 40 rows", a<BinaryAccuracy>(),
       [] { return draw_accuracy(0.9, 40); }},
      {"accuracy .98, 40 rows", a<BinaryAccuracy>(),
       [] { return draw_accuracy(0.98, 40); }},
      {"recall .8, 50 of 1000", a<BinaryRecall>(),
       [] { return draw_recall(0.05, equal(0.8), 1000); }},
      {"recall .8, 50 of 100", a<BinaryRecall>(),
       [] { return draw_recall(0.5, equal(0.8), 100); }},
      {"F1, 50 of 1000", a<BinaryF1Score>(),
       [] { return draw_recall(0.05, equal(0.8), 1000); }},
      {"F1, 50 of 100", a<BinaryF1Score>(),
       [] { return draw_recall(0.5, equal(0.8), 100); }},
      {"F1, 5 of 100", a<BinaryF1Score>(),
       [] { return draw_recall(0.05, equal(0.8), 100); }},
      {"F1, 2 of 40", a<BinaryF1Score>(),
       [] { return draw_recall(0.05, equal(0.8), 40); }},
      {"AUROC .86, 50 of 100", scores,
       [] { return draw_scores(0.5, 1.5, 100); }},
      {"squared error, 100 rows", a<MeanSquaredError>(),
       [] { return draw_errors(100); }},
      {"accuracy .9, 10 patients x 10", a<BinaryAccuracy>(),
       [] { return draw_patients(10, 10); }, true},
      {"accuracy .9, 5 patients x 40", a<BinaryAccuracy>(),
       [] { return draw_patients(5, 40); }, true},
      {"recall .5 among .8, 50 of 1000", a<BinaryRecall>(),
       [] { return draw_recall(0.05, one_bad(0.8, 0.5), 1000); }},
      {"recall .5 among .8, 50 of 100", a<BinaryRecall>(),
       [] { return draw_recall(0.5, one_bad(0.8, 0.5), 100); }},
      {"accuracy .6 among .9, 10 x 10", a<BinaryAccuracy>(),
       [] { return draw_patients(10, 10, 0.6 / 0.9); }, true},
      {"accuracy .6 among .9, 20 x 10", a<BinaryAccuracy>(),
       [] { return draw_patients(20, 10, 0.6 / 0.9); }, true},
  };
}

void simulate(const Scenario& scenario, std::int64_t runs) {
  std::int64_t any = 0, found = 0, compared = 0, covered = 0;
  for (std::int64_t run = 0; run < runs; ++run) {
    SliceComparison comparison(
        scenario.metric(), SliceComparisonOptions().grouped(scenario.grouped));
    const Rows rows = scenario.draw();
    comparison.update(SliceKeys(rows.keys), SampleIds(rows.ids), rows.preds,
                      rows.target);
    bool has_found = false, is_bad = false;
    for (const ComparedSlice& slice : comparison.compute()) {
      ++compared;
      covered += slice.low <= 0 && slice.high >= 0;
      has_found |= slice.q_value <= 0.05;
      is_bad |= slice.q_value <= 0.05 && slice.name() == std::to_string(kBad);
    }
    any += has_found;
    found += is_bad;
  }
  const auto percent = [](std::int64_t part, std::int64_t all) {
    return all == 0
               ? 0
               : 100 * static_cast<double>(part) / static_cast<double>(all);
  };
  std::printf("%-32s %5.1f %% %5.1f %% %6.1f %% %6.1f\n", scenario.name,
              percent(any, runs), percent(found, runs),
              percent(covered, compared),
              static_cast<double>(compared) / static_cast<double>(runs));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t runs = argc > 1 ? std::atoll(argv[1]) : 1000;
  const std::string only = argc > 2 ? argv[2] : "";
  std::printf("%-32s %7s %7s %8s %6s\n", "20 slices", "any q", "slice 7",
              "has 0", "slices");
  for (const Scenario& scenario : scenarios()) {
    if (std::string(scenario.name).find(only) == std::string::npos) continue;
    simulate(scenario, runs);
  }
}
