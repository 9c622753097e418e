#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>

#include "tally/sync/communicator.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace tally::sync {

struct NcclOptions {
  /// The CUDA device of this rank, which becomes the process's current one.
  /// NCCL wants another one for each rank of a machine. Negative: the rank
  /// modulo the number of devices.
  int device = -1;
  /// How long a collective may take.
  std::chrono::milliseconds timeout = kDefaultTimeout;
};

/// A group over NCCL of `size` processes that share the store, which must not
/// have been used for another group. NCCL connects the ranks in the first
/// collective, so that is where one that is missing shows.
///
/// States and tensors on the GPU are reduced and gathered there; those on the
/// CPU travel through its memory, in the same collectives. In the process,
/// TORCH_NCCL_BLOCKING_WAIT is set, unless it is already: without it, c10d's
/// watchdog ends a process whose peer is late.
///
/// Throws c10::ValueError for arguments that are not as said; SyncError
/// kInvalidUse if this build has no NCCL (tools/bazel build --config=nccl) or
/// the machine no GPU, kTransport if NCCL refuses.
///
/// Tested only for what needs no GPU: the errors, and that it links.
std::shared_ptr<Communicator> make_nccl_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const NcclOptions& options = {});

}  // namespace tally::sync
