#pragma once

#include <cstdio>
#include <string>

namespace tally::internal {

/// Seconds with milliseconds, whatever the locale.
inline std::string time_text(double seconds) {
  const auto milliseconds = static_cast<long long>(seconds * 1000 + 0.5);
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", milliseconds / 1000,
                milliseconds % 1000);
  return text;
}

}  // namespace tally::internal
