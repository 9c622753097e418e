#include "tally/state/packing.h"

#include <c10/util/Exception.h>

namespace tally::internal {
namespace {

thread_local bool packs = false;

class Packing {
 public:
  Packing() { packs = true; }
  ~Packing() { packs = false; }
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;
};

}  // namespace

bool is_packing() { return packs; }

void pack(AnyState& state) {
  if (!state.defined() || !compacts(state)) return;
  if (state.ops().parts) {
    for (AnyState& part : state.ops().parts(state.data())) pack(part);
    return;
  }
  const Packing packing;
  try {
    state.ops().compact(state.data());
  } catch (const c10::ValueError&) {
    // It is as it was.
  }
}

}  // namespace tally::internal
