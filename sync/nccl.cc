#include "tally/sync/nccl.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "tally/sync/nccl_checks.h"
#include "tally/sync/process_group.h"
#include "tally/sync/transport_errors.h"

namespace tally::sync {

std::shared_ptr<Communicator> make_nccl_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const NcclOptions& options) {
  internal::check_nccl(store != nullptr, rank, size, options);
  const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
  const int devices = cuda.deviceCount();
  if (devices == 0) internal::refuse_nccl(rank, "this machine has no GPU");
  const int device = options.device < 0 ? rank % devices : options.device;
  TORCH_CHECK_VALUE(device < devices, "expected a CUDA device below ", devices,
                    ", got ", device);
  cuda.setDevice(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));

  setenv("TORCH_NCCL_BLOCKING_WAIT", "1", /*overwrite=*/0);
  const auto nccl = c10d::ProcessGroupNCCL::Options::create();
  nccl->timeout = options.timeout;
  c10::intrusive_ptr<c10d::Backend> backend;
  try {
    backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(store),
                                                          rank, size, nccl);
  } catch (const std::exception& error) {
    const std::string text = describe(error);
    SyncErrorDetails details;
    details.rank = rank;
    details.phase = "init";
    throw SyncError(classify_transport_message(text), text, std::move(details));
  }
  return make_communicator(std::move(backend), options.timeout);
}

}  // namespace tally::sync
