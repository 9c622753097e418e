#include <ATen/ops/arange.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tally/cli/limits.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/metrics/registry/registry.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/metrics/wrappers/metric_tracker.h"
#include "tally/state/codec.h"
#include "tally/sync/fingerprint.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/saved.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

/// What is loaded from `given` into make(): refused without a change, or saved
/// as it is; add(it) and it.compute() may then refuse it.
template <class Make, class Add>
void read_saved(const std::string& given, const Make& make, const Add& add) {
  auto read = make();
  const std::string before = read.serialize();
  if (!read.deserialize(given).ok()) {
    require(read.serialize() == before, "what is refused changes nothing");
    return;
  }
  const std::string after = read.serialize();
  auto copy = make();
  require(copy.deserialize(after).ok() && copy.serialize() == after,
          "what was saved is what is loaded");
  use([&] { read.compute(); });
  use([&] { add(copy); });
  use([&] { copy.compute(); });
}

/// A metric and a method, of each kind that has an engine of its own.
template <class Method>
struct Kind {
  const char* metric;
  Method method = Method::kAuto;
  bool grouped = false;
};

constexpr Kind<IntervalMethod> kIntervals[] = {
    {"BinaryAccuracy"},
    {"BinaryAUROC"},
    {"MeanSquaredError", IntervalMethod::kPoisson},
    {"SpearmanCorrCoef", IntervalMethod::kJackknife},
    {"BinaryF1Score"},
    {"BinaryAUROC", IntervalMethod::kPoisson},
    {"BinaryAUROC", IntervalMethod::kAuto, /*grouped=*/true},
    {"BinaryAveragePrecision"},
    {"MedianAbsoluteError"},
    {"BinaryCalibrationError(norm=l2)"},
    {"BinaryAccuracy", IntervalMethod::kJackknife},
    {"MeanSquaredError", IntervalMethod::kJackknife, /*grouped=*/true},
    {"PearsonCorrCoef", IntervalMethod::kJackknife},
};

IntervalMetric make_interval(unsigned char which) {
  const auto& kind = kIntervals[which % std::size(kIntervals)];
  IntervalOptions options;
  options.replicates(20).method(kind.method).grouped(kind.grouped);
  return IntervalMetric(make_metric(kind.metric), options);
}

constexpr Kind<ComparisonMethod> kComparisons[] = {
    {"BinaryAccuracy"},
    {"BinaryAUROC"},
    {"MeanSquaredError"},
    {"BinaryF1Score", ComparisonMethod::kJackknife},
    {"MeanSquaredError", ComparisonMethod::kPoisson},
    {"BinaryAccuracy", ComparisonMethod::kAuto, /*grouped=*/true},
    {"BinaryAUROC", ComparisonMethod::kPoisson},
};

ModelComparison make_comparison(unsigned char which) {
  const auto& kind = kComparisons[which % std::size(kComparisons)];
  ModelComparisonOptions options;
  options.replicates(20).method(kind.method).grouped(kind.grouped);
  return ModelComparison(make_metric(kind.metric), options);
}

SampleIds ids() { return SampleIds(at::arange(12)); }

const at::Tensor& scores() {
  static const at::Tensor batch = batches()[0][0];
  return batch;
}
const at::Tensor& labels() {
  static const at::Tensor batch = batches()[0][1];
  return batch;
}

/// Seeds: which one, and the body of its checkpoint, empty and with rows.
template <class Make, class Add>
std::vector<std::string> seeds_of(std::size_t count, const Make& make,
                                  const Add& add) {
  std::vector<std::string> seeds;
  for (std::size_t which = 0; which < count; ++which) {
    auto each = make(static_cast<unsigned char>(which));
    for (int rows = 0; rows < 2; ++rows) {
      seeds.push_back(static_cast<char>(which) +
                      each.serialize().substr(kEnvelopeBytes));
      add(each);
    }
  }
  return seeds;
}

void add_rows(IntervalMetric& interval) {
  interval.update(ids(), scores(), labels());
}
void add_rows(ModelComparison& comparison) {
  comparison.update(ids(), scores(), scores().flip(0), labels());
}

/// Which one it is, and the body of its checkpoint.
template <class Make>
void read_rows(std::string_view bytes, const Make& make) {
  if (bytes.empty()) return;
  const cli::TensorLimit limit(kMostBytes);
  const auto which = static_cast<unsigned char>(bytes.front());
  read_saved(
      sealed(bytes.substr(1)), [&] { return make(which); },
      [](auto& read) { add_rows(read); });
}

constexpr std::int64_t kVersionWithKeys = 3;

