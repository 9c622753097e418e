#pragma once

#include <cstdint>
#include <optional>

#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/replicates.h"

namespace tally::internal::intervals {

/// What engine.draw() gives for a state of `rows` whose ids have this digest.
std::optional<Replicates> drawn_replicates(const IntervalEngine& engine,
                                           const AnyState& state,
                                           std::int64_t rows,
                                           std::int64_t digest);

}  // namespace tally::internal::intervals
