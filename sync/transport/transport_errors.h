#pragma once

#include <string>
#include <vector>

#include "tally/sync/errors.h"

namespace tally::sync::internal {

/// What a transport's message means: kPeerLost, kTimeout, or kTransport for
/// what is neither. Gloo and c10d throw unrelated types for the same event,
/// so that only the text tells the events apart.
SyncErrorCode classify_transport_message(const std::string& message);

/// Makes writing to a connection that its peer has closed an error in place of
/// a signal that ends this process: sets SIGPIPE to be ignored, unless the
/// program has said what to do with it. Gloo leaves this to the program.
void survive_broken_pipes();

/// Of an error while the ranks come together.
SyncErrorDetails init_details(int rank, std::vector<int> peers = {});

}  // namespace tally::sync::internal
