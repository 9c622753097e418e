#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tally/sync/errors.h"

namespace tally::python {

/// Code, message, metric, state, rank, peers, sequence, phase.
using SyncErrorParts =
    std::tuple<std::string, std::string, std::string, std::string, std::int64_t,
               std::vector<std::int64_t>, std::int64_t, std::string>;

/// Notes the error for take_sync_error() of this thread: LibTorch makes an
/// exception of Python of it that has the text alone.
void note_sync_error(const sync::SyncError& error);
/// What was noted last; without a code if nothing was, or if it was taken.
SyncErrorParts take_sync_error();

}  // namespace tally::python
