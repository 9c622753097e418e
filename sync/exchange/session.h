#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "tally/sync/transport/turn.h"

namespace tally::sync::internal {

/// Something that goes on between a communicator's collectives.
class Background {
 public:
  /// Called before another collective is entered: at the same point of every
  /// rank's program, so that it may enter collectives itself.
  virtual void advance() noexcept = 0;

 protected:
  ~Background() = default;
};

/// What goes on in the background, in the order of its start. It may enter
/// collectives, and may be dropped by another thread.
class BackgroundList {
 public:
  /// Keeps other threads away.
  std::unique_lock<std::recursive_mutex> lock() {
    return std::unique_lock<std::recursive_mutex>(mutex_);
  }
  /// add() then throws nothing.
  void reserve_one() { list_.reserve(list_.size() + 1); }
  void add(Background& background) { list_.push_back(&background); }
  void remove(const Background& background) noexcept;
  void advance();

 private:
  std::recursive_mutex mutex_;
  std::vector<Background*> list_;
  bool advancing_ = false;
};

/// A loop over batches of which some ranks may have more than others
/// (training/join.h). In each step, every rank's headers say whether it has
/// another batch for the next.
struct BatchLoop {
  static constexpr std::uint8_t kNoOther = 1;
  static constexpr std::uint8_t kAnother = 2;

  std::uint8_t says = 0;  ///< in this rank's headers; 0 outside a loop
  bool heard = false;     ///< what the ranks say in this step
  bool another = false;   ///< one of them has another batch
};

/// What a communicator's exchanges leave for the next one: the protocol's part
/// of a communicator.
struct ExchangeSession {
  std::int64_t sequence = 0;  ///< of the next exchange
  Turn turn;
  at::Tensor slot;  ///< buffers that are used again
  at::Tensor slots;
  BackgroundList background;
  BatchLoop batch_loop;
};

}  // namespace tally::sync::internal
