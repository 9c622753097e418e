#include "tally/metrics/checkpoint/checkpoint.h"

#include <ATen/ops/arange.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tally/cli/limits.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/registry/registry.h"
#include "tally/state/codec.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/saved.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

constexpr std::int64_t kMostCount = 100;

MetricCollection make_collection() {
  MetricCollection collection;
  for (const char* text :
       {"CatMetric", "RunningSum", "MinMaxMetric(metric=MeanMetric)"}) {
    collection.add(text, make_metric(text));
  }
  return collection;
}

void update_somehow(Metric& metric) {
  for (const auto& batch : batches()) {
    std::vector<InputRef> inputs;
    for (const at::Tensor& tensor : batch) {
      inputs.push_back(InputRef::of(tensor));
    }
    try {
      metric.update_inputs(inputs);
      return;
    } catch (const c10::Error&) {
      // Not an input for this metric.
    }
  }
}

/// Where the update count and fields of a metric's checkpoint begin.
std::size_t head_size(std::string_view checkpoint) {
  Decoder decoder(checkpoint.substr(kEnvelopeBytes));
  decoder.integer();
  for (int i = 0; i < 3; ++i) decoder.text();
  return checkpoint.size() - decoder.remaining();
}

/// A checkpoint of the metric that holds these as update count and fields.
std::string forged(const Metric& metric, std::string_view fields) {
  std::string checkpoint = metric.serialize();
  checkpoint.resize(head_size(checkpoint));
  return sealed(checkpoint.substr(kEnvelopeBytes).append(fields));
}

}  // namespace

/// A checkpoint of a collection.
void read_checkpoint_file(std::string_view bytes) {
  const cli::TensorLimit limit(kMostBytes);
  MetricCollection collection = make_collection();
  const std::string before = collection.serialize();
  if (!collection.deserialize(bytes).ok()) {
    require(collection.serialize() == before,
            "a checkpoint that is refused changes nothing");
    return;
  }
  const std::string after = collection.serialize();
  require(make_collection().deserialize(after).ok(),
          "what was saved can be loaded");
}

namespace {

/// What is saved says whose it is.
std::string saved(MetricCollection& collection, CheckpointRanks ranks) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("tally_seeds" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "seed";
  const bool ok = collection.save(path, ranks).ok();
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove_all(folder);
  require(ok, "a seed can be saved");
  return bytes;
}

}  // namespace

std::vector<std::string> checkpoint_seeds() {
  MetricCollection collection = make_collection();
  const std::string empty = collection.serialize();
  collection.update(at::arange(20, at::kDouble));
  return {empty, empty.substr(0, kEnvelopeBytes), collection.serialize(),
          saved(collection, CheckpointRanks::kOneFile),
          saved(collection, CheckpointRanks::kFilePerRank)};
}

/// A metric's text in a line, and behind it the update count and fields of a
/// checkpoint of it, with a checksum that is right.
void read_metric_state(std::string_view bytes) {
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  const cli::TensorLimit limit(kMostBytes);
  std::unique_ptr<Metric> metric;
  try {
    builtin_registry().check_sizes(bytes.substr(0, line), kMostCount);
    metric = make_metric(bytes.substr(0, line));
  } catch (const c10::ValueError&) {
    return;
  }
  const std::string before = metric->serialize();
  const std::string checkpoint =
      forged(*metric, bytes.substr(std::min(line + 1, bytes.size())));
  if (!metric->deserialize(checkpoint).ok()) {
    require(metric->serialize() == before,
            "a checkpoint that is refused changes nothing");
    return;
  }
  const std::string after = metric->serialize();
  const auto copy = metric->clone();
  require(copy->deserialize(after).ok() && copy->serialize() == after,
          "what was saved is what is loaded");
  use([&] { metric->compute_results(); });
  use([&] { copy->merge_state(*metric); });
  use([&] { update_somehow(*copy); });
  use([&] { copy->compute_results(); });
}

std::vector<std::string> metric_state_seeds() {
  std::vector<std::string> seeds;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    const std::string text = entry.example();
    const auto metric = make_metric(text);
    update_somehow(*metric);
    const std::string checkpoint = metric->serialize();
    seeds.push_back(text + "\n" + checkpoint.substr(head_size(checkpoint)));
  }
  return seeds;
}

}  // namespace tally::fuzz
