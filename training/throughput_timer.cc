#include "tally/training/throughput_timer.h"

#include <c10/util/Exception.h>

#include <cmath>
#include <exception>
#include <utility>

#include "tally/sync/communicator.h"

namespace tally::training {

ThroughputTimer::Scope::Scope(ThroughputTimer& timer, double items)
    : timer_(timer),
      items_(items),
      exceptions_(std::uncaught_exceptions()),
      begin_(timer.now_()) {}

ThroughputTimer::Scope::~Scope() noexcept(false) {
  if (std::uncaught_exceptions() == exceptions_) timer_.end(items_, begin_);
}

ThroughputTimer::ThroughputTimer(Throughput& metric, std::int64_t warmup,
                                 Now now)
    : metric_(metric), warmup_(warmup), now_(std::move(now)) {
  TORCH_CHECK_VALUE(warmup >= 0,
                    "ThroughputTimer: expected warmup to be at least 0, got ",
                    warmup);
}

ThroughputTimer::Scope ThroughputTimer::measure(double items) {
  TORCH_CHECK_VALUE(items >= 0 && std::isfinite(items),
                    "ThroughputTimer: expected items to be finite and at least "
                    "0, got ",
                    items);
  return Scope(*this, items);
}

void ThroughputTimer::end(double items, Clock::time_point begin) {
  const std::chrono::duration<double> time = now_() - begin;
  if (warmup_ > 0) {
    --warmup_;
    return;
  }
  const auto& own = metric_.metric_options().communicator();
  const int rank =
      (own != nullptr ? own : sync::default_communicator())->rank();
  metric_.update(items, time.count(), rank);
}

}  // namespace tally::training
