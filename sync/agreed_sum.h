#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "tally/sync/exchange.h"

namespace tally::sync {

/// Sums a flat, contiguous float or integer tensor over the ranks, in place.
/// The ranks first agree, in a slot of constant size, that they are in the same
/// call with the same number of elements; small tensors travel in that slot and
/// are summed in rank order (one collective), larger ones by all_reduce (two).
/// The result is bit-equal on every rank. Throws SyncError. Collective.
void agreed_sum(Communicator& communicator, ExchangeKind kind,
                std::string_view label, at::Tensor& flat, Timeout timeout = {});

}  // namespace tally::sync
