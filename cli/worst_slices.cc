#include "tally/cli/worst_slices.h"

#include <algorithm>
#include <utility>

#include "tally/cli/first_failure.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

bool WorstSlices::are_wanted(const Job& job, const Arguments& arguments) {
  return job.slices &&
         (arguments.command == Command::kReport || arguments.interval > 0 ||
          !arguments.ids.empty() || !arguments.groups.empty());
}

WorstSlices::WorstSlices(const Job& job, const Arguments& arguments)
    : names_(job.source->names()) {
  SliceComparisonOptions options;
  options.grouped(!arguments.groups.empty());
  if (arguments.interval > 0) options.level(arguments.interval);
  for (const CollectionConfig::Member& member : job.config.members) {
    Compared compared{job.config.prefix + member.name + job.config.postfix};
    for (const InputInfo& input : builtin_registry().inputs(member.text)) {
      const auto found = std::find(names_.begin(), names_.end(), input.name);
      if (found == names_.end()) continue;
      compared.inputs.push_back(
          static_cast<std::size_t>(found - names_.begin()));
    }
    compared.failure = failure_of([&] {
      compared.comparison.emplace(make_metric(member.text, member.options),
                                  options);
    });
    compared_.push_back(std::move(compared));
  }
}

void WorstSlices::update(Compared& compared, const std::vector<InputRef>& all,
                         const SliceKeys& keys, const SampleIds& ids) const {
  const auto update = [&](auto inputs) {
    if (compared.comparison->takes_ids()) {
      compared.comparison->update_inputs(keys, ids, inputs);
    } else {
      compared.comparison->update_inputs(keys, inputs);
    }
  };
  if (names_.empty()) {
    update(Inputs(all));
    return;
  }
  std::vector<NamedInput> named;
  for (const std::size_t place : compared.inputs) {
    named.emplace_back(names_[place], all[place]);
  }
  update(NamedInputs(named));
}

void WorstSlices::batch(const std::vector<InputValue>& values,
                        const SliceKeys& keys, const SampleIds& ids) {
  std::vector<InputRef> all;
  for (const InputValue& value : values) all.push_back(value.ref());
  for (Compared& each : compared_) {
    if (!each.failure.empty()) continue;
    each.failure = failure_of([&] { update(each, all, keys, ids); });
  }
}

std::vector<MetricSlices> WorstSlices::compute(
    const std::shared_ptr<sync::Communicator>& ranks) {
  std::vector<MetricSlices> metrics;
  for (Compared& each : compared_) {
    MetricSlices found;
    found.metric = each.metric;
    if (each.comparison) {
      found.unit = each.comparison->unit();
      found.options = each.comparison->options();
    }
    found.remark = first_failure(each.failure, ranks);
    if (found.remark.empty()) {
      // What ids have wrong, on all ranks alike.
      found.remark =
          failure_of([&] { found.slices = each.comparison->compute(); });
    }
    metrics.push_back(std::move(found));
  }
  return metrics;
}

}  // namespace tally::cli
