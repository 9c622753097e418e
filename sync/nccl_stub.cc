#include <torch/csrc/distributed/c10d/Store.hpp>

#include "tally/sync/nccl.h"
#include "tally/sync/transport/nccl_checks.h"

namespace tally::sync {

std::shared_ptr<Communicator> make_nccl_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const NcclOptions& options) {
  internal::check_nccl(store != nullptr, rank, size, options);
  internal::refuse_nccl(rank,
                        "this program was built without it; build it with "
                        "tools/bazel build --config=nccl");
}

}  // namespace tally::sync
