#pragma once

#include <cstdint>
#include <optional>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/replicates.h"

namespace tally::internal::intervals {

/// What engine.draw() gives for a state of these rows.
std::optional<Replicates> drawn_replicates(const IntervalEngine& engine,
                                           const AnyState& state,
                                           const RowCount& count);

}  // namespace tally::internal::intervals
