#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>

#include "tally/sync/communicator.h"
#include "tally/sync/gloo.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace tally::sync {

struct NcclOptions {
  /// The CUDA device of this rank, which becomes the process's current one.
  /// NCCL wants another one for each rank of a machine. Negative: the rank
  /// modulo the number of devices.
  int device = -1;
  /// Of the group over Gloo, whose timeout is NCCL's too.
  GlooOptions gloo = {};
};

/// A group over Gloo and NCCL (see paired.h) of `size` processes that share the
/// store, which must not have been used for another group. Large states and
/// tensors on the GPU are reduced and gathered there; small ones, and those on
/// the CPU, travel over Gloo, as does what the ranks agree on.
///
/// In the process, TORCH_NCCL_BLOCKING_WAIT is set, unless it is already:
/// without it, c10d's watchdog ends a process whose peer is late. NCCL connects
/// the ranks in its first collective.
///
/// Throws c10::ValueError for arguments that are not as said; SyncError
/// kInvalidUse if this build has no NCCL (tools/bazel build --config=nccl) or
/// the machine no GPU, kTransport if NCCL refuses, kPeerFailed if any of that
/// is so on another rank; what make_gloo_communicator throws.
///
/// Tested only for what needs no GPU: the errors, that it links, and over other
/// transports what is moved where.
std::shared_ptr<Communicator> make_nccl_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const NcclOptions& options = {});

}  // namespace tally::sync
