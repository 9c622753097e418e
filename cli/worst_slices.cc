#include "tally/cli/worst_slices.h"

#include <ATen/ops/arange.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/cli/agree.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

void WorstSlices::begin(const Job& job) {
  if (!job.slices) return;
  names_ = job.source->names();
  for (const CollectionConfig::Member& member : job.config.members) {
    // What cannot be compared is refused.
    failure_of([&] {
      std::vector<std::size_t> places;
      for (const InputInfo& input : builtin_registry().inputs(member.text)) {
        const auto found = std::find(names_.begin(), names_.end(), input.name);
        if (found == names_.end()) continue;
        places.push_back(static_cast<std::size_t>(found - names_.begin()));
      }
      SliceComparison comparison(make_metric(member.text, member.options));
      compared_.push_back({job.config.prefix + member.name + job.config.postfix,
                           std::move(places), std::move(comparison)});
    });
  }
}

void WorstSlices::batch(std::int64_t first,
                        const std::vector<InputValue>& values,
                        const SliceKeys* keys) {
  if (keys == nullptr || !failure_.empty()) return;
  failure_ = failure_of([&] {
    const at::Tensor ids = at::arange(first, first + keys->size(), at::kLong);
    std::vector<InputRef> all;
    for (const InputValue& value : values) all.push_back(value.ref());
    for (Compared& each : compared_) {
      if (names_.empty()) {
        each.comparison.update_inputs(*keys, ids, Inputs(all));
        continue;
      }
      std::vector<NamedInput> named;
      for (const std::size_t place : each.inputs) {
        named.emplace_back(names_[place], all[place]);
      }
      each.comparison.update_inputs(*keys, ids, NamedInputs(named));
    }
  });
}

WorstSlices::Shown WorstSlices::compute(
    const std::shared_ptr<sync::Communicator>& ranks) {
  Shown shown;
  shown.remark = first_failure(failure_, ranks);
  if (!shown.remark.empty()) return shown;
  for (const Compared& each : compared_) {
    shown.comparisons.push_back({each.metric, each.comparison.compute()});
  }
  return shown;
}

}  // namespace tally::cli
