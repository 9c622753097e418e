#include "tally/testing/internal/pretend_counts.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <mutex>

namespace tally::testkit::internal {
namespace {

struct Shared {
  std::mutex mutex;
  DeviceCounts counts;
  std::map<std::string, std::int64_t> calls;
  std::atomic<bool> is_capturing{false};
  std::atomic<bool> is_lost{false};
};

// Tensors may outlive static variables.
Shared& shared() {
  static Shared* const all = new Shared;
  return *all;
}

}  // namespace

DeviceCounts pretend_counts() {
  const std::lock_guard<std::mutex> lock(shared().mutex);
  return shared().counts;
}

std::map<std::string, std::int64_t> pretend_calls() {
  const std::lock_guard<std::mutex> lock(shared().mutex);
  return shared().calls;
}

void count_launch(const std::string& name) {
  const std::lock_guard<std::mutex> lock(shared().mutex);
  ++shared().counts.launches;
  ++shared().calls[name];
}

void count_unordered_sum() {
  const std::lock_guard<std::mutex> lock(shared().mutex);
  ++shared().counts.unordered_sums;
}

void count_allocation() {
  const std::lock_guard<std::mutex> lock(shared().mutex);
  ++shared().counts.allocations;
}

void count_wait(std::int64_t DeviceCounts::*counter, const std::string& why,
                std::int64_t DeviceCounts::*bytes_counter, std::int64_t bytes) {
  TORCH_CHECK(!shared().is_capturing,
              "CUDA error: operation not permitted when stream is capturing (",
              why, ")");
  const std::lock_guard<std::mutex> lock(shared().mutex);
  ++(shared().counts.*counter);
  if (bytes_counter) shared().counts.*bytes_counter += bytes;
  ++shared().calls["wait: " + why];
}

bool begin_capture() { return !shared().is_capturing.exchange(true); }
void end_capture() { shared().is_capturing = false; }

void lose_device() { shared().is_lost = true; }
bool is_lost() { return shared().is_lost; }
void restore() { shared().is_lost = false; }

void check_not_lost() {
  TORCH_CHECK(!is_lost(),
              "CUDA error: device-side assert triggered (an earlier kernel "
              "lost the pretend device: testkit::restore_device())");
}

}  // namespace tally::testkit::internal
