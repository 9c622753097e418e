// One rank runs out of memory within a loss, at every allocation in turn.

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tally/losses/losses.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/tests/losses/loss_calls.h"
#include "tally/tests/testing/allocation_fault_check.h"

namespace tally::losses {
namespace {

using testkit::ThreadTransport;
using Group = std::shared_ptr<sync::Communicator>;
using Loss = TwoViewLoss;

constexpr auto kGathered = PairwiseLogits::kGathered;

at::Tensor rows(int rank, std::uint64_t seed) {
  return rows_of(rank, seed).set_requires_grad(true);
}

Loss vector_quantize() {
  return [loss = VectorQuantize(VectorQuantizeOptions(4, 3).kmeans_init(true))](
             const at::Tensor& a, const at::Tensor&) mutable {
    return loss->forward(a.unsqueeze(0)).loss;
  };
}

struct Case {
  const char* name;
  std::function<Loss()> make;
  /// In tiles: its backward pass is one of its own, with rings.
  bool with_backward = false;
};

const std::vector<Case>& cases() {
  static const auto& list = *new std::vector<Case>{
      {"ClipTiled", [] { return clip(ClipLossOptions()); }, true},
      {"ClipGathered",
       [] { return clip(ClipLossOptions().pairwise_logits(kGathered)); }},
      {"SigLipTiled", [] { return sig_lip(SigLipExchange::kTiledRing); }, true},
      {"SigLipShifted", [] { return sig_lip(SigLipExchange::kShift); }},
      {"NTXentTiled", [] { return of_two(NTXentLoss()); }, true},
      {"NTXentWithBank",
       [] {
         return of_two(NTXentLoss(NTXentLossOptions().memory_bank_size(8)));
       }},
      {"DCL", [] { return of_two(DCLLoss()); }},
      {"BarlowTwins", [] { return of_two(BarlowTwinsLoss()); }},
      {"VICReg", [] { return of_two(VICRegLoss()); }},
      {"VectorQuantize", vector_quantize},
      {"Metric", [] { return of_two(MetricLoss(MeanSquaredError())); }},
  };
  return list;
}

class LossAllocationFaultsTest : public ::testing::TestWithParam<std::size_t> {
};

TEST_P(LossAllocationFaultsTest, EndForwardOnAllRanks) {
  const Case& subject = cases()[GetParam()];
  testkit::check_allocation_faults(
      ThreadTransport::kMemory, [&](const Group& group, const auto& arm) {
        const Loss loss = subject.make();
        const at::Tensor a = rows(group->rank(), 1), b = rows(group->rank(), 2);
        arm();
        return loss(a, b).isfinite().item<bool>();
      });
}

TEST_P(LossAllocationFaultsTest, EndTheirOwnBackwardPassOnAllRanks) {
  const Case& subject = cases()[GetParam()];
  if (!subject.with_backward) return;
  testkit::check_allocation_faults(
      ThreadTransport::kMemory, [&](const Group& group, const auto& arm) {
        const Loss loss = subject.make();
        const at::Tensor a = rows(group->rank(), 1), b = rows(group->rank(), 2);
        const at::Tensor value = loss(a, b);
        value.register_hook([&](const at::Tensor&) { arm(); });
        value.backward();
        return a.grad().isfinite().all().item<bool>();
      });
}

INSTANTIATE_TEST_SUITE_P(Losses, LossAllocationFaultsTest,
                         ::testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& test) {
                           return std::string(cases()[test.param].name);
                         });

}  // namespace
}  // namespace tally::losses
