#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "tally/sync/base/turn.h"

namespace tally::sync::internal {

/// An operation that proceeds between a communicator's collectives.
class Background {
 public:
  /// Called before another collective is entered: at the same point of every
  /// rank's program, so that it may enter collectives itself.
  virtual void advance() noexcept = 0;

 protected:
  ~Background() = default;
};

/// Operations in the background, in the order of their start. They may enter
/// collectives, and may be dropped by another thread.
class BackgroundList {
 public:
  /// Excludes other threads.
  std::unique_lock<std::recursive_mutex> lock() {
    return std::unique_lock<std::recursive_mutex>(mutex_);
  }
  /// After this, add() does not throw.
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
/// (training/join.h). In each step, every rank's headers state whether it has
/// another batch for the next one.
struct BatchLoop {
  static constexpr std::uint8_t kNoOther = 1;
  static constexpr std::uint8_t kAnother = 2;

  std::uint8_t says = 0;  ///< in this rank's headers; 0 outside a loop
  bool heard = false;    ///< whether the ranks' answers for this step are known
  bool another = false;  ///< whether any of them has another batch
};

/// The state that a communicator's exchanges keep for the next one.
struct ExchangeSession {
  std::int64_t sequence = 0;  ///< of the next exchange
  Turn turn;
  at::Tensor slot;  ///< reused buffers
  at::Tensor slots;
  BackgroundList background;
  BatchLoop batch_loop;
};

}  // namespace tally::sync::internal
