#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::sync::internal {

/// A gather of the bytes of every rank, of which ranks may have different
/// numbers, that all of them know.
///
/// If the numbers are equal, one all_gather. Otherwise a rank would receive the
/// longest once for each rank, so the ranks even out first: an all_to_all gives
/// each an equal part of what all have, and the all_gather of these parts is
/// everything, in the order of the ranks. Where gaps are allowed, a little
/// padding is cheaper than that.
class ByteGather {
 public:
  /// Between the bytes of one rank and those of the next.
  enum class Gaps { kNone, kAllowed };

  /// `own`: this rank's, contiguous, of any dtype; undefined if it has none.
  /// `bytes`: the number of each rank's. Moved on `device`. Allocates all
  /// memory.
  ByteGather(const at::Tensor& own, std::vector<std::int64_t> bytes, Gaps gaps,
             c10::Device device, int rank);

  /// Runs what precedes the gather, and starts it. Collective.
  Transfer start(Communicator& communicator, Timeout timeout);
  /// The bytes of all ranks, once the transfer has arrived.
  at::Tensor take();
  /// The same as a tensor, which on the CPU is no view and has no other owner.
  at::Tensor take_as(at::ScalarType dtype, at::IntArrayRef sizes);
  /// Where those of a rank begin.
  std::int64_t begin(int rank) const;

 private:
  void even_out(int rank);

  std::vector<std::int64_t> bytes_;
  std::int64_t block_;  // from one rank's to the next; 0: without gaps
  at::Tensor own_;
  at::Tensor part_;  // of all bytes; undefined if they need not be evened out
  std::vector<std::int64_t> sent_;
  std::vector<std::int64_t> received_;
  at::Tensor all_;
};

}  // namespace tally::sync::internal
