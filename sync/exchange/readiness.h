#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string_view>

#include "tally/sync/communicator.h"

/// Steps between an agreement and the collectives that follow from it, while
/// the other ranks rely on this one.
namespace tally::sync::internal {

/// Ranks about to move at least this many bytes first tell each other whether
/// they can: compared to these, one more small collective is negligible.
inline constexpr std::int64_t kAnnouncedBytes = std::int64_t{1} << 20;

/// Describes the data about to be moved, for errors.
struct Announcement {
  std::string_view label;
  std::int64_t sequence;
  Timeout timeout;
};

/// Calls `prepare`, which may fail, before `bytes` (the same on every rank) are
/// moved. If there are many and it throws on some rank, the others throw
/// kPeerFailed with its text, and the group remains usable. To be called in
/// or_give_up().
void make_ready(Communicator& communicator, const Announcement& announcement,
                std::int64_t bytes, c10::function_ref<void()> prepare);

/// The device to which tensors on that device will probably be copied, before
/// the others' devices are known.
c10::Device likely_device(const Communicator& communicator, c10::Device device);

}  // namespace tally::sync::internal
