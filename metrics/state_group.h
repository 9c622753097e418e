#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/warnings.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally::internal {

/// One state of an Accumulation with its metadata: that of a metric, or of the
/// metrics of a collection that share it.
struct StateGroup {
  std::string label;  // for error messages and for the other ranks
  StateKey key;       // equal for states of the same kind
  AnyState identity;
  AnyState local;   // accumulated by this rank
  AnyState synced;  // of all ranks, between sync() and unsync()
  bool on_cpu = false;
  bool outlasts_reset = false;  // whether a part of the state does
  bool has_notes = false;
  std::int64_t update_count = 0;
  std::int64_t synced_update_count = 0;
  /// Batches before the next one that are not among its own updates: those of
  /// ranks whose state a checkpoint has merged with this one's, or those that
  /// went to another rank (then negative).
  std::int64_t index_offset = 0;

  /// Sentences on options without effect.
  std::vector<std::string> remarks;
  std::shared_ptr<GivenWarnings> given = std::make_shared<GivenWarnings>();

  std::int64_t next_index() const { return update_count + index_offset; }
};

}  // namespace tally::internal
