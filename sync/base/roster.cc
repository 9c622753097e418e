#include "tally/sync/base/roster.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "tally/sync/base/condition.h"
#include "tally/sync/base/rendezvous.h"

namespace tally::sync::internal {
namespace {

using std::chrono::milliseconds;

// More than these wait only for a store that does not answer.
constexpr std::size_t kMostTasks = 8;
// In the place of the number of a call, before the reason.
const std::string kLeft = "-1 ";

}  // namespace

/// Does what may take long on a thread of its own, one after the other.
class Roster::Clerk {
 public:
  Clerk() : desk_(std::make_shared<Desk>()) {
    thread_ = std::thread([desk = desk_] { desk->work(); });
  }
  ~Clerk() {
    bool busy = false;
    {
      std::lock_guard<std::mutex> lock(desk_->mutex);
      desk_->closed = true;
      busy = desk_->busy;
    }
    desk_->changed.notify_all();
    // A store that does not answer keeps the thread, and nobody waits for it.
    if (busy) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }
  Clerk(const Clerk&) = delete;
  Clerk& operator=(const Clerk&) = delete;

  void ask(std::function<void()> task) {
    {
      std::lock_guard<std::mutex> lock(desk_->mutex);
      if (desk_->tasks.size() == kMostTasks) return;
      desk_->tasks.push(std::move(task));
    }
    desk_->changed.notify_all();
  }

 private:
  struct Desk {
    void work() {
      std::unique_lock<std::mutex> lock(mutex);
      for (;;) {
        wait_until_done(changed, lock,
                        [&] { return closed || !tasks.empty(); });
        if (closed) return;
        const auto task = std::move(tasks.front());
        tasks.pop();
        busy = true;
        lock.unlock();
        try {
          task();
        } catch (const std::exception&) {
          // The store is gone; messages then say less.
        }
        lock.lock();
        busy = false;
      }
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::queue<std::function<void()>> tasks;
    bool closed = false;
    bool busy = false;
  };

  std::shared_ptr<Desk> desk_;
  std::thread thread_;
};

Roster::Roster(c10::intrusive_ptr<c10d::Store> store, int rank,
               std::vector<std::string> names)
    : rank_(rank), names_(std::move(names)), store_(std::move(store)) {}

Roster::~Roster() = default;

std::string Roster::names(const std::vector<int>& ranks) const {
  std::string text;
  const std::size_t named = std::min(ranks.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) {
    text += (i == 0 ? "rank " : ", rank ") + std::to_string(ranks[i]) + " (" +
            names_[static_cast<std::size_t>(ranks[i])] + ")";
  }
  if (ranks.size() == named) return text;
  return text + " and " + std::to_string(ranks.size() - named) + " more";
}

Roster::Clerk& Roster::clerk() {
  if (!clerk_) clerk_ = std::make_unique<Clerk>();
  return *clerk_;
}

void Roster::wait_in(std::int64_t call) {
  clerk().ask([store = store_, key = Rendezvous::call_key(rank_),
               value = std::to_string(call)] { store->set(key, value); });
}

void Roster::leave(const std::string& reason, milliseconds limit) {
  const auto done = std::make_shared<std::promise<void>>();
  auto answer = done->get_future();
  clerk().ask([store = store_, done, key = Rendezvous::call_key(rank_),
               value = kLeft + reason] {
    store->set(key, value);
    done->set_value();
  });
  answer.wait_for(limit);
}

std::vector<std::string> Roster::last_words(milliseconds limit) {
  using Values = std::vector<std::vector<std::uint8_t>>;
  const auto promise = std::make_shared<std::promise<Values>>();
  auto answer = promise->get_future();
  clerk().ask([store = store_, promise, size = names_.size()] {
    std::vector<std::string> keys;
    for (std::size_t r = 0; r < size; ++r) {
      keys.push_back(Rendezvous::call_key(static_cast<int>(r)));
    }
    try {
      promise->set_value(store->multiGet(keys));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  });
  if (answer.wait_for(limit) != std::future_status::ready) return {};
  std::vector<std::string> words;
  try {
    for (const auto& value : answer.get()) {
      words.emplace_back(value.begin(), value.end());
    }
  } catch (const std::exception&) {
    return {};
  }
  return words;
}

std::optional<std::vector<int>> Roster::absent_from(std::int64_t call,
                                                    milliseconds limit) {
  const std::vector<std::string> words = last_words(limit);
  if (words.empty()) return std::nullopt;
  std::vector<int> absent;
  try {
    for (int r = 0; r < static_cast<int>(words.size()); ++r) {
      const std::string& text = words[static_cast<std::size_t>(r)];
      if (r != rank_ && std::stoll(text) < call) absent.push_back(r);
    }
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return absent;
}

std::string Roster::reasons(milliseconds limit) {
  std::string text;
  for (const std::string& words : last_words(limit)) {
    if (words.rfind(kLeft, 0) == 0) text += "; " + words.substr(kLeft.size());
  }
  return text;
}

}  // namespace tally::sync::internal
