#include "tally/sync/errors.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace tally::sync {
namespace {

constexpr size_t kMostPeers = 10;

std::string format(SyncErrorCode code, const std::string& message,
                   const SyncErrorDetails& details) {
  std::ostringstream out;
  out << "SyncError " << to_string(code) << ": " << message;
  const char* separator = " [";
  auto add = [&](const char* name, const auto& value) {
    out << separator << name << ' ' << value;
    separator = ", ";
  };
  if (!details.metric.empty()) add("metric", details.metric);
  if (!details.state.empty()) add("state", details.state);
  if (details.rank >= 0) add("rank", details.rank);
  if (!details.peers.empty()) {
    std::ostringstream peers;
    const size_t named = std::min(details.peers.size(), kMostPeers);
    for (size_t i = 0; i < named; ++i) {
      peers << (i == 0 ? "" : " ") << details.peers[i];
    }
    if (named < details.peers.size()) {
      peers << " and " << details.peers.size() - named << " more";
    }
    add("peers", peers.str());
  }
  if (details.sequence >= 0) add("sequence", details.sequence);
  if (!details.phase.empty()) add("phase", details.phase);
  if (separator[0] == ',') out << ']';
  return out.str();
}

}  // namespace

const char* to_string(SyncErrorCode code) noexcept {
  switch (code) {
    case SyncErrorCode::kMismatch:
      return "kMismatch";
    case SyncErrorCode::kPeerFailed:
      return "kPeerFailed";
    case SyncErrorCode::kPeerLost:
      return "kPeerLost";
    case SyncErrorCode::kTimeout:
      return "kTimeout";
    case SyncErrorCode::kGroupBroken:
      return "kGroupBroken";
    case SyncErrorCode::kTransport:
      return "kTransport";
    case SyncErrorCode::kInvalidUse:
      return "kInvalidUse";
  }
  return "unknown";
}

SyncError::SyncError(SyncErrorCode code, const std::string& message,
                     SyncErrorDetails details)
    : c10::DistError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                     format(code, message, details)),
      code_(code),
      message_(message),
      details_(std::move(details)) {}

std::string describe(const std::exception& error) {
  const auto first_line = [](const std::string& text) {
    return text.substr(0, text.find('\n'));
  };
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  if (torch_error == nullptr) return first_line(error.what());
  std::string text = first_line(torch_error->msg());
  const char* separator = " (";
  for (const std::string& context : torch_error->context()) {
    text += separator + first_line(context);
    separator = ", ";
  }
  return torch_error->context().empty() ? text : text + ")";
}

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return describe(exception);
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace tally::sync
