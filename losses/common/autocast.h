#pragma once

#include <c10/core/DispatchKeySet.h>

#include "tally/port/guards.h"

namespace tally::losses::internal {

/// Disables autocast on this thread, for all devices, during its lifetime:
/// results have the dtypes that the code requests. Create it first in a forward
/// pass, and in a custom backward pass, which runs later and possibly under
/// autocast. If backward() is called under autocast, ATen's own backward passes
/// are cast; LibTorch advises against it.
class AutocastOff {
 private:
  port::ExcludeDispatchKeys guard_{c10::autocast_dispatch_keyset};
};

}  // namespace tally::losses::internal
