#pragma once

namespace tally {

/// How far a metric or collection is.
///
///   kEmpty --update, forward, load, merge_state--> kUpdated
///   kEmpty or kUpdated --sync--> kSynced --unsync--> kEmpty or kUpdated
///   any --reset--> kEmpty
///
/// update, forward, sync and merge_state in kSynced are errors, as is unsync in
/// any other state; compute() in kSynced uses the synced state.
enum class MetricStatus { kEmpty, kUpdated, kSynced };
/// Its name before 0.1.0, until 0.2.0.
using MetricState = MetricStatus;

}  // namespace tally
