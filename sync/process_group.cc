#include "tally/sync/process_group.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "tally/sync/paired.h"
#include "tally/sync/transport/backend_communicator.h"

namespace tally::sync {

using std::chrono::milliseconds;

std::shared_ptr<Communicator> make_communicator(
    c10::intrusive_ptr<c10d::Backend> backend, milliseconds timeout) {
  return internal::make_communicator(std::move(backend), timeout, nullptr,
                                     nullptr);
}

std::shared_ptr<Communicator> make_communicator(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group, milliseconds timeout) {
  TORCH_CHECK_VALUE(group, "expected a c10d process group, got null");
  internal::check_membership(group->getRank(), group->getSize());
  const auto devices = group->getDeviceTypes();
  const auto has = [&](c10::DeviceType type) {
    return std::count(devices.begin(), devices.end(), c10::Device(type)) > 0;
  };
  const auto cpu = has(at::kCPU) ? group->getBackend(at::kCPU) : nullptr;
  const auto cuda = has(at::kCUDA) ? group->getBackend(at::kCUDA) : nullptr;
  TORCH_CHECK_VALUE(cpu || cuda,
                    "expected a process group with a backend for the CPU or "
                    "CUDA, got none");
  if (!cpu) return make_communicator(cuda, timeout);
  auto main = make_communicator(cpu, timeout);
  if (!cuda) return main;
  auto other = make_communicator(cuda, timeout);
  if (other->device() == main->device()) return main;
  return pair_communicators(std::move(main), std::move(other));
}

}  // namespace tally::sync
