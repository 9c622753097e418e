#include "tally/python/csrc/sync_error.h"

#include <utility>

namespace tally::python {
namespace {

thread_local SyncErrorParts noted;

}  // namespace

void note_sync_error(const sync::SyncError& error) {
  const sync::SyncErrorDetails& details = error.details();
  noted = {to_string(error.code()),
           error.message(),
           details.metric,
           details.state,
           details.rank,
           {details.peers.begin(), details.peers.end()},
           details.sequence,
           details.phase};
}

SyncErrorParts take_sync_error() {
  return std::exchange(noted, SyncErrorParts());
}

}  // namespace tally::python
