#include "tally/sync/base/transport_errors.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <future>
#include <initializer_list>
#include <thread>
#include <utility>

#include "tally/sync/base/deadline.h"

namespace tally::sync::internal {

SyncErrorCode classify_transport_message(const std::string& message) {
  std::string text = message;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  auto says_any = [&](std::initializer_list<const char*> phrases) {
    return std::any_of(phrases.begin(), phrases.end(), [&](const char* p) {
      return text.find(p) != std::string::npos;
    });
  };
  if (says_any({"connection closed", "connection reset", "connection refused",
                "connection abort", "connection was likely closed",
                "broken pipe", "remote process exited"})) {
    return SyncErrorCode::kPeerLost;
  }
  if (says_any({"timed out", "timeout"})) return SyncErrorCode::kTimeout;
  return SyncErrorCode::kTransport;
}

std::string without_advice(std::string message) {
  // Sentences before it may be needed: "... 0 bytes. Connection was likely
  // ...".
  const std::size_t advice = message.find(" This is typically caused by ");
  if (advice == std::string::npos) return message;
  message.resize(advice);
  if (!message.empty() && message.back() == '.') message.pop_back();
  return message;
}

void survive_broken_pipes() {
  struct sigaction action {};
  sigaction(SIGPIPE, nullptr, &action);
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) {
    return;
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

SyncErrorDetails init_details(int rank, std::vector<int> peers) {
  SyncErrorDetails details;
  details.rank = rank;
  details.peers = std::move(peers);
  details.phase = "init";
  return details;
}

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
