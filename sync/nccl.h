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
  /// The CUDA device of this rank, which becomes the process's current device.
  /// NCCL requires a different one for each rank of a machine. If negative, the
  /// rank modulo the number of devices.
  int device = -1;
  /// Options of the Gloo group; its timeout also applies to NCCL.
  GlooOptions gloo = {};
};

/// A group over Gloo and NCCL (see paired.h) of `size` processes that share the
/// store, which must not have been used for another group. Large states and
/// tensors on the GPU are reduced and gathered there; small ones, those on the
/// CPU, and the agreements between ranks use Gloo.
///
/// Sets TORCH_NCCL_BLOCKING_WAIT in the process, unless it is already set:
/// without it, c10d's watchdog ends a process whose peer is late. NCCL connects
/// the ranks in its first collective.
///
/// Throws c10::ValueError for invalid arguments; SyncError kInvalidUse if this
/// build has no NCCL (tools/bazel build --config=nccl) or the machine no GPU,
/// kTransport if NCCL fails, kPeerFailed if any of these happens on another
/// rank; and the errors of make_gloo_communicator.
///
/// Tested over NCCL 2.28 with up to three processes on one H200, and without a
/// GPU with other transports in place of NCCL; not over several GPUs. NCCL
/// refuses two ranks on one GPU in its first collective, unless each process
/// has another NCCL_HOSTID.
std::shared_ptr<Communicator> make_nccl_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const NcclOptions& options = {});

}  // namespace tally::sync
