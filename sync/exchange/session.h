#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "tally/sync/base/turn.h"
#include "tally/sync/communicator.h"

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

/// What travels in this rank's headers for somebody else: a step of
/// training::join. All ranks have one, or none.
class Rider {
 public:
  /// In the header of each exchange; not 0.
  virtual std::uint8_t says() const noexcept = 0;
  /// Of each rank, in turn, once the headers of an exchange agree.
  virtual void hear(int rank, std::uint8_t says) noexcept = 0;

 protected:
  ~Rider() = default;
};

/// The state that a communicator's exchanges keep for the next one.
struct ExchangeSession : CommunicatorHook {
  void before_call() override { background.advance(); }

  std::int64_t sequence = 0;  ///< of the next exchange
  Turn turn;
  at::Tensor slot;  ///< reused buffers
  at::Tensor slots;
  BackgroundList background;
  Rider* rider = nullptr;
};

ExchangeSession& session_of(Communicator& communicator);

}  // namespace tally::sync::internal
