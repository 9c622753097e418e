#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "tally/metrics/aggregation/throughput.h"

namespace tally::training {

/// Measures the batches of this rank for a Throughput, which it must not
/// outlive.
///
/// The first `warmup` batches, in which memory is first allocated and kernels
/// are chosen, are not counted: once, not again after a reset() of the metric.
/// Work of a device that has been queued counts when it is waited for: end the
/// scope after something that waits, such as loss.item(). A scope that an
/// exception leaves is not counted.
///
/// Thread-safety: one thread at a time.
///
/// Example:
///     Throughput throughput;
///     training::ThroughputTimer timer(throughput, /*warmup=*/2);
///     for (const Batch& batch : batches) {
///       const auto scope = timer.measure(batch.size());
///       loss_of(batch).backward();
///     }
///     at::Tensor rate = throughput.compute().items_per_second;
class ThroughputTimer {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// From its creation to its end, its batch takes place.
  class Scope {
   public:
    ~Scope() noexcept(false);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class ThroughputTimer;
    Scope(ThroughputTimer& timer, double items);

    ThroughputTimer& timer_;
    double items_;
    int exceptions_;
    Clock::time_point begin_;
  };

  /// Throws c10::ValueError for a warmup below 0.
  explicit ThroughputTimer(Throughput& metric, std::int64_t warmup = 0,
                           Now now = Clock::now);

  /// Throws c10::ValueError for a number of items that is negative or not
  /// finite.
  [[nodiscard]] Scope measure(double items);

 private:
  void end(double items, Clock::time_point begin);

  Throughput& metric_;
  std::int64_t warmup_;
  Now now_;
};

}  // namespace tally::training
