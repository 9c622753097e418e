#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace tally::sync::internal {

/// Closes this rank's connections: ranks that wait for it notice the loss. Does
/// not end pending operations of this rank.
void close_connections(c10d::Backend& backend);

}  // namespace tally::sync::internal
