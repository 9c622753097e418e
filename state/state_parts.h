#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/state/state.h"

namespace tally {

/// Several states combined into one: the state of composite metrics.
///
/// Example:
///     StateParts both({{"mean", MeanMetric().make_state()},
///                      {"max", MaxMetric().make_state()}});
///     AnyState& mean = both.parts()[0];
class StateParts {
 public:
  StateParts() = default;
  /// Each part with the prefix of its fields' names: "mean.sum".
  explicit StateParts(std::vector<std::pair<std::string, AnyState>> parts);
  /// A batch that equals `identity` except for one part. The others are created
  /// on demand, which merging does not require.
  StateParts(std::shared_ptr<const StateParts> identity, LonePart lone);

  std::vector<AnyState>& parts() {
    if (identity_) make_whole();
    return parts_;
  }
  /// REQUIRES: there is no lone part.
  const std::vector<AnyState>& parts() const { return parts_; }
  /// Null for a state with all of its parts.
  LonePart* lone_part() { return identity_ ? &lone_ : nullptr; }
  const LonePart* lone_part() const { return identity_ ? &lone_ : nullptr; }
  void fields(Fields& f);

 private:
  void make_whole();

  std::vector<AnyState> parts_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of all fields
  std::shared_ptr<const StateParts> identity_;             // of the lone part
  LonePart lone_;
};

}  // namespace tally
