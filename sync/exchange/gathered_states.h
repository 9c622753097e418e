#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/sync/exchange/tensors.h"

/// Transfer and merging of the states of all ranks, including graphs; the parts
/// of sync_states.
namespace tally::sync::internal {

using States = std::vector<AnyState>;

/// The size in bytes from which a sum is reduced instead of gathered.
std::int64_t reduced_bytes(int ranks);
/// This rank's payload for ranks that may have an accelerator. Sums of
/// `reduced_bytes` or more, and rows of about this size, are left out for
/// GatheredStates::move_large; nothing is if it is empty.
struct EncodedStates {
  std::string payload;
  bool leaves_out = false;
};
EncodedStates encode_states(const std::vector<SyncItem>& items,
                            std::optional<std::int64_t> reduced_bytes,
                            std::optional<c10::Device> accelerator);

/// The states of every rank. Refers to the items and the communicator.
class GatheredStates {
 public:
  /// Throws SyncError kMismatch, like the merges, the same on every rank.
  GatheredStates(const std::vector<SyncItem>& items, const Contributions& all,
                 const Communicator& communicator);

  /// The sequence number of their exchange.
  std::int64_t sequence() const { return sequence_; }
  size_t ranks() const { return ranks_.size(); }
  const States& rank(size_t r) const { return ranks_[r]; }
  /// Sums over the ranks.
  std::vector<std::int64_t> update_counts() const;
  /// See SyncResult::devices.
  const std::vector<std::optional<c10::Device>>& devices() const {
    return devices_;
  }

  /// The merged states of the ranks [first, last).
  States fold(size_t first, size_t last) const;
  /// The merged states of all ranks, reusing the memory of their states if
  /// possible: only complete() may follow.
  States fold_away();
  void merge_rank(States& into, States from, size_t rank) const;
  /// Prepares moving the data left out of the payloads, each by itself: sums
  /// are reduced, rows gathered without copying them first.
  void prepare_large();
  void move_large(Communicator& communicator, Timeout timeout);
  /// Moves that data to its place in `states`.
  void complete(States& states);

 private:
  // Data that some ranks have left out: a sum, of which the others have
  // nothing, or rows, of which they may have few.
  struct Large {
    size_t item;
    size_t field;
    std::vector<std::int64_t> sizes;  // of rows: of each of them
    at::ScalarType dtype;
    c10::Device device;                // where it is moved
    std::vector<std::int64_t> rows;    // by rank; of those that left them out
    std::optional<ByteGather> gather;  // of rows
    at::Tensor whole;                  // the sum, or the rows of the gather
  };

  void decode(std::string_view payload, const at::Tensor& storage);
  void note_large(size_t rank, size_t item, size_t field, bool on_accelerator,
                  const at::Tensor& shape);
  void check_large() const;
  void require_like(const Large& large, size_t rank, c10::IntArrayRef sizes,
                    at::ScalarType dtype) const;
  void prepare(Large& large) const;
  at::Tensor all_rows(Large& large) const;
  [[noreturn]] void fail(size_t item, size_t rank,
                         const std::string& why) const;

  const std::vector<SyncItem>& items_;
  const Communicator& communicator_;
  std::int64_t sequence_;
  std::vector<c10::Device> places_;  // of the items' states, once merged
  std::vector<std::optional<c10::Device>> devices_;
  std::vector<States> ranks_;
  std::vector<std::int64_t> counts_;
  std::vector<Large> large_;
};

/// The merged states of all ranks with the graph of this rank's part, between
/// the merged plain states of the ranks before and after it: the graph does not
/// grow with the number of ranks. Its gradient is multiplied by `factor`;
/// second-order gradients are rejected with an error starting with `name`, as
/// they would lack the other ranks' parts.
States fold_own_graph(const GatheredStates& gathered, States own, size_t rank,
                      double factor, const std::string& name);
/// The merged states of all ranks, each part with a graph that leads back to
/// its rank.
States fold_all_graphs(const GatheredStates& gathered, States own, size_t rank,
                       const std::shared_ptr<Communicator>& communicator);
/// Puts the values of the plain merged states into those with a graph, so that
/// every rank holds the same bits.
void take_values(States& graph, const States& plain);

}  // namespace tally::sync::internal
