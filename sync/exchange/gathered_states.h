#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/sync/exchange/tensors.h"

/// How the states of all ranks travel and become one, and the graph with them;
/// the parts that sync_states is made of.
namespace tally::sync::internal {

using States = std::vector<AnyState>;

/// The bytes from which on a sum is reduced instead of gathered.
std::int64_t reduced_bytes(int ranks);
/// This rank's payload for ranks that may have an accelerator. Sums of
/// `reduced_bytes` or more are left out, and rows of about as many, for
/// GatheredStates::move_large; none is if that is empty.
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
  /// Throws SyncError kMismatch, as do the merges, the same on every rank.
  GatheredStates(const std::vector<SyncItem>& items, const Contributions& all,
                 const Communicator& communicator);

  /// Of the exchange that brought them.
  std::int64_t sequence() const { return sequence_; }
  size_t ranks() const { return ranks_.size(); }
  const States& rank(size_t r) const { return ranks_[r]; }
  /// Sums over the ranks.
  std::vector<std::int64_t> update_counts() const;

  /// The merge of the ranks from `first` to before `last`.
  States fold(size_t first, size_t last) const;
  /// The merge of all ranks, in the memory of their states where that will do:
  /// nothing but complete() may follow.
  States fold_away();
  void merge_rank(States& into, States from, size_t rank) const;
  /// What was left out of the payloads is moved by one collective each: sums
  /// reduced, rows gathered from where they are. First what that takes.
  void prepare_large();
  void move_large(Communicator& communicator, Timeout timeout);
  /// Then it is brought into its place in `states`.
  void complete(States& states);

 private:
  // What some ranks have left out: a sum, of which the others have nothing, or
  // rows, of which they may have few.
  struct Large {
    size_t item;
    size_t field;
    std::vector<std::int64_t> sizes;  // of rows: of each of them
    at::ScalarType dtype;
    c10::Device device;                  // where it is moved
    std::vector<std::int64_t> rows;      // by rank; of those that left them out
    std::optional<PaddedGather> gather;  // of rows
    at::Tensor whole;                    // the sum, or all rows of the gather

    std::int64_t most_rows() const;
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
  std::vector<States> ranks_;
  std::vector<std::int64_t> counts_;
  std::vector<Large> large_;
};

/// The merge of all ranks with the graph of this rank's part, between the plain
/// merges of the ranks before and behind: no graph grows with the number of
/// ranks. Its gradient arrives `factor` times as large; that gradient's own is
/// refused after `name`, as it would lack the other ranks' parts.
States fold_own_graph(const GatheredStates& gathered, States own, size_t rank,
                      double factor, const std::string& name);
/// The merge of all ranks, each part with a graph that leads back to its rank.
States fold_all_graphs(const GatheredStates& gathered, States own, size_t rank,
                       const std::shared_ptr<Communicator>& communicator);
/// Puts the values of the plain merge into one with a graph: however the graph
/// was folded, every rank then holds the same bits.
void take_values(States& graph, const States& plain);

}  // namespace tally::sync::internal
