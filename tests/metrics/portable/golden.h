#pragma once

#include <string>
#include <vector>

#include "tally/metrics/results.h"

/// States that released versions have written, which every later one reads.
namespace tally::golden {

/// One state of a metric of the registry, and its values when it was written.
struct State {
  std::string name;
  std::string bytes;
  Results values;
};

/// The file of write_golden.
inline constexpr const char* kStates = "tests/metrics/portable/data/states.bin";

/// A state of every metric, of the smallest of its reference cases.
std::vector<State> make_states();

std::string encode(const std::vector<State>& states);
std::vector<State> decode(const std::string& bytes);

}  // namespace tally::golden
