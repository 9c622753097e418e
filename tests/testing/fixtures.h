#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "tally/testing/batch.h"

namespace tally::testkit {

using OptionTexts = std::map<std::string, std::string>;

/// One case of tests/reference/data/<Metric>.json; README.md there says what
/// the parts mean.
struct FixtureCase {
  std::string name;
  OptionTexts options;  ///< as parse_options() takes them
  std::vector<Batch> batches;
  std::map<std::string, at::Tensor> expected;
  double rtol = 0;
  double atol = 0;
  bool row_split = true;
};

/// Throws std::runtime_error, naming the file, if it is not there or has
/// another form.
std::vector<FixtureCase> read_fixture(const std::string& metric);

}  // namespace tally::testkit
