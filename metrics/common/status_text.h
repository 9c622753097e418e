#pragma once

#include <absl/status/status.h>

#include <string>

namespace tally::internal {

/// absl's string_view is a type of its own here.
inline std::string message_of(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace tally::internal
