#include "tally/port/gloo.h"

// As LibTorch was built: the header is empty else. It includes Gloo's, which
// LibTorch leaves out; port/gloo declares what it needs of them.
#define USE_C10D_GLOO
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

namespace tally::port {
namespace {

using c10d::ProcessGroupGloo;

std::shared_ptr<::gloo::transport::Device> device_at(
    const GlooAddress& address) {
  if (!address.hostname.empty()) {
    return ProcessGroupGloo::createDeviceForHostname(address.hostname);
  }
  if (!address.interface.empty()) {
    return ProcessGroupGloo::createDeviceForInterface(address.interface);
  }
  return ProcessGroupGloo::createDefaultDevice();
}

// Only derived classes may name them.
struct Contexts : ProcessGroupGloo {
  static std::vector<std::shared_ptr<::gloo::Context>>& of(
      ProcessGroupGloo& group) {
    return group.*(&Contexts::contexts_);
  }
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    std::chrono::milliseconds timeout, const GlooAddress& address) {
  auto options = ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(device_at(address));
  return c10::make_intrusive<ProcessGroupGloo>(store, rank, size, options);
}

bool close_gloo_connections(c10d::Backend& backend) {
  auto* const gloo = dynamic_cast<ProcessGroupGloo*>(&backend);
  if (gloo == nullptr) return false;
  for (const auto& context : Contexts::of(*gloo)) context->closeConnections();
  return true;
}

}  // namespace tally::port
