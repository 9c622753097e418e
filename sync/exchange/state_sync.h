#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tally/state/state.h"
#include "tally/state/state_key.h"
#include "tally/sync/communicator.h"
#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/sync_history.h"
#include "tally/sync/gradient_flow.h"

namespace tally::sync::internal {

/// One state that takes part in a sync.
struct SyncItem {
  std::string label;  ///< for errors: the metrics that share it
  StateKey key;       ///< what the ranks must have in common
  AnyState state;     ///< this rank's; with a graph in forward
  AnyState identity;  ///< a fresh one
  std::int64_t update_count = 0;
};

struct SyncOptions {
  /// What the ranks must have in common, besides the items' keys.
  SyncCall call = SyncCall::kNone;
  GradientFlow flow = GradientFlow::kDetached;
  Timeout timeout = {};
  /// This rank could answer from a cache. If all can, nothing is merged.
  bool cached = false;
  /// The metric's, or null: ranks that bring another metric of the same kind
  /// are then found out where their numbers of syncs differ. PendingSync does
  /// without.
  SyncHistory* history = nullptr;
};

/// What a sync gives: the merge of all ranks' states.
struct SyncResult {
  std::vector<AnyState> states;
  std::vector<std::int64_t> update_counts;  ///< sums over the ranks
  bool all_cached = false;                  ///< then the rest is empty
};

/// Merges the states of all ranks in rank order, so that every rank holds
/// bit-equal results: one collective for all of them together if they take
/// about 16 KB or less (4 KB above 64 ranks), else two. Nothing passed in
/// changes.
///
/// With a gradient flow and a state that carries a graph, the result carries
/// the graph that the flow asks for; its values are those of the plain merge.
///
/// Throws SyncError: kMismatch, the same on every rank, naming label and field,
/// if the ranks bring other keys, dtypes or shapes.
SyncResult sync_states(const std::vector<SyncItem>& items,
                       const std::shared_ptr<Communicator>& communicator,
                       const SyncOptions& options);

/// A sync that goes on while the caller computes: see Exchange::start. Made of
/// copies of the states, which may change meanwhile.
class PendingSync {
 public:
  /// Starts it. Results carry no graph, whatever options.flow says.
  PendingSync(std::vector<SyncItem> items,
              std::shared_ptr<Communicator> communicator, SyncOptions options);
  PendingSync(PendingSync&&) noexcept;
  PendingSync& operator=(PendingSync&&) noexcept;
  /// Takes part to the end, for the other ranks' sake.
  ~PendingSync();

  /// REQUIRES: called once.
  SyncResult wait();

 private:
  struct Started;
  std::unique_ptr<Started> started_;
};

/// Takes part in a sync in the place of sync_states after this rank failed, so
/// that the others throw kPeerFailed with what `error` says at once instead of
/// waiting. Never throws: what the caller is about to rethrow matters more.
void report_failure(const std::string& label, const std::exception_ptr& error,
                    Communicator& communicator, Timeout timeout = {}) noexcept;

/// While it lives, what forward() syncs on this thread is the loss of a
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
