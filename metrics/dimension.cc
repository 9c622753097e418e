#include "tally/metrics/dimension.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tally {
namespace {

// In the order of Dimension.
constexpr const char* kDimensionNames[] = {
    "unknown",      "class",     "foreground class",
    "listed class", "outcome",   "count",
    "point",        "threshold", "pair",
    "sample",       "group",     "output",
    "column",       "quantile",  "replicate",
    "step",         "area",      "limit"};

}  // namespace

const char* to_string(Dimension dimension) {
  return kDimensionNames[static_cast<std::size_t>(dimension)];
}

Dimension dimension_of(const std::string& text) {
  const auto* found =
      std::find(std::begin(kDimensionNames), std::end(kDimensionNames), text);
  if (found == std::end(kDimensionNames)) return Dimension::kUnknown;
  return static_cast<Dimension>(found - std::begin(kDimensionNames));
}

}  // namespace tally
