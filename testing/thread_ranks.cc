#include "tally/testing/thread_ranks.h"

#include <iostream>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "tally/sync/gloo.h"
#include "tally/testing/internal/memory_group.h"

namespace tally::testkit {
namespace {

bool lost_a_peer(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const sync::SyncError& sync_error) {
    return sync_error.code() == sync::SyncErrorCode::kPeerLost;
  } catch (...) {
    return false;
  }
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return sync::describe(exception);
  } catch (...) {
    return "not a std::exception";
  }
}

}  // namespace

std::vector<std::exception_ptr> collect_thread_ranks(
    int ranks, const RankFunction& function,
    const ThreadRanksOptions& options) {
  std::vector<std::exception_ptr> errors(ranks);
  MemoryGroup group(ranks, options.timeout);
  auto store = c10::make_intrusive<c10d::HashStore>();
  auto connect = [&](int rank) {
    if (options.transport == ThreadTransport::kMemory) {
      return group.communicator(rank);
    }
    sync::GlooOptions gloo;
    gloo.hostname = "127.0.0.1";
    gloo.timeout = options.timeout;
    return sync::make_gloo_communicator(store, rank, ranks, gloo);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        auto communicator = connect(rank);
        sync::CommunicatorGuard guard(communicator);
        function(communicator);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
      group.leave(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void run_thread_ranks(int ranks, const RankFunction& function,
                      const ThreadRanksOptions& options) {
  const auto errors = collect_thread_ranks(ranks, function, options);
  int chosen = -1;
  int count = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!errors[rank]) continue;
    ++count;
    if (chosen < 0 ||
        (lost_a_peer(errors[chosen]) && !lost_a_peer(errors[rank]))) {
      chosen = rank;
    }
  }
  if (chosen < 0) return;
  for (int rank = 0; count > 1 && rank < ranks; ++rank) {
    if (!errors[rank]) continue;
    std::cerr << "rank " << rank << " threw: " << text_of(errors[rank]) << '\n';
  }
  std::rethrow_exception(errors[chosen]);
}

}  // namespace tally::testkit
