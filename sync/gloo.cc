#include "tally/sync/gloo.h"

#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "tally/port/gloo.h"
#include "tally/sync/base/deadline.h"
#include "tally/sync/base/rendezvous.h"
#include "tally/sync/base/roster.h"
#include "tally/sync/base/transport_errors.h"
#include "tally/sync/process_group.h"
#include "tally/sync/transport/backend_communicator.h"
#include "tally/sync/transport/sockets_opened.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;

// What a rank that has not come together with the others by the deadline gets
// to say why, before it is given up.
constexpr milliseconds kToSayWhy{500};

c10::intrusive_ptr<c10d::Backend> connect(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    const GlooOptions& options, milliseconds timeout) {
  auto backend = port::make_gloo_backend(store, rank, size, timeout,
                                         {options.hostname, options.interface});
  // A rank that has its own connections may not go, and take the store with it,
  // while others still look up addresses.
  c10d::BarrierOptions barrier;
  barrier.timeout = timeout;
  backend->barrier(barrier)->wait();
  return backend;
}

[[noreturn]] void refuse(int rank, const std::exception& error) {
  const std::string text = internal::without_advice(describe(error));
  throw SyncError(internal::classify_transport_message(text),
                  "could not connect to the other ranks: " + text,
                  internal::init_details(rank));
}

std::shared_ptr<Communicator> join(const c10::intrusive_ptr<c10d::Store>& store,
                                   int rank, int size,
                                   const GlooOptions& options,
                                   milliseconds limit,
                                   const internal::Deadline& deadline,
                                   internal::Progress& progress) {
  std::vector<std::string> names =
      internal::Rendezvous(*store, options.store_name, rank, size, limit)
          .meet(deadline, progress);
  progress.set("connecting to the other ranks");
  try {
    const internal::SocketsOpened sockets;
    auto backend = connect(store, rank, size, options, deadline.left());
    sockets.close_on_exec();
    return internal::make_communicator(
        std::move(backend), options.timeout,
        std::make_unique<internal::Roster>(store, rank, std::move(names)),
        [=](std::int64_t number) {
          return make_gloo_communicator(
              c10::make_intrusive<c10d::PrefixStore>(
                  "duplicate " + std::to_string(number), store),
              rank, size, options);
        });
  } catch (const std::exception& error) {
    refuse(rank, error);
  }
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
  internal::survive_broken_pipes();
  const milliseconds limit = options.init_timeout.value_or(options.timeout);
  const internal::Deadline deadline(limit);
  // Shared with a thread that may be left behind.
  struct Joining {
    c10::intrusive_ptr<c10d::Store> store;
    GlooOptions options;
    internal::Progress progress;
    std::shared_ptr<Communicator> communicator;
  };
  const auto joining = std::make_shared<Joining>();
  joining->store = std::move(store);
  joining->options = options;
  bool in_time = false;
  try {
    in_time = internal::run_until(
        deadline.end() + kToSayWhy, [joining, rank, size, limit, deadline] {
          joining->communicator =
              join(joining->store, rank, size, joining->options, limit,
                   deadline, joining->progress);
        });
  } catch (const SyncError&) {
    throw;
  } catch (const std::exception& error) {
    refuse(rank, error);
  }
  if (!in_time) {
    const internal::Progress::Step step = joining->progress.get();
    throw SyncError(
        SyncErrorCode::kTimeout,
        "gave up after " + std::to_string(limit.count()) + " ms, " + step.doing,
        internal::init_details(rank, step.missing));
  }
  return std::move(joining->communicator);
}

}  // namespace tally::sync
