#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/state/state.h"

namespace tally {

/// States side by side as one: what metrics made of metrics accumulate.
///
/// Example:
///     StateParts both({{"mean", MeanMetric().make_state()},
///                      {"max", MaxMetric().make_state()}});
///     AnyState& mean = both.parts()[0];
class StateParts {
 public:
  StateParts() = default;
  /// Each with the name that goes before those of its fields: "mean.sum".
  explicit StateParts(std::vector<std::pair<std::string, AnyState>> parts);

  std::vector<AnyState>& parts() { return parts_; }
  const std::vector<AnyState>& parts() const { return parts_; }
  void fields(Fields& f);

 private:
  std::vector<AnyState> parts_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of all fields
};

}  // namespace tally
