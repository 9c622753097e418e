#include "tally/metrics/intervals/interval.h"

#include <c10/util/Exception.h>

#include <utility>

namespace tally {

void Intervals::add(std::string name, Interval interval) {
  values_.emplace_back(std::move(name), std::move(interval));
}

const Interval& Intervals::at(const std::string& name) const {
  std::string names;
  for (const auto& [own, interval] : values_) {
    if (own == name) return interval;
    names += (names.empty() ? "'" : ", '") + own + "'";
  }
  TORCH_CHECK_INDEX(false, "no interval '", name,
                    "', expected one of: ", names);
}

const Interval& Intervals::value() const {
  TORCH_CHECK_INDEX(values_.size() == 1, "expected one interval, got ",
                    values_.size());
  return values_.front().second;
}

Results Intervals::results() const {
  Results results;
  for (const auto& [name, interval] : values_) {
    const std::string prefix = name.empty() ? "" : name + ".";
    const Dimensions& dimensions = interval.dimensions;
    results.add(name.empty() ? "value" : name, interval.value, dimensions);
    results.add(prefix + "low", interval.low, dimensions);
    results.add(prefix + "high", interval.high, dimensions);
  }
  return results;
}

}  // namespace tally
