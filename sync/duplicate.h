#pragma once

#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Another group of the same ranks, for what is to communicate on its own
/// beside `communicator` (null: default_communicator()), from another thread
/// for example: the calls of one never meet those of the other. They have the
/// same timeout, and each ends alone.
///
/// Collective. c10::ValueError for a communicator that Tally did not connect
/// itself (of a c10d::Backend, or paired with NCCL), and the other ranks
/// SyncError kPeerFailed; what make_gloo_communicator throws. One process:
/// single_process_communicator().
///
/// Example:
///     std::shared_ptr<sync::Communicator> background = sync::duplicate();
std::shared_ptr<Communicator> duplicate(
    std::shared_ptr<Communicator> communicator = nullptr);

}  // namespace tally::sync
