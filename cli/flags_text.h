#pragma once

#include <map>
#include <string>
#include <vector>

#include "tally/metrics/intervals/interval_flags.h"

namespace tally::cli {

/// A line for each flag of intervals or comparisons: "f1, recall: few units:
/// ...".
template <class Parts>
std::string flags_text(const Parts& parts) {
  std::map<IntervalFlag, std::string> names;
  for (const auto& [name, part] : parts) {
    for (const IntervalFlag flag : part.flags.list()) {
      std::string& own = names[flag];
      own += (own.empty() ? "" : ", ") + name;
    }
  }
  std::string text;
  for (const auto& [flag, own] : names) {
    text += own + ": " + words(flag) + "\n";
  }
  return text;
}

}  // namespace tally::cli
