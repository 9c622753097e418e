#include <c10/util/Exception.h>

#include "tally/cli/limits.h"
#include "tally/metrics/registry/collection_config.h"
#include "tally/metrics/registry/spec.h"
#include "tally/tests/fuzz/entries.h"
#include "tally/tests/fuzz/support.h"

namespace tally::fuzz {
namespace {

constexpr std::int64_t kMostCount = 1000;
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

CollectionConfig parse(std::string_view text) {
  if (!text.empty() && text[0] == '{') return parse_collection_config(text);
  CollectionConfig config;
  for (auto& [name, metric] : parse_metric_list(text)) {
    config.members.push_back({name, metric, {}});
  }
  return config;
}

}  // namespace

/// A configuration of metrics: JSON, or a list as --metrics takes it.
void read_config(std::string_view bytes) {
  const cli::TensorLimit limit(kMostBytes);
  try {
    const CollectionConfig config = parse(bytes);
    for (const CollectionConfig::Member& member : config.members) {
      require(!builtin_registry().inputs(member.text).empty(),
              "a metric has inputs");
      builtin_registry().check_sizes(member.text, kMostCount);
      const std::string repr = make_metric(member.text)->repr();
      require(make_metric(repr)->repr() == repr,
              "a metric's text makes that metric");
    }
    make_collection(config);
  } catch (const c10::ValueError&) {
  }
}

}  // namespace tally::fuzz
