#pragma once

#include <functional>
#include <string>

namespace tally::sync {

/// Information from a launcher about this process.
struct Environment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;        ///< among the ranks of this machine
  int local_world_size = 1;  ///< 0: unknown
  /// "torchrun", "Open MPI", "MPICH", "Slurm", or empty if nothing was set.
  std::string launcher;
  // The rendezvous of the ranks; unused for a world size of 1.
  std::string store_path;  ///< a file; if empty, master_address is used
  std::string master_address;
  int master_port = 0;
  bool store_is_hosted = false;  ///< by torchrun's agent, not by rank 0
  std::string store_prefix;      ///< differs between restarts of a job
  std::string interface;         ///< GLOO_SOCKET_IFNAME; may be empty

  bool operator==(const Environment& other) const;
};

/// Reads the variables of the first launcher that has set both of its first
/// two:
///
///            | rank, world size            | local rank, local world size
///   torchrun | RANK, WORLD_SIZE            | LOCAL_RANK, LOCAL_WORLD_SIZE
///   Open MPI | OMPI_COMM_WORLD_{RANK,SIZE} | OMPI_COMM_WORLD_LOCAL_{RANK,SIZE}
///   MPICH    | PMI_RANK, PMI_SIZE          | MPI_LOCALRANKID, MPI_LOCALNRANKS
///   Slurm    | SLURM_PROCID, SLURM_NTASKS  | SLURM_LOCALID
///
/// and, for more than one rank, TALLY_STORE (a file visible to all ranks and
/// not used by an earlier group) or MASTER_ADDR and MASTER_PORT. Kubernetes'
/// PyTorchJob sets torchrun's variables. Only one variable of a pair is an
/// error, except for Slurm: a shell inside an allocation has one without being
/// a rank.
///
/// Up to 65536 ranks are supported. Throws c10::ValueError that names the
/// variable and its value. Only reads `getenv`, which returns null for unset
/// variables.
Environment parse_environment(
    const std::function<const char*(const char* name)>& getenv);

}  // namespace tally::sync
