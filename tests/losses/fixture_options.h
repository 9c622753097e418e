#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/tests/testing/fixtures.h"

namespace tally::testkit {

/// A case's options, as numbers.
class FixtureOptions {
 public:
  explicit FixtureOptions(const OptionTexts& texts) : texts_(texts) {}

  double number(const std::string& name, double otherwise) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? otherwise : std::stod(found->second);
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? otherwise : std::stoll(found->second);
  }
  bool flag(const std::string& name, bool otherwise) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? otherwise : found->second == "true";
  }
  bool has(const std::string& name) const { return texts_.count(name) > 0; }

 private:
  const OptionTexts& texts_;
};

/// The inputs of a case's first batch.
inline std::vector<at::Tensor> tensors_of(const FixtureCase& fixture) {
  std::vector<at::Tensor> tensors;
  for (const BatchInput& input : fixture.batches[0]) {
    tensors.push_back(input.tensor());
  }
  return tensors;
}

}  // namespace tally::testkit
