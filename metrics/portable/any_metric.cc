#include "tally/metrics/portable/any_metric.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/common/status_text.h"
#include "tally/metrics/core/metric_traits.h"
#include "tally/metrics/metric_spec.h"
#include "tally/sync/errors.h"

namespace tally {
namespace {

using internal::precondition;

// Sizes of options that any bytes may have, and how many more for each byte:
// a count takes a 64th of one where it is 0.
constexpr std::int64_t kSpareSize = 100'000;
constexpr std::int64_t kSizesPerByte = 64;

/// The options of a text around metrics, of which one is taken after the other.
class Spec {
 public:
  Spec(std::string_view text, const Registry& registry, std::int64_t most)
      : spec_(parse_metric_spec(text)), registry_(registry), most_(most) {}

  const std::string& name() const { return spec_.name; }

  /// Empty if it is not given.
  std::string take(const char* option) {
    const auto found = spec_.options.find(option);
    if (found == spec_.options.end()) return "";
    std::string text = std::move(found->second);
    spec_.options.erase(found);
    return text;
  }

  std::unique_ptr<Metric> make(std::string_view text) const {
    if (most_ >= 0) registry_.check_sizes(text, most_);
    return registry_.make(text);
  }

  /// That of "metric=A()".
  std::unique_ptr<Metric> metric() {
    const std::string text = take("metric");
    TORCH_CHECK_VALUE(!text.empty(), name(), ": option 'metric' is required");
    return make(text);
  }

  /// Calls `add(name, metric)` for those of "metrics={a: A(), b: B()}", or for
  /// the one of "metric=A()", without a name.
  template <class Add>
  void for_each_metric(const Add& add) {
    if (spec_.options.count("metric") != 0) return add("", metric());
    const std::string text = take("metrics");
    if (text.empty()) return;
    for (const auto& [item, inner] : parse_items(text)) add(item, make(inner));
  }

  /// What is left.
  template <class Options>
  Options rest() const {
    Options options;
    parse_options(options, spec_.name, spec_.options);
    if (most_ < 0) return options;
    for (const OptionInfo& option : describe_options(options)) {
      if (!option.is_size) continue;
      TORCH_CHECK_VALUE(std::stoll(option.text) <= most_, spec_.name,
                        ": option '", option.name, "': expected at most ",
                        most_, " for this amount of data, got ", option.text);
    }
    return options;
  }

