#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// How many rows the ranks have.
class RankRows {
 public:
  explicit RankRows(std::vector<std::int64_t> rows);

  std::int64_t of(int rank) const { return rows_[rank]; }
  std::int64_t before(int rank) const { return before_[rank]; }
  std::int64_t total() const { return total_; }
  std::int64_t most() const { return most_; }
  int ranks() const { return static_cast<int>(rows_.size()); }

 private:
  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> before_;
  std::int64_t total_ = 0;
  std::int64_t most_ = 0;
};

/// Passes tensors from rank to rank, in the background and one after the other:
/// in `steps()` steps, every rank has seen every rank's.
class Ring {
 public:
  explicit Ring(const sync::Call& call);

  int steps() const { return call_.size(); }
  /// Whose tensor is here at a step, if each began with its own.
  int owner(int step) const;
  /// Starts sending to the next rank and receiving from the one before, which
  /// passes a tensor of the same size, once what went before has arrived.
  void pass(const at::Tensor& send, at::Tensor receive);
  /// Waits for what was passed.
  void wait() { transfer_.wait(); }

 private:
  const sync::Call& call_;
  at::Tensor sent_, received_;
  sync::Transfer transfer_;
};

/// The rows that are here at a step of the ring.
struct Block {
  int step;
  int owner;
  std::int64_t rows;
};

/// `tensor` with at least `rows` rows, what is added being 0. Itself if it has
/// as many.
at::Tensor padded(const at::Tensor& tensor, std::int64_t rows);

/// A tensor that goes round the ring: each rank reads it, while the next one is
/// on its way.
class CirculatingTensor {
 public:
  CirculatingTensor(Ring& ring, at::Tensor own)
      : ring_(ring), here_(std::move(own)) {}

  /// The one that is here at this step; call it once for each, in order, and
  /// arrive() when done with it.
  const at::Tensor& here() const { return here_; }
  void depart(int step);
  void arrive();

 private:
  Ring& ring_;
  at::Tensor here_, next_, spare_;
  bool departed_ = false;
};

}  // namespace tally::losses::internal
