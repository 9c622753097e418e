#include "tally/sync/environment.h"

#include <c10/util/Exception.h>

#include <tuple>

#include "tally/state/parse_number.h"

namespace tally::sync {
namespace {

using Getenv = std::function<const char*(const char* name)>;

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  bool pair_is_required;
};

// Every rank is connected to every other.
constexpr int kMostRanks = 65536;

constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", true},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", true},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
     false},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr, false},
};

int parse_int(const char* name, const char* text, int least, int most) {
  const auto value = tally::internal::parse_number<int>(text);
  TORCH_CHECK_VALUE(value && *value >= least && *value <= most, name,
                    ": expected an integer from ", least, " to ", most,
                    ", got \"", text, "\"");
  return *value;
}

void read_ranks(const Launcher& launcher, const Getenv& getenv,
                Environment& result) {
  result.launcher = launcher.name;
  result.world_size =
      parse_int(launcher.size, getenv(launcher.size), 1, kMostRanks);
  const char* rank = getenv(launcher.rank);
  result.rank = parse_int(launcher.rank, rank, 0, kMostRanks - 1);
  TORCH_CHECK_VALUE(result.rank < result.world_size, launcher.rank,
                    ": expected a rank below ", launcher.size, " (",
                    result.world_size, "), got \"", rank, "\"");
  result.local_world_size = 0;
  if (const char* size =
          launcher.local_size ? getenv(launcher.local_size) : nullptr) {
    result.local_world_size =
        parse_int(launcher.local_size, size, 1, result.world_size);
  }
  if (const char* local = getenv(launcher.local_rank)) {
    const int ranks = result.local_world_size > 0 ? result.local_world_size
                                                  : result.world_size;
    result.local_rank = parse_int(launcher.local_rank, local, 0, ranks - 1);
  }
}

void read_meeting_place(const Getenv& getenv, Environment& result) {
  const auto value = [&](const char* name) {
    const char* text = getenv(name);
    return std::string(text ? text : "");
  };
  result.interface = value("GLOO_SOCKET_IFNAME");
  result.store_path = value("TALLY_STORE");
  if (!result.store_path.empty()) return;
  const std::string what = " for " + std::to_string(result.world_size) +
                           " ranks, started by " + result.launcher;
  result.master_address = value("MASTER_ADDR");
  TORCH_CHECK_VALUE(!result.master_address.empty(), "MASTER_ADDR is not set",
                    what, ": set it to the host of rank 0");
  const char* port = getenv("MASTER_PORT");
  TORCH_CHECK_VALUE(port, "MASTER_PORT is not set", what,
                    ": set it to a free port of MASTER_ADDR");
  result.master_port = parse_int("MASTER_PORT", port, 1, 65535);
  result.store_is_hosted = value("TORCHELASTIC_USE_AGENT_STORE") == "True";
  // A job's earlier attempts left their keys in the same store.
  result.store_prefix = "tally/" + value("TORCHELASTIC_RUN_ID") + "/" +
                        value("TORCHELASTIC_RESTART_COUNT");
}

auto as_tuple(const Environment& e) {
  return std::tie(e.rank, e.world_size, e.local_rank, e.local_world_size,
                  e.launcher, e.store_path, e.master_address, e.master_port,
                  e.store_is_hosted, e.store_prefix, e.interface);
}

}  // namespace

bool Environment::operator==(const Environment& other) const {
  return as_tuple(*this) == as_tuple(other);
}

Environment parse_environment(const Getenv& getenv) {
  Environment result;
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = getenv(launcher.rank);
    const char* size = getenv(launcher.size);
    if (launcher.pair_is_required) {
      TORCH_CHECK_VALUE(!rank || size, launcher.rank, " is \"", rank, "\" but ",
                        launcher.size, " is not set");
      TORCH_CHECK_VALUE(rank || !size, launcher.size, " is \"", size, "\" but ",
                        launcher.rank, " is not set");
    }
    if (!rank || !size) continue;
    read_ranks(launcher, getenv, result);
    if (result.world_size > 1) read_meeting_place(getenv, result);
    return result;
  }
  return result;
}

}  // namespace tally::sync