 private:
  MetricSpec spec_;
  const Registry& registry_;
  std::int64_t most_;
};

MetricCollection make_collection(Spec& spec) {
  MetricCollection metrics;
  metrics.prefix(spec.take("prefix")).postfix(spec.take("postfix"));
  spec.for_each_metric([&](std::string name, std::unique_ptr<Metric> metric) {
    metrics.add(std::move(name), std::move(metric));
  });
  spec.rest<NoOptions>();
  return metrics;
}

SlicedMetric make_slices(Spec& spec) {
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> members;
  spec.for_each_metric([&](std::string name, std::unique_ptr<Metric> metric) {
    members.emplace_back(std::move(name), std::move(metric));
  });
  const std::string keys = spec.take("keys");
  auto options = spec.rest<SlicedMetricOptions>();
  if (!keys.empty()) options.keys(parse_slice_keys(keys));
  SlicedMetric slices(std::move(options));
  for (auto& [name, metric] : members) slices.add(name, std::move(metric));
  return slices;
}

NamedSets make_sets(Spec& spec) {
  std::vector<std::string> sets;
  const auto refusal = OptionRef(sets).set(spec.take("sets"));
  TORCH_CHECK_VALUE(!refusal, spec.name(), ": sets: expected ",
                    refusal->expected, ", got '", refusal->got, "'");
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> members;
  spec.for_each_metric([&](std::string name, std::unique_ptr<Metric> metric) {
    members.emplace_back(std::move(name), std::move(metric));
  });
  NamedSets made(std::move(sets), spec.rest<NamedSetsOptions>());
  for (auto& [name, metric] : members) made.add(name, std::move(metric));
  return made;
}

template <class T>
T make_around(Spec& spec) {
  auto metric = spec.metric();
  return T(std::move(metric), spec.rest<typename T::Options>());
}

MetricCollection collection_of(std::string_view text, const Registry& registry,
                               std::int64_t most) {
  Spec spec(text, registry, most);
  TORCH_CHECK_VALUE(spec.name() == MetricCollection::kName,
                    MetricTracker::kName, ": metrics: expected ",
                    MetricCollection::kName, "(...), got ", spec.name());
  return make_collection(spec);
}

MetricTracker make_tracker(Spec& spec, const Registry& registry,
                           std::int64_t most) {
  std::map<std::string, bool> maximize;
  const std::string told = spec.take("maximize");
  if (!told.empty()) {
    for (const auto& [name, text] : parse_items(told)) {
      const auto refusal = OptionRef(maximize[name]).set(text);
      TORCH_CHECK_VALUE(!refusal, spec.name(), ": maximize: expected ",
                        refusal->expected, ", got '", refusal->got, "'");
    }
  }
  const std::string metrics = spec.take("metrics");
  if (!metrics.empty()) {
    spec.rest<NoOptions>();
    return MetricTracker(collection_of(metrics, registry, most),
                         std::move(maximize));
  }
  auto metric = spec.metric();
  spec.rest<NoOptions>();
  std::optional<bool> own;
  for (const auto& [name, is_best] : maximize) {
    TORCH_CHECK_VALUE(name == metric->name(), spec.name(),
                      ": expected maximize for ", metric->name(), ", got '",
                      name, "'");
    own = is_best;
  }
  return MetricTracker(std::move(metric), own);
}

/// With sizes of at most `most`; negative: of any.
AnyMetric make(std::string_view text, const Registry& registry,
               std::int64_t most) {
  Spec spec(text, registry, most);
  const std::string& name = spec.name();
  if (name == MetricCollection::kName) return make_collection(spec);
  if (name == SlicedMetric::kName) return make_slices(spec);
  if (name == SliceComparison::kName) return make_around<SliceComparison>(spec);
  if (name == IntervalMetric::kName) return make_around<IntervalMetric>(spec);
  if (name == ModelComparison::kName) return make_around<ModelComparison>(spec);
  if (name == MetricTracker::kName) return make_tracker(spec, registry, most);
  if (name == NamedSets::kName) return make_sets(spec);
  return spec.make(text);
}

/// What the head of these bytes describes.
absl::StatusOr<AnyMetric> make_empty(
    std::string_view bytes,
    const absl::StatusOr<internal::CheckpointHead>& head,
    const Registry& registry) {
  if (!head.ok()) return head.status();
  if (head->spec.empty()) {
    return precondition(
        "the state does not say what made it: it was written by serialize(), "
        "or by an older version; make the same metric, and read it by "
        "deserialize() or load()");
  }
  try {
    const std::int64_t most = std::max(
        kSpareSize, kSizesPerByte * static_cast<std::int64_t>(bytes.size()));
    return make(head->spec, registry, most);
  } catch (const std::exception& error) {
    return precondition("the state is one of " + head->spec + ", and " +
                        sync::describe(error) +
                        "; make one, and read the bytes by its deserialize()");
  }
}

}  // namespace

MetricBase& base_of(AnyMetric& metric) {
  return std::visit(
      [](auto& held) -> MetricBase& {
        if constexpr (std::is_base_of_v<MetricBase,
                                        std::decay_t<decltype(held)>>) {
          return held;
        } else {
          return *held;
        }
      },
      metric);
}

const MetricBase& base_of(const AnyMetric& metric) {
  return base_of(const_cast<AnyMetric&>(metric));
}

AnyMetric make_any_metric(std::string_view text, const Registry& registry) {
  return make(text, registry, /*most=*/-1);
}

absl::StatusOr<AnyMetric> empty_from_bytes(std::string_view bytes,
                                           const Registry& registry) {
  return make_empty(bytes, internal::read_checkpoint_head(bytes), registry);
}

absl::StatusOr<AnyMetric> from_bytes(std::string_view bytes,
                                     const Registry& registry) {
  // The checksum is verified with the state; before it, where there is an error
  // that damage may explain.
  absl::StatusOr<AnyMetric> metric = make_empty(
      bytes, internal::read_checkpoint_head(bytes, internal::Checksum::kIgnore),
      registry);
  if (!metric.ok()) return empty_from_bytes(bytes, registry);
  const absl::Status read = base_of(*metric).deserialize(bytes);
  if (!read.ok()) return read;
  return metric;
}

void merge_into(AnyMetric& metric, const AnyMetric& other) {
  // Options that states do not depend on say what the values are of.
  const std::string expected = base_of(metric).spec();
  const std::string got = base_of(other).spec();
  TORCH_CHECK_VALUE(metric.index() == other.index() && got == expected,
                    "merge_state expected a state of ", expected,
                    ", got one of ", got);
  std::visit(
      [&](auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::unique_ptr<Metric>>) {
          held->merge_state(*std::get<T>(other));
        } else {
          held.merge_state(std::get<T>(other));
        }
      },
      metric);
}

absl::StatusOr<AnyMetric> merge_bytes(c10::ArrayRef<std::string_view> parts,
                                      const Registry& registry) {
  if (parts.empty()) {
    return internal::invalid_argument("expected states to merge, got none");
  }
  const auto at = [](std::size_t place, const std::string& message) {
    return c10::str("state ", place, ": ", message);
  };
  absl::StatusOr<AnyMetric> all = from_bytes(parts.front(), registry);
  if (!all.ok()) {
    return absl::Status(all.status().code(),
                        at(0, internal::message_of(all.status())));
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const absl::StatusOr<AnyMetric> next = from_bytes(parts[i], registry);
    if (!next.ok()) {
      return absl::Status(next.status().code(),
                          at(i, internal::message_of(next.status())));
    }
    try {
      merge_into(*all, *next);
    } catch (const std::exception& error) {
      return internal::invalid_argument(at(i, sync::describe(error)));
    }
  }
  return all;
}

}  // namespace tally
