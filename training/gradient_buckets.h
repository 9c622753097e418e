#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::training::internal {

/// Gradients that are summed over the ranks at once.
struct GradientBucket {
  at::Tensor flat;  // on the device of its parameters; of several, on the CPU
  at::Tensor sent;  // `flat`, or its copy on the device of the group
  std::vector<std::size_t> parameters;
  std::vector<at::Tensor> places;  // of each, in `flat`
  // What the other streams of a device wait for; none on the CPU.
  std::vector<c10::Event> filled;  // by parameter
  std::optional<c10::Event> summed;

  /// This thread has written to the place of the parameter `k` of it.
  void record_filled(std::size_t k);
  /// Sums what has been filled.
  void sum(sync::Communicator& communicator);
  /// What this thread queues next on the device finds the sum.
  void wait_until_summed() const;
};

/// From the last parameter, whose gradient comes first as a rule, to the first.
/// The same on every rank, whatever the devices. c10::ValueError for a
/// parameter that the group cannot reach; `name` is the caller's.
std::vector<GradientBucket> make_gradient_buckets(
    const char* name, const std::vector<at::Tensor>& parameters,
    std::int64_t bucket_bytes, const sync::Communicator& communicator);

/// What ranks have to agree on: by which part of a group that has two each
/// bucket is summed.
std::string transport_of(const std::vector<GradientBucket>& buckets,
                         const sync::Communicator& communicator);

}  // namespace tally::training::internal
