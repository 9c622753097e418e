#include "tally/python/csrc/groups.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "tally/python/csrc/option_names.h"
#include "tally/sync/process_group.h"

namespace tally::python {
namespace {

struct Known {
  c10::weak_intrusive_ptr<c10d::ProcessGroup> group;
  std::shared_ptr<sync::Communicator> communicator;
};

struct KnownGroups {
  std::mutex mutex;
  std::vector<Known> known;

  void drop_ended() {
    known.erase(
        std::remove_if(known.begin(), known.end(),
                       [](const Known& each) { return each.group.expired(); }),
        known.end());
  }
};

// Never destroyed: groups must not end after LibTorch has.
KnownGroups& groups() {
  static auto* const all = new KnownGroups();
  return *all;
}

std::chrono::milliseconds own_timeout(c10d::ProcessGroup& group) {
  for (const c10::Device device : group.getDeviceTypes()) {
    try {
      return group.getBackend(device.type())->getBackendOptions()->timeout;
    } catch (const c10::Error&) {
      // A backend need not say.
    }
  }
  return sync::kDefaultTimeout;
}

}  // namespace

std::shared_ptr<sync::Communicator> communicator_of(const Group& group) {
  if (!group) return nullptr;
  const auto& given = *group;
  KnownGroups& all = groups();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.drop_ended();
  for (const Known& each : all.known) {
    if (each.group.lock() == given) return each.communicator;
  }
  auto communicator = given->getSize() == 1
                          ? sync::single_process_communicator()
                          : sync::make_communicator(given, own_timeout(*given));
  all.known.push_back(
      {c10::weak_intrusive_ptr<c10d::ProcessGroup>(given), communicator});
  return communicator;
}

void set_default_group(const Group& group) {
  sync::set_default_communicator(communicator_of(group));
  KnownGroups& all = groups();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.drop_ended();
}

void forget_groups() {
  sync::set_default_communicator(nullptr);
  KnownGroups& all = groups();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.known.clear();
}

sync::GradientFlow gradient_flow_of(const std::string& text) {
  return choice_of<sync::GradientFlow>("gradient_flow", text);
}

sync::Timeout timeout_of(const std::optional<double>& seconds) {
  if (!seconds) return {};
  return std::chrono::duration<double>(*seconds);
}

}  // namespace tally::python
