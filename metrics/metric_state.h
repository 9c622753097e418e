#pragma once

namespace tally {

/// The lifecycle state of a metric or collection.
///
///   kEmpty --update, forward, load, merge_state--> kUpdated
///   kEmpty or kUpdated --sync--> kSynced --unsync--> kEmpty or kUpdated
///   any --reset--> kEmpty
///
/// update, forward, sync and merge_state in kSynced are errors, as is unsync in
/// any other state; compute() in kSynced uses the synced state.
enum class MetricState { kEmpty, kUpdated, kSynced };

}  // namespace tally
