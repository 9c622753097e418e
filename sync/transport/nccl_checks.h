#pragma once

#include <c10/util/Exception.h>

#include <string>

#include "tally/sync/base/transport_errors.h"
#include "tally/sync/nccl.h"

/// Common parts of nccl.cc and its replacement nccl_stub.cc.
namespace tally::sync::internal {

inline void check_nccl(bool has_store, int rank, int size,
                       const NcclOptions& options) {
  TORCH_CHECK_VALUE(has_store, "expected a c10d store, got null");
  TORCH_CHECK_VALUE(size > 0, "expected a positive world size, got ", size);
  TORCH_CHECK_VALUE(rank >= 0 && rank < size, "expected a rank below ", size,
                    ", got ", rank);
  TORCH_CHECK_VALUE(options.gloo.timeout.count() > 1,
                    "expected a timeout above 1 ms, got ",
                    options.gloo.timeout.count(), " ms");
}

[[noreturn]] inline void refuse_nccl(int rank, const std::string& why) {
  throw SyncError(SyncErrorCode::kInvalidUse, "no NCCL: " + why,
                  init_details(rank));
}

}  // namespace tally::sync::internal
