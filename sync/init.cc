#include "tally/sync/init.h"

#include <cstdlib>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "tally/sync/base/deadline.h"
#include "tally/sync/base/transport_errors.h"
#include "tally/sync/environment.h"
#include "tally/sync/gloo.h"
#include "tally/sync/launch/file_store.h"
#include "tally/sync/launch/spawn.h"
#include "tally/sync/nccl.h"
#include "tally/sync/transport/sockets_opened.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;

c10::intrusive_ptr<c10d::Store> open_store(const Environment& environment,
                                           milliseconds timeout) {
  if (!environment.store_path.empty()) {
    return c10::make_intrusive<internal::FileStore>(environment.store_path,
                                                    timeout);
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment.master_port);
  options.isServer = environment.rank == 0 && !environment.store_is_hosted;
  options.waitWorkers = false;
  // It counts whole seconds, and takes 0 for no limit.
  options.timeout = std::chrono::ceil<std::chrono::seconds>(timeout);
  return c10::make_intrusive<c10d::PrefixStore>(
      environment.store_prefix,
      c10::make_intrusive<c10d::TCPStore>(environment.master_address, options));
}

// Where the store is, and what says so.
std::string place_of_store(const Environment& environment) {
  if (!environment.store_path.empty()) {
    return environment.store_path + " (TALLY_STORE)";
  }
  return environment.master_address + ":" +
         std::to_string(environment.master_port) +
         " (MASTER_ADDR and MASTER_PORT)";
}

c10::intrusive_ptr<c10d::Store> store_of(const Environment& environment,
                                         milliseconds timeout,
                                         const internal::Deadline& deadline) {
  const auto refuse = [&](SyncErrorCode code, const std::string& why) {
    throw SyncError(code,
                    "no store at " + place_of_store(environment) + ": " + why,
                    internal::init_details(environment.rank));
  };
  // Held by a thread that may be left behind.
  const auto store = std::make_shared<c10::intrusive_ptr<c10d::Store>>();
  bool in_time = false;
  try {
    in_time = internal::run_until(
        deadline.end(), [store, environment, limit = deadline.left()] {
          const internal::SocketsOpened sockets;
          auto opened = open_store(environment, limit);
          opened->setTimeout(limit);
          sockets.close_on_exec();
          *store = std::move(opened);
        });
  } catch (const std::exception& error) {
    const std::string text = describe(error);
    refuse(internal::classify_transport_message(text), text);
  }
  if (!in_time) {
    refuse(
        SyncErrorCode::kTimeout,
        "nothing answered within " + std::to_string(timeout.count()) + " ms");
  }
  return *store;
}

std::shared_ptr<Communicator> join_group(
    const Environment& environment, const InitOptions& options,
    const internal::Deadline& deadline,
    const c10::intrusive_ptr<c10d::Store>& store) {
  GlooOptions gloo;
  gloo.timeout = options.timeout;
  gloo.init_timeout = deadline.left();
  gloo.interface = environment.interface;
  gloo.store_name = "the store at " + place_of_store(environment);
  // Host names of laptops and containers often resolve to nothing useful.
  if (gloo.interface.empty() &&
      environment.local_world_size == environment.world_size) {
    gloo.hostname = "127.0.0.1";
  }
  if (options.transport == Transport::kNccl) {
    NcclOptions nccl;
    nccl.device = environment.local_rank;
    nccl.gloo = std::move(gloo);
    return make_nccl_communicator(store, environment.rank,
                                  environment.world_size, nccl);
  }
  auto communicator = make_gloo_communicator(store, environment.rank,
                                             environment.world_size, gloo);
  // All ranks have opened it; NCCL's would do so later.
  if (environment.rank == 0) {
    if (auto file =
            c10::dynamic_intrusive_pointer_cast<internal::FileStore>(store)) {
      file->remove_name();
    }
  }
  return communicator;
}

struct Joined {
  std::mutex mutex;
  std::optional<Environment> environment;
  std::shared_ptr<Communicator> communicator;
  std::string failure;  // why there is none, once the other ranks know of it
};

[[noreturn]] void refuse_again(const Environment& environment,
                               SyncErrorCode code, const std::string& why) {
  throw SyncError(code, why, internal::init_details(environment.rank));
}

void join_once(Joined& joined, const Environment& environment,
               const InitOptions& options) {
  if (joined.communicator) {
    if (environment == *joined.environment) return;
    refuse_again(environment, SyncErrorCode::kInvalidUse,
                 "init_from_env was called before, in another environment");
  }
  if (!joined.failure.empty() && environment == *joined.environment) {
    refuse_again(environment, SyncErrorCode::kGroupBroken,
                 "init_from_env failed earlier in this process; the ranks must "
                 "be restarted: " +
                     joined.failure);
  }
  if (environment.world_size == 1) {
    joined.communicator = single_process_communicator();
    joined.environment = environment;
    return;
  }
  const internal::Deadline deadline(options.timeout);
  const auto store = store_of(environment, options.timeout, deadline);
  joined.environment = environment;
  try {
    joined.communicator = join_group(environment, options, deadline, store);
  } catch (const SyncError& error) {
    joined.failure = error.message();
    throw;
  }
}

}  // namespace

std::shared_ptr<Communicator> init_from_env(const InitOptions& options) {
  TORCH_CHECK_VALUE(options.timeout.count() > 0,
                    "expected a positive timeout, got ",
                    options.timeout.count(), " ms");
  internal::end_with_launcher();
  const Environment environment = parse_environment(
      [](const char* name) -> const char* { return std::getenv(name); });

  // Never destroyed, like the default communicator.
  static auto& joined = *new Joined;
  std::lock_guard<std::mutex> lock(joined.mutex);
  join_once(joined, environment, options);
  set_default_communicator(joined.communicator);
  return joined.communicator;
}

}  // namespace tally::sync
