#pragma once

#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Another group of the same ranks, for communication that is independent of
/// `communicator` (null: default_communicator()), for example from another
/// thread: calls of one never interfere with those of the other. They have the
/// same timeout, and fail independently.
///
/// Collective. Throws c10::ValueError for a communicator that was not connected
/// by Tally (made from a c10d::Backend, or paired with NCCL), while the other
/// ranks throw SyncError kPeerFailed; and the errors of make_gloo_communicator.
/// A single process gets single_process_communicator().
///
/// Example:
///     std::shared_ptr<sync::Communicator> background = sync::duplicate();
std::shared_ptr<Communicator> duplicate(
    std::shared_ptr<Communicator> communicator = nullptr);

}  // namespace tally::sync
