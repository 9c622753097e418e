// Losses in inference mode and after it.

#include <ATen/ops/arange.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tally/losses/losses.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/loss_calls.h"

namespace tally::losses {
namespace {

using Loss = TwoViewLoss;
using MakeLoss = std::function<Loss()>;

constexpr auto kGathered = PairwiseLogits::kGathered;

Loss coca() {
  return [loss = CoCaLoss(CoCaLossOptions(2, 1).pad_id(9))](
             const at::Tensor& a, const at::Tensor& b) mutable {
    const at::Tensor labels = at::arange(a.size(0)).remainder(4).unsqueeze(1);
    const CoCaLosses both =
        loss->forward(a, b, a.unsqueeze(1), labels, logit_scale());
    return both.contrastive.add(both.caption);
  };
}

Loss distill() {
  return [loss = DistillClipLoss()](const at::Tensor& a,
                                    const at::Tensor& b) mutable {
    const DistillClipLosses both = loss->forward(
        a, b, logit_scale(), a.detach().sin(), b.detach(), logit_scale());
    return both.contrastive.add(both.distill);
  };
}

Loss vector_quantize(bool kmeans_init) {
  VectorQuantize module(VectorQuantizeOptions(4, 3).kmeans_init(kmeans_init));
  // The same on every rank.
  for (const at::Tensor& codes : {module->codebook, module->code_sums}) {
    codes.copy_(at::arange(12).sin().view({3, 4}));
  }
  return [loss = module](const at::Tensor& a, const at::Tensor& b) mutable {
    const VectorQuantizeOutput output = loss->forward(a.unsqueeze(0));
    return output.loss.add(output.quantized.mul(b).sum());
  };
}

Loss lfq() {
  return [loss = LFQ(LFQOptions().codebook_size(16))](
             const at::Tensor& a, const at::Tensor& b) mutable {
    const LFQOutput output = loss->forward(a.unsqueeze(0));
    return output.aux_loss.add(output.quantized.mul(b).sum());
  };
}

const std::map<std::string, MakeLoss>& all_losses() {
  static const std::map<std::string, MakeLoss> losses = {
      {"ClipTiled", [] { return clip(ClipLossOptions()); }},
      {"ClipGathered",
       [] { return clip(ClipLossOptions().pairwise_logits(kGathered)); }},
      {"ClipWithLabels",
       [] {
         return clip(
             ClipLossOptions().pairwise_logits(kGathered).local_loss(true));
       }},
      {"SigLipTiled", [] { return sig_lip(SigLipExchange::kTiledRing); }},
      {"SigLipGathered", [] { return sig_lip(SigLipExchange::kGather); }},
      {"NTXentTiled", [] { return of_two(NTXentLoss()); }},
      {"NTXentGathered",
       [] {
         return of_two(
             NTXentLoss(NTXentLossOptions().pairwise_logits(kGathered)));
       }},
      {"SupCon",
       [] {
         return [loss = SupConLoss()](const at::Tensor& a,
                                      const at::Tensor&) mutable {
           return loss->forward(a, at::arange(a.size(0)).div(2, "floor"));
         };
       }},
      {"CoCa", coca},
      {"DistillClip", distill},
      {"DCL", [] { return of_two(DCLLoss()); }},
      {"DCLW", [] { return of_two(DCLWLoss()); }},
      {"BarlowTwins", [] { return of_two(BarlowTwinsLoss()); }},
      {"VICReg", [] { return of_two(VICRegLoss()); }},
      {"LFQ", lfq},
      {"Metric",
       [] {
         return of_two(MetricLoss(PearsonCorrCoef(4), MetricLossOptions()));
       }},
  };
  return losses;
}

// Their state changes with each call.
const std::map<std::string, MakeLoss>& losses_that_learn() {
  static const std::map<std::string, MakeLoss> losses = {
      {"MemoryBank",
       [] {
         return of_two(NTXentLoss(NTXentLossOptions().memory_bank_size(8)));
       }},
      {"VectorQuantize", [] { return vector_quantize(false); }},
      {"VectorQuantizeByKMeans", [] { return vector_quantize(true); }},
  };
  return losses;
}

at::Tensor gradient_of(const Loss& loss, int rank) {
  const at::Tensor a = rows_of(rank, 1).requires_grad_();
  loss(a, rows_of(rank, 2)).sum().backward();
  return a.grad();
}

// The value in inference mode, of inference tensors.
at::Tensor value_inside(const Loss& loss, int rank) {
  const c10::InferenceMode inference;
  return loss(rows_of(rank, 1), rows_of(rank, 2));
}

class LossesInferenceModeTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void run(const std::function<void(int rank)>& function) {
    testkit::ThreadRanksOptions options;
    options.transport = testkit::ThreadTransport::kGloo;
    testkit::run_thread_ranks(
        2, [&](const auto& group) { function(group->rank()); }, options);
  }
};

TEST_P(LossesInferenceModeTest, GiveTheSameInItAndAfterIt) {
  const MakeLoss& make = all_losses().at(GetParam());
  run([&](int rank) {
    const Loss fresh = make();
    const at::Tensor value =
        fresh(rows_of(rank, 1), rows_of(rank, 2)).detach().clone();
    const at::Tensor gradient = gradient_of(fresh, rank);
    const Loss loss = make();
    for (int round = 0; round < 2; ++round) {
      const at::Tensor inside = value_inside(loss, rank);
      EXPECT_TRUE(testkit::near(inside, value, {1e-5, 1e-6}));
      EXPECT_TRUE(
          testkit::near(gradient_of(loss, rank), gradient, {1e-5, 1e-6}));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Losses, LossesInferenceModeTest,
                         ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, make] : all_losses())
                             names.push_back(name);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

TEST(LearningInferenceModeTest, LossesGoOnAfterIt) {
  for (const auto& [name, make] : losses_that_learn()) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, name);
    testkit::ThreadRanksOptions options;
    options.transport = testkit::ThreadTransport::kGloo;
    testkit::run_thread_ranks(
        2,
        [&, &one = make](const auto& group) {
          const Loss loss = one();
          for (int round = 0; round < 2; ++round) {
            const at::Tensor inside = value_inside(loss, group->rank());
            EXPECT_TRUE(inside.isfinite().all().template item<bool>());
            const at::Tensor gradient = gradient_of(loss, group->rank());
            EXPECT_TRUE(gradient.isfinite().all().template item<bool>());
          }
        },
        options);
  }
}

}  // namespace
TEST(LearningInferenceModeTest, ModulesMadeInItLearn) {
  const at::Tensor x =
      at::arange(20).sin().view({1, 5, 4}).set_requires_grad(true);
  const auto make = [](const auto& options) {
    const c10::InferenceMode inference;
    return options();
  };
  auto codes = make([] {
    return VectorQuantize(VectorQuantizeOptions(4, 3).codebook_dim(2));
  });
  codes->forward(x).loss.backward();
  EXPECT_TRUE(codes->project_in->weight.grad().defined());
  EXPECT_EQ(codes->steps.item<std::int64_t>(), 1);

  auto bits = make([] {
    return LFQ(LFQOptions().codebook_size(16).dim(4).orthogonal_rotation(true));
  });
  bits->forward(x).aux_loss.backward();
  EXPECT_FALSE(bits->rotation.is_inference());
}

}  // namespace tally::losses
