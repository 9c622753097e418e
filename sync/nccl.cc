#include "tally/sync/nccl.h"

#include <cstdlib>
#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "tally/port/guards.h"
#include "tally/port/process_group_nccl.h"
#include "tally/sync/agree.h"
#include "tally/sync/base/transport_errors.h"
#include "tally/sync/paired.h"
#include "tally/sync/process_group.h"
#include "tally/sync/transport/nccl_checks.h"

namespace tally::sync {
namespace {

// Makes the device of this rank the current one.
void choose_device(int rank, int wanted) {
  const port::Devices cuda(at::kCUDA);
  const int devices = cuda.deviceCount();
  if (devices == 0) internal::refuse_nccl(rank, "this machine has no GPU");
  const int device = wanted < 0 ? rank % devices : wanted;
  TORCH_CHECK_VALUE(device < devices, "expected a CUDA device below ", devices,
                    ", got ", device);
  cuda.setDevice(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
}

c10::intrusive_ptr<c10d::Backend> make_nccl(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    std::chrono::milliseconds timeout) {
  setenv("TORCH_NCCL_BLOCKING_WAIT", "1", /*overwrite=*/0);
  const auto nccl = c10d::ProcessGroupNCCL::Options::create();
  nccl->timeout = timeout;
  try {
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(store), rank,
                                                       size, nccl);
  } catch (const std::exception& error) {
    const std::string text = describe(error);
    throw SyncError(internal::classify_transport_message(text), text,
                    internal::init_details(rank));
  }
}

}  // namespace

std::shared_ptr<Communicator> make_nccl_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const NcclOptions& options) {
  internal::check_nccl(store != nullptr, rank, size, options);
  auto gloo = make_gloo_communicator(store, rank, size, options.gloo);
  c10::intrusive_ptr<c10d::Backend> nccl;
  // So that no rank waits in NCCL for one that cannot use it.
  agree(Call("make_nccl_communicator", gloo), [&] {
    choose_device(rank, options.device);
    nccl = make_nccl(c10::make_intrusive<c10d::PrefixStore>("nccl", store),
                     rank, size, options.gloo.timeout);
    return Offer();
  });
  auto accelerator = make_communicator(std::move(nccl), options.gloo.timeout);
  return pair_communicators(std::move(gloo), std::move(accelerator));
}

}  // namespace tally::sync
