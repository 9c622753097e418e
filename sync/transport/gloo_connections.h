#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace tally::sync::internal {

/// Closes what connects this rank with the others: those that wait for it find
/// it gone. Operations under way here do not end by that.
void close_connections(c10d::Backend& backend);

}  // namespace tally::sync::internal
