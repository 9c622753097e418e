#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace tally::port {

/// Where other ranks find this one: by the host name, if there is one, else by
/// the interface, else by what this machine's host name resolves to.
struct GlooAddress {
  std::string hostname;
  std::string interface;
};

/// A new c10d::ProcessGroupGloo over the ranks that share the store.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
    std::chrono::milliseconds timeout, const GlooAddress& address);

/// Closes this rank's connections, if the backend is Gloo's; else returns
/// false.
bool close_gloo_connections(c10d::Backend& backend);

}  // namespace tally::port
