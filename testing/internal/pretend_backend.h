#pragma once

namespace tally::testkit::internal {

/// Registers the device: memory, guard, hooks and operators. False if LibTorch
/// has CUDA's. Must precede all that asks LibTorch for devices.
bool register_pretend_device();

}  // namespace tally::testkit::internal
