#include "tally/sync/transport/deadline.h"

#include <future>
#include <thread>
#include <utility>

namespace tally::sync::internal {

bool run_until(Deadline::Clock::time_point end, std::function<void()> task) {
  std::packaged_task<void()> packaged(std::move(task));
  std::future<void> done = packaged.get_future();
  std::thread thread(std::move(packaged));
  if (done.wait_until(end) != std::future_status::ready) {
    thread.detach();
    return false;
  }
  thread.join();
  done.get();
  return true;
}

}  // namespace tally::sync::internal
