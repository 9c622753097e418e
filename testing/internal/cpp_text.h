#pragma once

#include <string>

#include "tally/testing/batch.h"

namespace tally::testkit::internal {

/// C++ that makes the batch again, bit for bit: "{at::tensor({0.5, 1.0}, ...),
/// ...}". Of ragged rows it calls the conversion `convert`.
std::string cpp_of(const Batch& batch);

}  // namespace tally::testkit::internal
