#pragma once

#include <string>
#include <vector>

#include "tally/sync/errors.h"

namespace tally::sync::internal {

/// Classifies a transport's message: kPeerLost, kTimeout, or otherwise
/// kTransport. Gloo and c10d throw unrelated types for the same event, so that
/// only the text distinguishes events.
SyncErrorCode classify_transport_message(const std::string& message);

/// A transport's message without what follows on where to look and whom to
/// tell, which Gloo adds from LibTorch 2.13 on: SyncError says it of the ranks.
std::string without_advice(std::string message);

/// Makes writing to a closed connection an error instead of a signal that ends
/// this process: ignores SIGPIPE, unless the program has installed a handler.
/// Gloo leaves this to the program.
void survive_broken_pipes();

/// Details of an error during rendezvous.
SyncErrorDetails init_details(int rank, std::vector<int> peers = {});

}  // namespace tally::sync::internal
