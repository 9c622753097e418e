#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string_view>

#include "tally/sync/communicator.h"

/// What a rank does between an agreement and the collectives that follow from
/// it, while the others count on it.
namespace tally::sync::internal {

/// Ranks that are about to move so many bytes tell each other first whether
/// they can: next to these, one more small collective is negligible.
inline constexpr std::int64_t kAnnouncedBytes = std::int64_t{1} << 20;

/// Says for errors what is about to be moved.
struct Announcement {
  std::string_view label;
  std::int64_t sequence;
  Timeout timeout;
};

/// What can fail before `bytes` (the same on every rank) are moved. If they are
/// many and `prepare` throws on some rank, the others throw kPeerFailed with
/// its text, and the group goes on. To be called in
/// or_give_up().
void make_ready(Communicator& communicator, const Announcement& announcement,
                std::int64_t bytes, c10::function_ref<void()> prepare);

/// Where copies of tensors on that device will be moved, as far as a rank knows
/// that has not heard of the others.
c10::Device likely_device(const Communicator& communicator, c10::Device device);

}  // namespace tally::sync::internal
