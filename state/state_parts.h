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
  /// A batch that is `identity` except for one part. The others are made when
  /// somebody asks for them, which a merge does not.
  StateParts(std::shared_ptr<const StateParts> identity, LonePart lone);

  std::vector<AnyState>& parts() {
    if (identity_) make_whole();
    return parts_;
  }
  /// REQUIRES: there is no lone part.
  const std::vector<AnyState>& parts() const { return parts_; }
  /// Null for a state of all its parts.
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
