#include "tally/sync/gloo.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "tally/sync/process_group.h"
#include "tally/sync/transport_errors.h"

namespace tally::sync {
namespace {

using c10d::ProcessGroupGloo;
using std::chrono::milliseconds;

constexpr const char* kErrorKey = "tally/error";
constexpr const char* kSizeKey = "tally/size";

std::string claim_key(int rank) {
  return "tally/claimed/" + std::to_string(rank);
}

std::string arrival_key(int rank) {
  return "tally/arrived/" + std::to_string(rank);
}

SyncErrorDetails details_of(int rank, std::vector<int> peers = {}) {
  SyncErrorDetails details;
  details.rank = rank;
  details.peers = std::move(peers);
  details.phase = "init";
  return details;
}

/// Makes the ranks known to each other through the store before any of them
/// connects, so that a rank that is missing or there twice has a name.
class Rendezvous {
 public:
  Rendezvous(c10d::Store& store, std::string store_name, int rank, int size)
      : store_(store),
        rank_(rank),
        size_(size),
        used_before_(", or an earlier group used " + std::move(store_name)) {}

  void meet(milliseconds timeout) {
    const std::string size = std::to_string(size_);
    const std::string agreed = store_.compareSet(kSizeKey, "", size);
    if (agreed != size) {
      refuse("rank " + std::to_string(rank_) + " expects a world size of " +
                 size + ", another rank one of " + agreed + used_before_,
             std::max(size_, std::stoi(agreed)));
    }
    if (store_.add(claim_key(rank_), 1) != 1) {
      check_for_refusal();
      refuse("two processes have rank " + std::to_string(rank_) + used_before_,
             size_);
    }
    // Not the claim itself: HashStore's add() wakes nobody.
    store_.set(arrival_key(rank_), "here");
    std::vector<std::string> keys;
    for (int rank = 0; rank < size_; ++rank) keys.push_back(arrival_key(rank));
    try {
      // FileStore counts whole seconds, and waits for one more than it is told.
      store_.wait(keys, timeout - milliseconds(1));
    } catch (const std::exception& error) {
      report_missing(error, timeout);
    }
    check_for_refusal();
  }

 private:
  /// Lets everyone who waits go on, and find the reason.
  [[noreturn]] void refuse(const std::string& reason, int ranks) {
    store_.set(kErrorKey, reason);
    for (int rank = 0; rank < ranks; ++rank) {
      store_.set(arrival_key(rank), reason);
    }
    throw SyncError(SyncErrorCode::kMismatch, reason, details_of(rank_));
  }

  void check_for_refusal() {
    if (!store_.check({kErrorKey})) return;
    throw SyncError(SyncErrorCode::kMismatch, store_.get_to_str(kErrorKey),
                    details_of(rank_));
  }

  [[noreturn]] void report_missing(const std::exception& error,
                                   milliseconds timeout) {
    const std::string text = describe(error);
    const SyncErrorCode code = classify_transport_message(text);
    if (code != SyncErrorCode::kTimeout) {
      throw SyncError(code, "lost the store while waiting for ranks: " + text,
                      details_of(rank_));
    }
    std::vector<int> missing;
    for (int rank = 0; rank < size_; ++rank) {
      if (!store_.check({arrival_key(rank)})) missing.push_back(rank);
    }
    throw SyncError(code,
                    "not all ranks arrived within " +
                        std::to_string(timeout.count()) + " ms",
                    details_of(rank_, missing));
  }

  c10d::Store& store_;
  int rank_;
  int size_;
  std::string used_before_;
};

std::shared_ptr<::gloo::transport::Device> make_device(
    const GlooOptions& options) {
  if (!options.hostname.empty()) {
    return ProcessGroupGloo::createDeviceForHostname(options.hostname);
  }
  if (!options.interface.empty()) {
    return ProcessGroupGloo::createDeviceForInterface(options.interface);
  }
  return ProcessGroupGloo::createDefaultDevice();
}

c10::intrusive_ptr<c10d::Backend> connect(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    const GlooOptions& options, milliseconds timeout) {
  auto gloo = ProcessGroupGloo::Options::create(timeout);
  gloo->devices.push_back(make_device(options));
  auto backend = c10::make_intrusive<ProcessGroupGloo>(store, rank, size, gloo);
  // A rank that has its own connections may not go, and take the store with it,
  // while others still look up addresses.
  c10d::BarrierOptions barrier;
  barrier.timeout = timeout;
  backend->barrier(barrier)->wait();
  return backend;
}

}  // namespace

std::shared_ptr<Communicator> make_gloo_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const GlooOptions& options) {
  TORCH_CHECK_VALUE(store, "expected a c10d store, got null");
  TORCH_CHECK_VALUE(rank >= 0 && rank < size, "expected a rank below ", size,
                    ", got ", rank);
  TORCH_CHECK_VALUE(options.timeout.count() > 1,
                    "expected a timeout above 1 ms, got ",
                    options.timeout.count(), " ms");
  survive_broken_pipes();
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + options.timeout;
  try {
    Rendezvous(*store, options.store_name, rank, size).meet(options.timeout);
    // All are there; even if the last one came late they get time to connect.
    const auto left = std::max(
        std::chrono::duration_cast<milliseconds>(deadline - Clock::now()),
        milliseconds(1000));
    return make_communicator(connect(store, rank, size, options, left),
                             options.timeout);
  } catch (const SyncError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string text = describe(error);
    throw SyncError(classify_transport_message(text),
                    "could not connect to the other ranks: " + text,
                    details_of(rank));
  }
}

}  // namespace tally::sync
