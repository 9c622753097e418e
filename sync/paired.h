#pragma once

#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// Combines two communicators over the same ranks: `accelerator` moves the
/// tensors on its device, `main` all others and the agreements between ranks.
/// An error of one makes both unusable.
///
/// Throws c10::ValueError if one is null, ranks or sizes differ, or both use
/// the same device.
std::shared_ptr<Communicator> pair_communicators(
    std::shared_ptr<Communicator> main,
    std::shared_ptr<Communicator> accelerator);

}  // namespace tally::sync
