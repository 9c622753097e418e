#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "tally/sync/base/roster.h"
#include "tally/sync/communicator.h"

namespace c10d {
class Backend;
}  // namespace c10d

namespace tally::sync::internal {

/// Connects the ranks of a group again, with a new number each time.
using Reconnect =
    std::function<std::shared_ptr<Communicator>(std::int64_t number)>;

/// Throws SyncError kInvalidUse unless `rank` is one of the `size` ranks.
void check_membership(int rank, int size);

/// Like make_communicator() in process_group.h; null means that nothing is
/// known about the ranks.
std::shared_ptr<Communicator> make_communicator(
    c10::intrusive_ptr<c10d::Backend> backend,
    std::chrono::milliseconds timeout, std::unique_ptr<Roster> roster,
    Reconnect reconnect);

}  // namespace tally::sync::internal
