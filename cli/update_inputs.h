#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tally/metrics/inputs.h"

namespace tally::cli {

/// Calls `update` with inputs by name, or, without names, by position: that of
/// a collection, of its slices or of an interval.
template <class Update>
void update_inputs(const std::vector<std::string>& names,
                   const std::vector<InputValue>& values,
                   const Update& update) {
  std::vector<InputRef> inputs;
  std::vector<NamedInput> named;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (names.empty()) {
      inputs.push_back(values[i].ref());
    } else {
      named.emplace_back(names[i], values[i].ref());
    }
  }
  if (names.empty()) {
    update(Inputs(inputs));
  } else {
    update(NamedInputs(named));
  }
}

}  // namespace tally::cli
