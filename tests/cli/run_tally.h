#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tally/tests/examples/program.h"

namespace tally::cli {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

/// The command line of `tally evaluate` with these words.
Words evaluate(Words words);

/// That two values, or lists of them, are equal up to the tolerance.
void expect_near(const Json& value, const Json& wanted, double tolerance);

/// That the program said what is wrong in one line, and nothing else.
void expect_refusal(const testkit::Program::Result& result,
                    const std::string& what);

}  // namespace tally::cli
