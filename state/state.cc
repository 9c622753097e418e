#include "tally/state/state.h"

namespace tally {

PendingMerge::PendingMerge(const StateOps& ops, void* into, void* from,
                           const char* owner)
    : ops_(&ops), into_(into), from_(from) {
  if (ops.compact) ops.compact(into);
  if (ops.merge_from) {
    ops.merge_from(into, from);
    return;
  }
  ops.fields(into, into_fields_);
  ops.fields(from, from_fields_);
  prepare_merge(into_fields_, from_fields_, owner);
}

void PendingMerge::commit() {
  if (ops_->merge_from) {
    ops_->swap(into_, from_);
  } else {
    commit_merge(into_fields_, from_fields_);
  }
}

void merge(AnyState& into, AnyState from, const char* owner) {
  PendingMerge(into.ops(), into.data(), from.data(), owner).commit();
}

}  // namespace tally
