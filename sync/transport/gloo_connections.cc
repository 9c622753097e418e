#include "tally/sync/transport/gloo_connections.h"

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

namespace tally::sync::internal {
namespace {

// Only derived classes may name them.
struct Contexts : c10d::ProcessGroupGloo {
  static std::vector<std::shared_ptr<::gloo::Context>>& of(
      c10d::ProcessGroupGloo& group) {
    return group.*(&Contexts::contexts_);
  }
};

}  // namespace

void close_connections(c10d::Backend& backend) {
  auto* const gloo = dynamic_cast<c10d::ProcessGroupGloo*>(&backend);
  if (gloo == nullptr) {
    backend.abort();
    return;
  }
  for (const auto& context : Contexts::of(*gloo)) context->closeConnections();
}

}  // namespace tally::sync::internal
