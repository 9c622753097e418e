#pragma once

#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// One communicator of two over the same ranks: tensors on the device of
/// `accelerator` are moved by that one, all others by `main`, as are the
/// exchanges in which the ranks agree. An error of one ends both.
///
/// c10::ValueError if one is null, ranks or sizes differ, or both are for the
/// same device.
std::shared_ptr<Communicator> pair_communicators(
    std::shared_ptr<Communicator> main,
    std::shared_ptr<Communicator> accelerator);

}  // namespace tally::sync
