#pragma once

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace tally::losses::internal {

/// While it lives, autocast casts nothing on this thread, on no device: what
/// is computed has the dtype that its code asks for. To be made first in a
/// forward pass, and in a backward pass of one's own, which runs later and
/// under whatever is on by then. Whoever calls backward() under autocast has
/// ATen's own backward passes cast; LibTorch advises against it.
class AutocastOff {
 private:
  c10::impl::ExcludeDispatchKeyGuard guard_{c10::autocast_dispatch_keyset};
};

}  // namespace tally::losses::internal
