#pragma once

#include <absl/status/status.h>

#include <string>

namespace tally::testkit {

inline std::string message_of(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace tally::testkit
