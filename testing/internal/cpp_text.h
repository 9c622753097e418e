#pragma once

#include <string>

#include "tally/testing/batch.h"

namespace tally::testkit::internal {

/// C++ code that recreates the batch, bit for bit: "{at::tensor({0.5, 1.0},
/// ...), ...}". For ragged rows it calls the conversion `convert`.
std::string cpp_of(const Batch& batch);

}  // namespace tally::testkit::internal
