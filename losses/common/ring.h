#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// The numbers of rows on the ranks.
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

/// Passes tensors from rank to rank, asynchronously and one after the other:
/// after `steps()` steps, every rank has seen every rank's tensor.
class Ring {
 public:
  explicit Ring(const sync::Call& call);

  int steps() const { return call_.size(); }
  /// The rank whose tensor is present at a step, if each started with its own.
  int owner(int step) const;
  /// Starts sending to the next rank and receiving from the previous one, which
  /// passes a tensor of the same size, after the preceding transfer has
  /// completed.
  void pass(const at::Tensor& send, at::Tensor receive);
  /// Waits for the transfer.
  void wait() { transfer_.wait(); }

 private:
  const sync::Call& call_;
  at::Tensor sent_, received_;
  sync::Transfer transfer_;
};

/// The rows that are present at a step of the ring.
struct Block {
  int step;
  int owner;
  std::int64_t rows;
};

/// `tensor`, padded with zeros to at least `rows` rows. Itself if it has
/// enough.
at::Tensor padded(const at::Tensor& tensor, std::int64_t rows);

/// A tensor that travels around the ring: each rank reads it while the next one
/// is being transferred.
class CirculatingTensor {
 public:
  CirculatingTensor(Ring& ring, at::Tensor own)
      : ring_(ring), here_(std::move(own)) {}

  /// The tensor at this step; call it once per step, in order, and arrive()
  /// after using it.
  const at::Tensor& here() const { return here_; }
  void depart(int step);
  void arrive();

 private:
  Ring& ring_;
  at::Tensor here_, next_, spare_;
  bool departed_ = false;
};

}  // namespace tally::losses::internal
