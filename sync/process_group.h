#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <type_traits>

#include "tally/sync/communicator.h"

namespace c10d {
class Backend;
class ProcessGroup;
}  // namespace c10d

namespace tally::sync {

/// A communicator over an existing c10d backend, of all ranks or some. The
/// backend must not be used elsewhere at the same time, as c10d matches
/// collectives only by their order. Tensors are on the CPU; for NCCL, on the
/// current CUDA device, and `timeout` is then subject to NCCL's own watchdog. A
/// process that is not a member of the backend gets SyncError kInvalidUse. From
/// here on the process ignores SIGPIPE, unless it has its own handler:
/// otherwise it would die with the first lost rank.
std::shared_ptr<Communicator> make_communicator(
    c10::intrusive_ptr<c10d::Backend> backend,
    std::chrono::milliseconds timeout = kDefaultTimeout);

/// The same over a process group: its backend for the CPU, for CUDA, or both
/// (see paired.h), for example Gloo and NCCL.
std::shared_ptr<Communicator> make_communicator(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group,
    std::chrono::milliseconds timeout = kDefaultTimeout);

/// The same over a class derived from either, for example
/// c10d::ProcessGroupGloo.
///
/// Example:
///     sync::set_default_communicator(sync::make_communicator(group));
template <class Group>
std::enable_if_t<!std::is_same_v<Group, c10d::Backend> &&
                     !std::is_same_v<Group, c10d::ProcessGroup>,
                 std::shared_ptr<Communicator>>
make_communicator(const c10::intrusive_ptr<Group>& group,
                  std::chrono::milliseconds timeout = kDefaultTimeout) {
  using Base = std::conditional_t<std::is_base_of_v<c10d::Backend, Group>,
                                  c10d::Backend, c10d::ProcessGroup>;
  static_assert(std::is_base_of_v<Base, Group>,
                "expected a class derived from c10d::Backend or "
                "c10d::ProcessGroup");
  return make_communicator(c10::intrusive_ptr<Base>(group), timeout);
}

}  // namespace tally::sync
