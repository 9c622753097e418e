#pragma once

#include <string>

namespace tally::python {

/// All metrics and losses with their options and inputs, as JSON: what the
/// classes of Python and their stubs are made of.
std::string description();

}  // namespace tally::python
