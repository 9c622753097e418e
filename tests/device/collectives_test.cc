#include "tally/sync/collectives.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "tally/sync/average_over_ranks.h"
#include "tally/testing/pretend_device.h"

namespace tally::sync {
namespace {

using testkit::pretend_device;
using Collective = std::function<at::Tensor(const at::Tensor&)>;

// Larger than what travels in the first round.
at::Tensor rows() {
  return at::arange(8192, at::kDouble)
      .view({64, 128})
      .to(pretend_device())
      .requires_grad_();
}

const std::pair<const char*, Collective> kCollectives[] = {
    {"all_gather", [](const at::Tensor& x) { return all_gather(x); }},
    {"gather_all_tensors",
     [](const at::Tensor& x) { return gather_all_tensors(x)[0]; }},
    {"all_reduce",
     [](const at::Tensor& x) { return all_reduce(x, Reduction::kSum); }},
    {"reduce_scatter",
     [](const at::Tensor& x) { return reduce_scatter(x, Reduction::kMean); }},
    {"broadcast", [](const at::Tensor& x) { return broadcast(x, 0); }},
    {"all_to_all", [](const at::Tensor& x) { return all_to_all(x); }},
    {"ring_exchange", [](const at::Tensor& x) { return ring_exchange(x); }},
    {"average_over_ranks",
     [](const at::Tensor& x) { return average_over_ranks(x, 64); }},
};

TEST(CollectivesOfOneRankTest, CopyNothingToTheHost) {
  for (const auto& [name, collective] : kCollectives) {
    SCOPED_TRACE(name);
    const at::Tensor x = rows();
    const testkit::DeviceRecord record;
    const at::Tensor result = collective(x);
    result.sum().backward();
    EXPECT_EQ(record.counts().bytes_to_host, 0);
    EXPECT_EQ(record.counts().bytes_to_device, 0);
    EXPECT_EQ(result.device(), pretend_device());
    EXPECT_TRUE(result.detach().cpu().equal(x.detach().cpu()));
    EXPECT_TRUE(x.grad().eq(1).all().item<bool>());
  }
}

TEST(CollectivesOfOneRankTest, ReturnMemoryOfTheirOwn) {
  for (const auto& [name, collective] : kCollectives) {
    SCOPED_TRACE(name);
    const at::Tensor x = rows().detach();
    const at::Tensor result = collective(x);
    // The tensor of this rank goes back in, as with several ranks.
    const bool reinserts = std::string(name) == "gather_all_tensors";
    EXPECT_EQ(result.is_alias_of(x), reinserts);
  }
}

TEST(CollectivesOfOneRankTest, ExtremesAreThere) {
  for (const Reduction reduction : {Reduction::kMin, Reduction::kMax}) {
    const at::Tensor x = rows();
    const at::Tensor result = all_reduce(x, reduction);
    result.sum().backward();
    EXPECT_TRUE(result.detach().cpu().equal(x.detach().cpu()));
    EXPECT_TRUE(x.grad().eq(1).all().item<bool>());
  }
}

}  // namespace
}  // namespace tally::sync
