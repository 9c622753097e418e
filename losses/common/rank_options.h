#pragma once

#include <memory>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options of losses that communicate.
template <class Self>
struct RankOptions {
  /// The ranks; null: sync::default_communicator().
  TALLY_INHERITED_ARG(Self, std::shared_ptr<sync::Communicator>,
                      communicator) = nullptr;
  /// How long a step may wait for other ranks. Default: the communicator's.
  TALLY_INHERITED_ARG(Self, sync::Timeout, timeout) = {};
};

}  // namespace tally::losses
