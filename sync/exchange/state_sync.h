#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tally/state/state.h"
#include "tally/state/state_key.h"
#include "tally/sync/exchange/contribution.h"
#include "tally/sync/exchange/sync_history.h"
#include "tally/sync/gradient_flow.h"
#include "tally/sync/timeout.h"

namespace tally::sync::internal {

/// One state that takes part in a sync.
struct SyncItem {
  std::string label;  ///< for errors: the metrics that share it
  StateKey key;       ///< must be the same on all ranks
  AnyState state;     ///< this rank's; with a graph in forward
  AnyState identity;  ///< a fresh one
  std::int64_t update_count = 0;
  std::optional<c10::Device> device = {};  ///< of this rank's inputs
};

struct SyncOptions {
  /// Must be the same on all ranks, like the items' keys.
  MetricCall call = MetricCall::kNone;
  GradientFlow flow = GradientFlow::kDetached;
  Timeout timeout = {};
  /// Whether this rank has a cached value. If all have one, nothing is merged.
  bool cached = false;
  /// The metric's history, or null: detects ranks that sync another metric of
  /// the same kind, if their numbers of syncs differ. Not used by PendingSync.
  SyncHistory* history = nullptr;
  /// What is synced, for messages. Empty: the items' labels.
  std::string label = {};
};

/// The result of a sync: the merged states of all ranks.
struct SyncResult {
  std::vector<AnyState> states;
  std::vector<std::int64_t> update_counts;  ///< sums over the ranks
  /// Where values go: to this rank's inputs or, if it had none, to its current
  /// GPU, if others had theirs on one.
  std::vector<std::optional<c10::Device>> devices;
  bool all_cached = false;  ///< then the rest is empty
};

/// Merges the states of all ranks in rank order, so that results are
/// bit-identical on every rank: in one collective if they take about 16 KB or
/// less in total (4 KB above 64 ranks), otherwise in two. Arguments are not
/// modified.
///
/// With a gradient flow and a state with a graph, the result carries the graph
/// required by the flow; its values are those of the merged plain states.
///
/// Throws SyncError: kMismatch, the same on every rank, naming label and field,
/// if keys, dtypes or shapes differ between ranks.
SyncResult sync_states(const std::vector<SyncItem>& items,
                       const std::shared_ptr<Communicator>& communicator,
                       const SyncOptions& options);

/// An asynchronous sync: see Exchange::start. Uses copies of the states, which
/// may change meanwhile.
class PendingSync {
 public:
  /// Starts it. Results carry no graph, regardless of options.flow.
  PendingSync(std::vector<SyncItem> items,
              std::shared_ptr<Communicator> communicator, SyncOptions options);
  PendingSync(PendingSync&&) noexcept;
  PendingSync& operator=(PendingSync&&) noexcept;
  /// Completes its part, as other ranks rely on it.
  ~PendingSync();

  /// REQUIRES: called once.
  SyncResult wait();

 private:
  struct Started;
  std::unique_ptr<Started> started_;
};

/// Takes part in a sync in place of sync_states after this rank failed, so that
/// the others immediately throw kPeerFailed with the text of `error` instead of
/// waiting. Never throws, so as not to hide the caller's error.
void report_failure(const std::string& label, const std::exception_ptr& error,
                    Communicator& communicator, Timeout timeout = {}) noexcept;

/// During its lifetime, syncs of forward() on this thread belong to a
/// MetricLoss.
class AsMetricLoss {
 public:
  AsMetricLoss();
  ~AsMetricLoss();
  AsMetricLoss(const AsMetricLoss&) = delete;
  AsMetricLoss& operator=(const AsMetricLoss&) = delete;

 private:
  bool before_;
};

}  // namespace tally::sync::internal
