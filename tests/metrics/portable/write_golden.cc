// Writes files of states for golden_test and //tests/cli, into a folder: once,
// when a format is new. Later versions read what is there.
//
//   write_golden FOLDER
//
// states.bin has a state of every metric; the others one of each kind, of which
// `tally show` prints what lies beside them as .txt.
#include <ATen/ops/arange.h>
#include <ATen/ops/stack.h>

#include <fstream>
#include <iostream>
#include <string>

#include "tally/metrics/aggregation/running_metrics.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/portable/any_metric.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"
#include "tally/tests/metrics/portable/golden.h"

namespace tally {
namespace {

constexpr std::int64_t kRows = 40;

struct Rows {
  at::Tensor rows = at::arange(kRows, at::kLong);
  at::Tensor preds = rows.mul(7).remainder(kRows).to(at::kDouble).div(kRows);
  at::Tensor other = rows.mul(11).remainder(kRows).to(at::kDouble).div(kRows);
  at::Tensor target = rows.mul(3).remainder(7).lt(3).to(at::kLong);
  SampleIds ids = SampleIds(rows);
  SliceKeys keys() const {
    std::vector<std::string> sites;
    for (std::int64_t i = 0; i < kRows; ++i) {
      sites.push_back(i % 3 == 0 ? "north" : i % 3 == 1 ? "süd" : "east, far");
    }
    return SliceKeys(sites).crossed_with(SliceKeys(rows.remainder(2)));
  }
};

class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  void save(const char* name, const MetricBase& metric, StatePart part = {}) {
    const absl::Status saved = metric.save(path_ + "/" + name, part);
    if (!saved.ok()) {
      std::cerr << saved << "\n";
      failed_ = true;
    }
  }
  bool failed() const { return failed_; }

 private:
  std::string path_;
  bool failed_ = false;
};

void write_metrics(const Rows& rows, Folder& folder) {
  BinaryAUROC metric;
  metric.update(rows.preds, rows.target);
  folder.save("metric.tally", metric);
  folder.save("part.tally", metric, {1, 3});
  MinMaxMetric wrapper(BinaryAccuracy(BinaryAccuracyOptions().threshold(0.3)));
  wrapper.update(rows.preds, rows.target);
  wrapper.compute();
  folder.save("wrapper.tally", wrapper);
  RunningMean running(2);
  for (int i = 0; i < 3; ++i) running.update(rows.preds.add(i));
  folder.save("running.tally", running);
  BinaryPrecision p;
  BinaryRecall r;
  auto f1 = 2 * p * r / (p + r);
  f1.update(rows.preds, rows.target);
  folder.save("arithmetic.tally", f1);
  MetricTracker tracker(BinaryAccuracy{});
  for (const std::int64_t iteration : {100, 200, 300}) {
    tracker.increment(iteration);
    tracker.update(rows.preds.roll(iteration / 100), rows.target);
    // The last step keeps its states.
    tracker.compute_all();
  }
  folder.save("tracker.tally", tracker);
  MetricCollection metrics;
  metrics.prefix("val_");
  metrics.add("accuracy", BinaryAccuracy());
  metrics.add("mse", MeanSquaredError(
                         {}, MetricOptions().nan_policy(NanPolicy::kIgnore)));
  metrics.update(rows.preds, rows.target);
  folder.save("collection.tally", metrics);
}

void write_rows(const Rows& rows, Folder& folder) {
  SlicedMetric slices(BinaryAccuracy(), SlicedMetricOptions().largest(4));
  slices.update(rows.keys(), rows.preds, rows.target);
  folder.save("slices.tally", slices);
  SliceComparison compared(BinaryAccuracy(),
                           SliceComparisonOptions().min_rows(5));
  compared.update(rows.keys(), rows.ids, rows.preds, rows.target);
  folder.save("compared_slices.tally", compared);
  NamedSets sets({"clean", "very noisy"});
  sets.add("accuracy", BinaryAccuracy());
  sets.add("auroc", BinaryAUROC());
  sets.update("clean", rows.preds, rows.target);
  sets.update("very noisy", rows.other.narrow(0, 0, 15),
              rows.target.narrow(0, 0, 15));
  folder.save("sets.tally", sets);
  for (const IntervalMethod method :
       {IntervalMethod::kWilson, IntervalMethod::kJackknife,
        IntervalMethod::kPoisson}) {
    IntervalMetric interval(
        BinaryAccuracy(),
        IntervalOptions().level(0.9).method(method).replicates(50).blocks(10));
    interval.update(rows.ids, rows.preds, rows.target);
    folder.save(("interval_" +
                 internal::OptionType<IntervalMethod>::print(method) + ".tally")
                    .c_str(),
                interval);
  }
  for (const ComparisonMethod method :
       {ComparisonMethod::kMcnemar, ComparisonMethod::kJackknife}) {
    ModelComparison comparison(BinaryAccuracy(),
                               ModelComparisonOptions().method(method));
    comparison.update(rows.ids, rows.preds, rows.other, rows.target);
    folder.save(
        ("comparison_" + internal::OptionType<ComparisonMethod>::print(method) +
         ".tally")
            .c_str(),
        comparison);
  }
}

// Exact curves whose rows have become runs, but for the last few.
void write_runs(const Rows& rows, Folder& folder) {
  const RunLimitsGuard limits({10, 8, 4});
  MultilabelAUROC metric(MultilabelAUROCOptions(2).average(Average::kNone));
  const at::Tensor preds = at::stack({rows.preds, rows.other}, 1);
  const at::Tensor target = at::stack({rows.target, rows.target.eq(0)}, 1);
  for (std::int64_t i = 0; i < kRows; i += 5) {
    metric.update(preds.narrow(0, i, 5).to(at::kFloat), target.narrow(0, i, 5));
  }
  folder.save("runs/labels.tally", metric);
}

int write(const std::string& path) {
  Folder folder(path);
  const Rows rows;
  write_metrics(rows, folder);
  write_rows(rows, folder);
  write_runs(rows, folder);
  std::ofstream file(path + "/states.bin", std::ios::binary);
  const auto states = golden::make_states();
  file << golden::encode(states);
  std::cout << states.size() << " states\n";
  return file.flush() && !folder.failed() ? 0 : 1;
}

}  // namespace
}  // namespace tally

int main(int argc, char** argv) {
  if (argc == 2) return tally::write(argv[1]);
  std::cerr << "usage: write_golden FOLDER\n";
  return 2;
}
