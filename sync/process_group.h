#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>

#include "tally/sync/communicator.h"

namespace c10d {
class Backend;
class ProcessGroup;
}  // namespace c10d

namespace tally::sync {

/// A communicator over a c10d backend that the program already has, of all
/// ranks or of some. Nobody else may use the backend at the same time, as c10d
/// matches collectives by their order alone. Tensors live on the CPU; for
/// NCCL, on the CUDA device that is current now, and `timeout` is then up to
/// NCCL's own watchdog. A process that is not a member of the backend gets
/// SyncError kInvalidUse. From here on the process ignores SIGPIPE, unless it
/// handles it itself: it would die with the first rank that is lost.
std::shared_ptr<Communicator> make_communicator(
    c10::intrusive_ptr<c10d::Backend> backend,
    std::chrono::milliseconds timeout = kDefaultTimeout);

/// The same over a process group: its backend for the CPU, the one for CUDA, or
/// both (see paired.h) if they are Gloo and NCCL, say.
std::shared_ptr<Communicator> make_communicator(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group,
    std::chrono::milliseconds timeout = kDefaultTimeout);

}  // namespace tally::sync
