#pragma once

#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Another group of the same ranks, for communication that is independent of
/// `communicator` (null: default_communicator()), for example from another
/// thread: calls of one never interfere with those of the other. They have the
/// same timeout, and fail independently.
///
/// Collective. Of a group that is paired with NCCL, the copy is over Gloo
/// alone. Throws c10::ValueError for a communicator that Tally did not connect
/// (one made from a c10d::Backend), while the other ranks throw SyncError
/// kPeerFailed; and the errors of make_gloo_communicator. A single process gets
/// single_process_communicator().
///
/// Example:
///     std::shared_ptr<sync::Communicator> background = sync::duplicate();
std::shared_ptr<Communicator> duplicate(
    std::shared_ptr<Communicator> communicator = nullptr);

}  // namespace tally::sync
