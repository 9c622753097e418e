#include "tally/sync/nccl.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "tally/metrics/aggregation/cat_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/collection.h"
#include "tally/sync/init.h"
#include "tally/tests/sync/init_fixture.h"

namespace tally::sync {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

c10::intrusive_ptr<c10d::Store> store() {
  return c10::make_intrusive<c10d::HashStore>();
}

// Without NCCL or a GPU, an error that says so.
void expect_refusal(const SyncError& error) {
  EXPECT_EQ(error.code(), SyncErrorCode::kInvalidUse);
  EXPECT_THAT(error.message(),
              AnyOf(HasSubstr("no NCCL: this program was built without it; "
                              "build it with tools/bazel build --config=nccl"),
                    HasSubstr("no NCCL: this machine has no GPU")));
}

TEST(NcclTest, OneRankSyncsWhatIsOnTheGpuAndOnTheCpu) {
  std::shared_ptr<Communicator> group;
  try {
    NcclOptions options;
    options.gloo.hostname = "127.0.0.1";
    group = make_nccl_communicator(store(), 0, 1, options);
  } catch (const SyncError& error) {
    expect_refusal(error);
    return;
  }
  EXPECT_TRUE(group->device().is_cpu());
  const c10::Device gpu = group->accelerator().value();
  EXPECT_TRUE(gpu.is_cuda());
  at::Tensor on_gpu = at::ones({3}).to(gpu);
  group->all_reduce(on_gpu, ReduceOp::kSum);
  EXPECT_TRUE(on_gpu.cpu().equal(at::ones({3})));

  const CommunicatorGuard guard(group);
  MetricCollection metrics;
  metrics.add("gpu", SumMetric());
  metrics.add("rows", CatMetric());
  for (const c10::Device device : {c10::Device(at::kCPU), gpu}) {
    metrics.reset();
    metrics.update(at::arange(400000, at::kDouble).to(device));
    metrics.sync();
    const Results results = metrics.compute();
    EXPECT_EQ(results.at("gpu").item<double>(), 399999.0 * 200000);
    EXPECT_EQ(results.at("rows").numel(), 400000);
  }
}

TEST(NcclTest, RefusesNonsenseBeforeAnythingElse) {
  EXPECT_THROW(make_nccl_communicator(nullptr, 0, 1), c10::ValueError);
  EXPECT_THROW(make_nccl_communicator(store(), 0, 0), c10::ValueError);
  EXPECT_THROW(make_nccl_communicator(store(), 2, 2), c10::ValueError);
  EXPECT_THROW(make_nccl_communicator(store(), -1, 2), c10::ValueError);
  NcclOptions options;
  options.gloo.timeout = std::chrono::milliseconds(0);
  EXPECT_THROW(make_nccl_communicator(store(), 0, 1, options), c10::ValueError);
}

class NcclRanksTest : public testkit::InitFixture {};

RANKS_TEST_F(NcclRanksTest, CanBeAskedForInTheEnvironmentOfALauncher, 2) {
  InitOptions options;
  options.timeout = std::chrono::seconds(10);
  options.transport = Transport::kNccl;
  try {
    // Where there are GPUs, but not one for each rank, NCCL has its own error.
    auto group = init_from_env(options);
    at::Tensor tensor = at::ones({1}).to(group->accelerator().value());
    group->all_reduce(tensor, ReduceOp::kSum);
    EXPECT_EQ(tensor.item<double>(), self.size());
  } catch (const SyncError& error) {
    if (error.code() == SyncErrorCode::kInvalidUse) expect_refusal(error);
    EXPECT_NE(error.code(), SyncErrorCode::kTimeout);
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected a CUDA device below"));
  }
}

}  // namespace
}  // namespace tally::sync
