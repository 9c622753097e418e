#pragma once

#include <chrono>
#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// What moves the bytes between ranks.
enum class Transport {
  kGloo,  ///< on the CPU
  kNccl,  ///< beside Gloo, between GPUs, that of LOCAL_RANK; see nccl.h
};

struct InitOptions {
  /// How long to wait for the other ranks, now and in each collective.
  std::chrono::milliseconds timeout = kDefaultTimeout;
  Transport transport = Transport::kGloo;
};

/// Joins the group that the launcher started this process in and makes it the
/// process's default communicator; a single process when there was no launcher,
/// or one rank. All ranks call it. Called again, it gives the
/// same communicator.
///
/// environment.h lists the variables. Throws c10::ValueError for nonsense in
/// them, before it touches the network; SyncError kTimeout, kMismatch,
/// kPeerLost or kTransport, within the timeout, when the ranks do not come
/// together; kGroupBroken when that happened before; kInvalidUse when the
/// environment is no longer that of the first call.
///
/// A rank that launch_local() started ends from here on with its launcher,
/// whatever ends that.
std::shared_ptr<Communicator> init_from_env(const InitOptions& options = {});

}  // namespace tally::sync
