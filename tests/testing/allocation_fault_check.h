#pragma once

#include <functional>
#include <memory>

#include "tally/sync/communicator.h"
#include "tally/testing/thread_ranks.h"

namespace tally::testkit {

/// A collective call of whatever kind; whether it gave the right result. From
/// `arm` on, allocations count.
using CallUnderFault =
    std::function<bool(const std::shared_ptr<sync::Communicator>& group,
                       const std::function<void()>& arm)>;

/// Makes the call on 3 ranks again and again, and on one of them allocations
/// fail, one after the other, until none does. Each time all ranks must come
/// back at once: with the right result or an error, that of the others a
/// SyncError; and the group is afterwards usable by all of them or by none, and
/// it is if they threw kPeerFailed.
void check_allocation_faults(ThreadTransport transport,
                             const CallUnderFault& call);

}  // namespace tally::testkit
