#pragma once

#include <string>

#include "tally/sync/errors.h"

namespace tally::sync {

/// What a transport's message means: kPeerLost, kTimeout, or kTransport for
/// what is neither. Gloo and c10d throw unrelated types for the same event,
/// so that only the text tells the events apart.
SyncErrorCode classify_transport_message(const std::string& message);

}  // namespace tally::sync
