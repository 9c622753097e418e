#pragma once

#include "tally/state/state.h"

namespace tally::internal {

/// Compacts a copy of a state that is about to be sent or written, as far as it
/// goes: what a state keeps for a later compact() is not worth its bytes then.
/// One that cannot be compacted stays as it is, for its reader to refuse.
void pack(AnyState& state);

/// Whether compact() is called by pack(), on this thread.
bool is_packing();

}  // namespace tally::internal