/// As the files in tests/metrics/data.
SlicedMetric make_slices() {
  SlicedMetric slices;
  slices.add("accuracy", make_metric("BinaryAccuracy"));
  slices.add("mse", make_metric("MeanSquaredError"));
  return slices;
}

void add_slices(SlicedMetric& slices) {
  slices.update(SliceKeys(at::arange(12).remainder(3)), scores(), labels());
}

MetricTracker make_tracker() {
  MetricCollection metrics;
  metrics.add("accuracy", make_metric("BinaryAccuracy"));
  metrics.add("f1", make_metric("BinaryF1Score"));
  return MetricTracker(std::move(metrics));
}

void add_step(MetricTracker& tracker) {
  tracker.increment();
  tracker.update(scores(), labels());
}

template <class Saved>
std::string body_of(const Saved& saved) {
  return saved.serialize().substr(kEnvelopeBytes);
}

/// What a class wrote before version 3.
std::string old_file(const std::string& name) {
  std::ifstream file("tests/metrics/data/" + name + ".tally", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void read_interval(std::string_view bytes) { read_rows(bytes, make_interval); }

std::vector<std::string> interval_seeds() {
  return seeds_of(std::size(kIntervals), make_interval,
                  [](auto& each) { add_rows(each); });
}

void read_comparison(std::string_view bytes) {
  read_rows(bytes, make_comparison);
}

std::vector<std::string> comparison_seeds() {
  return seeds_of(std::size(kComparisons), make_comparison,
                  [](auto& each) { add_rows(each); });
}

void read_slices(std::string_view bytes) {
  const cli::TensorLimit limit(kMostBytes);
  read_saved(sealed(bytes, kVersionWithKeys), make_slices, add_slices);
}

std::vector<std::string> slices_seeds() {
  SlicedMetric slices = make_slices();
  std::vector<std::string> seeds = {body_of(slices)};
  add_slices(slices);
  seeds.push_back(body_of(slices));
  slices.reset();
  std::vector<SliceValue> values;
  for (int i = 0; i < 4; ++i) values.insert(values.end(), {"north", 7, {}});
  slices.update(SliceKeys(values), scores(), labels());
  seeds.push_back(body_of(slices));
  return seeds;
}

void read_tracker(std::string_view bytes) {
  const cli::TensorLimit limit(kMostBytes);
  read_saved(sealed(bytes, kVersionWithKeys), make_tracker, add_step);
}

std::vector<std::string> tracker_seeds() {
  MetricTracker tracker = make_tracker();
  std::vector<std::string> seeds = {body_of(tracker)};
  for (int step = 0; step < 3; ++step) {
    add_step(tracker);
    seeds.push_back(body_of(tracker));
    if (step == 1) tracker.compute_all();
  }
  return seeds;
}

/// The length of the table of keys, that table and the states, both as bodies
/// of checkpoints.
void read_old_slices(std::string_view bytes) {
  const cli::TensorLimit limit(kMostBytes);
  const std::string table = sealed(take_part(bytes));
  read_saved(number_text(table.size()) + table + sealed(bytes), make_slices,
             add_slices);
}

std::vector<std::string> old_slices_seeds() {
  const std::string bytes = old_file("sliced_metric");
  std::string_view rest = bytes;
  const std::string_view table = take_part(rest).substr(kEnvelopeBytes);
  return {number_text(table.size()) + std::string(table) +
          std::string(rest.substr(kEnvelopeBytes))};
}

/// The length of the body of a step's checkpoint, that body, and what follows
/// the checkpoint in a tracker of one step.
void read_old_tracker(std::string_view bytes) {
  const cli::TensorLimit limit(kMostBytes);
  const std::string step = sealed(take_part(bytes));
  std::string body;
  Encoder encoder(body);
  encoder.integer(1);
  encoder.text(step);
  body += bytes;
  std::string given;
  Encoder envelope(given);
  envelope.text("TALLYTRK 2");
  envelope.integer(static_cast<std::int64_t>(sync::fingerprint(body)));
  read_saved(given + body, make_tracker, add_step);
}

std::vector<std::string> old_tracker_seeds() {
  const std::string bytes = old_file("metric_tracker");
  Decoder decoder(bytes);
  decoder.text();
  decoder.integer();
  decoder.integer();
  const std::string step = decoder.text();
  const std::string head =
      number_text(step.size() - kEnvelopeBytes) + step.substr(kEnvelopeBytes);
  // Without a value, and with that of a step that is over.
  std::string value;
  Encoder encoder(value);
  encoder.integer(1);
  encoder.text("accuracy");
  encoder.tensor(scores()[0]);
  return {head + number_text(0), head + value};
}

}  // namespace tally::fuzz
