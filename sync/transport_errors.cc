#include "tally/sync/transport_errors.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace tally::sync {

SyncErrorCode classify_transport_message(const std::string& message) {
  std::string text = message;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  auto says_any = [&](std::initializer_list<const char*> phrases) {
    return std::any_of(phrases.begin(), phrases.end(), [&](const char* p) {
      return text.find(p) != std::string::npos;
    });
  };
  if (says_any({"connection closed", "connection reset", "connection refused",
                "broken pipe"})) {
    return SyncErrorCode::kPeerLost;
  }
  if (says_any({"timed out", "timeout"})) return SyncErrorCode::kTimeout;
  return SyncErrorCode::kTransport;
}

}  // namespace tally::sync
