#include "tally/testing/gradients.h"

#include <gtest/gtest.h>

namespace tally::testkit {
namespace {

using losses::CheckDistributedGradientsOptions;
using losses::ShardSizes;

struct Shards {
  const char* name;
  CheckDistributedGradientsOptions options;
};

std::vector<Shards> shards_of(const CheckDistributedGradientsOptions& options,
                              int ranks, bool idle_ranks) {
  if (!options.rows().empty()) return {{"the given rows", options}};
  const auto with = [&](ShardSizes sizes) {
    return CheckDistributedGradientsOptions(options).shards(sizes);
  };
  std::vector<Shards> shards = {{"an even split", with(ShardSizes::kEven)}};
  if (ranks == 1) return shards;
  shards.push_back({"an uneven split", with(ShardSizes::kUneven)});
  if (idle_ranks) {
    shards.push_back({"an idle last rank", with(ShardSizes::kIdle)});
  }
  // The loss in one process is the same in all of them.
  for (std::size_t i = 1; i < shards.size(); ++i) {
    shards[i].options.check_reference(false);
  }
  return shards;
}

}  // namespace

void ExpectGradientsOfOneProcess(
    const std::function<at::Tensor(const std::vector<at::Tensor>& batch)>& loss,
    const std::vector<at::Tensor>& batch,
    const std::vector<std::pair<std::string, at::Tensor>>& parameters,
    const CheckDistributedGradientsOptions& options, bool idle_ranks,
    const char* file, int line) {
  const auto communicator = options.communicator()
                                ? options.communicator()
                                : sync::default_communicator();
  for (const Shards& shards :
       shards_of(options, communicator->size(), idle_ranks)) {
    const auto report = losses::check_distributed_gradients(
        loss, batch, parameters, shards.options);
    if (report.exact()) continue;
    if (communicator->rank() == 0) {
      ADD_FAILURE_AT(file, line)
          << "over " << communicator->size() << " ranks, with " << shards.name
          << ", the gradients are not those of one process\n"
          << report;
    } else {
      ADD_FAILURE_AT(file, line) << "with " << shards.name
                                 << ", the gradients are not those of one "
                                    "process; rank 0 has the report";
    }
    return;
  }
}

}  // namespace tally::testkit
