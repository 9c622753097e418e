#include "tally/sync/base/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <thread>
#include <utility>

#include "tally/sync/base/transport_errors.h"
#include "tally/sync/errors.h"

namespace tally::sync::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kSizeKey = "tally/size";
constexpr const char* kArrivedKey = "tally/arrived";
// How it ended: a line with one of these words, and what goes with it.
constexpr const char* kOutcomeKey = "tally/outcome";
constexpr const char* kMet = "met";
constexpr const char* kTimeout = "timeout";
constexpr const char* kMismatch = "mismatch";
constexpr const char* kHeardKey = "tally/heard";

constexpr std::size_t kBlock = 64;  // keys that are asked for at once
constexpr milliseconds kFirstLook{100};
constexpr milliseconds kBetweenLooks{1000};
// What a rank that leaves gives the others to hear why.
constexpr milliseconds kFarewell{200};

std::string claim_key(int rank) {
  return "tally/claimed/" + std::to_string(rank);
}
std::string arrival_key(int rank) {
  return "tally/rank/" + std::to_string(rank);
}

std::string own_name() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return "pid " + std::to_string(getpid()) + " on " + host;
}

}  // namespace

void Progress::set(std::string doing, std::vector<int> missing) {
  std::lock_guard<std::mutex> lock(mutex_);
  step_ = {std::move(doing), std::move(missing)};
}

Progress::Step Progress::get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return step_;
}

std::string listed(const std::vector<int>& ranks, std::int64_t all) {
  const auto count = std::max(all, static_cast<std::int64_t>(ranks.size()));
  const std::size_t named = std::min(ranks.size(), kMostNamed);
  std::string text = count == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < named; ++i) {
    text += " " + std::to_string(ranks[i]);
  }
  const auto more = count - static_cast<std::int64_t>(named);
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

Rendezvous::Rendezvous(c10d::Store& store, std::string store_name, int rank,
                       int size, milliseconds timeout)
    : store_(store),
      store_name_(std::move(store_name)),
      rank_(rank),
      size_(size),
      timeout_(timeout) {}

std::string Rendezvous::call_key(int rank) {
  return "tally/call/" + std::to_string(rank);
}

std::vector<std::string> Rendezvous::meet(const Deadline& deadline,
                                          Progress& progress) {
  progress.set("asking " + store_name_);
  std::string how;
  try {
    arrive();
    how = outcome(deadline, progress);
    if (how.rfind(kMet, 0) != 0) report(how);
  } catch (const SyncError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string text = describe(error);
    const std::string waiting =
        missing_.empty() ? "" : " while waiting for " + listed(missing_);
    throw SyncError(classify_transport_message(text),
                    "lost " + store_name_ + waiting + ": " + text,
                    init_details(rank_, missing_));
  }
  std::istringstream lines(how);
  std::vector<std::string> names(static_cast<std::size_t>(size_));
  std::string line;
  std::getline(lines, line);
  for (std::string& name : names) std::getline(lines, name);
  return names;
}

void Rendezvous::arrive() {
  const std::string size = std::to_string(size_);
  const std::string agreed = store_.compareSet(kSizeKey, "", size);
  if (agreed != size) {
    refuse("rank " + std::to_string(rank_) + " expects a world size of " +
           size + ", another rank one of " + agreed + used_before());
  }
  if (store_.add(claim_key(rank_), 1) != 1) {
    refuse("two processes have rank " + std::to_string(rank_) + used_before());
  }
  store_.set(call_key(rank_), "0");
  store_.set(arrival_key(rank_), own_name());
  arrived_ = true;
  if (store_.add(kArrivedKey, 1) == size_) decide_met();
}

std::string Rendezvous::outcome(const Deadline& deadline, Progress& progress) {
  const milliseconds longest_pause{std::max(20, size_ / 20)};
  milliseconds pause{1};
  auto next_look = steady_clock::now() + kFirstLook;
  while (!store_.check({kOutcomeKey})) {
    if (deadline.passed()) return time_out();
    if (steady_clock::now() >= next_look) {
      look_for_missing(kMostNamed);
      progress.set("waiting for " + listed(missing_), missing_);
      next_look = steady_clock::now() + kBetweenLooks;
    }
    std::this_thread::sleep_for(std::min(pause, deadline.left()));
    pause = std::min(2 * pause, longest_pause);
  }
  return store_.get_to_str(kOutcomeKey);
}

// Most ranks are there, as a rule: so it asks for many at once.
void Rendezvous::look_for_missing(std::size_t most) {
  missing_.clear();
  for (int begin = 0; begin < size_ && missing_.size() < most;
       begin += static_cast<int>(kBlock)) {
    const int end = std::min(size_, begin + static_cast<int>(kBlock));
    std::vector<std::string> keys;
    for (int rank = begin; rank < end; ++rank) {
      keys.push_back(arrival_key(rank));
    }
    if (store_.check(keys)) continue;
    for (int rank = begin; rank < end; ++rank) {
      if (!store_.check({arrival_key(rank)})) missing_.push_back(rank);
    }
  }
}

std::string Rendezvous::decide(const std::string& outcome) {
  return store_.compareSet(kOutcomeKey, "", outcome);
}

void Rendezvous::decide_met() {
  std::string names = kMet;
  for (int begin = 0; begin < size_; begin += static_cast<int>(kBlock)) {
    const int end = std::min(size_, begin + static_cast<int>(kBlock));
    std::vector<std::string> keys;
    for (int rank = begin; rank < end; ++rank) {
      keys.push_back(arrival_key(rank));
    }
    for (const auto& name : store_.multiGet(keys)) {
      names += '\n';
      names.append(name.begin(), name.end());
    }
  }
  decide(names);
}

std::string Rendezvous::time_out() {
  look_for_missing(kBlock);
  const std::int64_t count = size_ - store_.add(kArrivedKey, 0);
  std::string text = std::string(kTimeout) + "\n";
  for (const int rank : missing_) text += std::to_string(rank) + " ";
  text += "\nnot all ranks arrived within " + std::to_string(timeout_.count()) +
          " ms: missing " + (count == 1 ? "is " : "are ") +
          listed(missing_, count);
  return decide(text);
}

void Rendezvous::refuse(const std::string& reason) {
  decide(std::string(kMismatch) + "\n\n" + reason);
  report(std::string(kMismatch) + "\n\n" + reason);
}

void Rendezvous::report(const std::string& outcome) {
  std::istringstream lines(outcome);
  std::string word;
  std::string ranks;
  std::string reason;
  std::getline(lines, word);
  std::getline(lines, ranks);
  std::getline(lines, reason);
  std::istringstream numbers(ranks);
  std::vector<int> peers;
  for (int rank = 0; numbers >> rank;) peers.push_back(rank);
  // The store may go with this process.
  if (arrived_) store_.add(kHeardKey, 1);
  const Deadline farewell(kFarewell);
  while (store_.add(kHeardKey, 0) < store_.add(kArrivedKey, 0) &&
         !farewell.passed()) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  throw SyncError(
      word == kTimeout ? SyncErrorCode::kTimeout : SyncErrorCode::kMismatch,
      reason, init_details(rank_, std::move(peers)));
}

std::string Rendezvous::used_before() {
  std::string text = ", or an earlier group used " + store_name_;
  if (!store_.check({kOutcomeKey})) return text;
  const std::string outcome = store_.get_to_str(kOutcomeKey);
  if (outcome.rfind(kTimeout, 0) != 0) return text;
  return text + ", which ended so: " + outcome.substr(outcome.rfind('\n') + 1);
}

}  // namespace tally::sync::internal
