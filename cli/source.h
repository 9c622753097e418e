#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/metrics/registry/registry.h"

namespace tally::cli {

/// The inputs of metrics, in files: as many rows of each.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t bytes_per_row() const = 0;
  /// Of the inputs; none if they are given by position.
  virtual const std::vector<std::string>& names() const = 0;
  /// What a reader should check of how the files were read, a line for each;
  /// empty if the arguments said it all.
  virtual std::string remarks() const { return ""; }
  /// Rows from `begin` up to `end` of each input.
  virtual std::vector<InputValue> read(std::int64_t begin,
                                       std::int64_t end) = 0;
};

/// What a metric says of its inputs.
struct MetricInputs {
  std::string name;
  std::vector<InputInfo> inputs;
};

/// Opens the files that the arguments name. Throws c10::ValueError if they are
/// not what they should be, or not what the metrics take.
std::unique_ptr<Source> open_source(const Arguments& arguments,
                                    const std::vector<MetricInputs>& metrics);

}  // namespace tally::cli
