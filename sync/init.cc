#include "tally/sync/init.h"

#include <cstdlib>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "tally/sync/environment.h"
#include "tally/sync/gloo.h"
#include "tally/sync/nccl.h"
#include "tally/sync/transport_errors.h"

namespace tally::sync {
namespace {

using std::chrono::milliseconds;

c10::intrusive_ptr<c10d::Store> open_store(const Environment& environment,
                                           milliseconds timeout) {
  if (!environment.store_path.empty()) {
    return c10::make_intrusive<c10d::FileStore>(environment.store_path,
                                                environment.world_size);
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment.master_port);
  options.isServer = environment.rank == 0 && !environment.store_is_hosted;
  options.waitWorkers = false;
  options.timeout = timeout;
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
                                         milliseconds timeout) {
  try {
    auto store = open_store(environment, timeout);
    store->setTimeout(timeout);
    return store;
  } catch (const std::exception& error) {
    const std::string text = describe(error);
    SyncErrorDetails details;
    details.rank = environment.rank;
    details.phase = "init";
    throw SyncError(classify_transport_message(text),
                    "no store at " + place_of_store(environment) + ": " + text,
                    details);
  }
}

std::shared_ptr<Communicator> join(const Environment& environment,
                                   const InitOptions& options) {
  if (environment.world_size == 1) return single_process_communicator();
  GlooOptions gloo;
  gloo.timeout = options.timeout;
  gloo.interface = environment.interface;
  gloo.store_name = "the store at " + place_of_store(environment);
  // Host names of laptops and containers often resolve to nothing useful.
  if (gloo.interface.empty() &&
      environment.local_world_size == environment.world_size) {
    gloo.hostname = "127.0.0.1";
  }
  const auto store = store_of(environment, options.timeout);
  if (options.transport == Transport::kGloo) {
    return make_gloo_communicator(store, environment.rank,
                                  environment.world_size, gloo);
  }
  NcclOptions nccl;
  nccl.device = environment.local_rank;
  nccl.gloo = std::move(gloo);
  return make_nccl_communicator(store, environment.rank, environment.world_size,
                                nccl);
}

struct Joined {
  std::mutex mutex;
  std::optional<Environment> environment;
  std::shared_ptr<Communicator> communicator;
};

}  // namespace

std::shared_ptr<Communicator> init_from_env(const InitOptions& options) {
  TORCH_CHECK_VALUE(options.timeout.count() > 0,
                    "expected a positive timeout, got ",
                    options.timeout.count(), " ms");
  const Environment environment = parse_environment(
      [](const char* name) -> const char* { return std::getenv(name); });

  // Never destroyed, like the default communicator.
  static auto& joined = *new Joined;
  std::lock_guard<std::mutex> lock(joined.mutex);
  if (!joined.communicator) {
    joined.communicator = join(environment, options);
    joined.environment = environment;
  } else if (!(environment == *joined.environment)) {
    SyncErrorDetails details;
    details.rank = joined.communicator->rank();
    details.phase = "init";
    throw SyncError(SyncErrorCode::kInvalidUse,
                    "init_from_env was called before, in another environment",
                    details);
  }
  set_default_communicator(joined.communicator);
  return joined.communicator;
}

}  // namespace tally::sync
