#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace tally::port {

/// Keys that no operation of this thread is dispatched to, during its lifetime.
using ExcludeDispatchKeys = c10::impl::ExcludeDispatchKeyGuard;

/// Current device and number of devices of a type.
using Devices = c10::impl::VirtualGuardImpl;

}  // namespace tally::port
