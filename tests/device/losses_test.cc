#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tally/losses/registry/loss_registry.h"
#include "tally/metrics/results.h"
#include "tally/testing/compare.h"
#include "tally/testing/pretend_device.h"

namespace tally::losses {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr testkit::Tolerance kTolerance{1e-9, 1e-12};

at::Tensor normal(at::IntArrayRef sizes) {
  return at::randn(sizes, at::kDouble);
}
at::Tensor scale() { return at::full({}, 5.0, at::kDouble); }
at::Tensor labels(std::int64_t rows, std::int64_t classes) {
  return at::arange(rows, at::kLong).remainder(classes);
}

Tensors classes() { return {normal({12, 4}), labels(12, 4)}; }
Tensors scores() { return {at::rand({12}, at::kDouble), labels(12, 2)}; }
Tensors slates() {
  return {normal({3, 4}), labels(12, 5).remainder(3).view({3, 4})};
}
Tensors views() { return {normal({6, 4}), normal({6, 4})}; }

Tensors with(Tensors inputs, const Tensors& more) {
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

at::Tensor boxes() {
  const at::Tensor corners = normal({6, 2});
  return at::cat({corners, corners + normal({6, 2}).exp()}, 1);
}

struct Case {
  std::string text;
  std::function<Tensors()> inputs;  // those that may be left out, undefined
};

const std::vector<Case> kCases{
    {"AUCMLoss", scores},
    {"AUCMLoss(learned=true)", scores},
    {"ApproxNDCGLoss", [] { return with(slates(), {{}}); }},
    {"BalancedAccuracyLoss", classes},
    {"BarlowTwinsLoss", views},
    {"BoxOverlapLoss",
     [] {
       return Tensors{boxes(), boxes()};
     }},
    {"ClipLoss",
     [] {
       return with(views(), {scale(), {}});
     }},
    {"CoCaLoss(caption_loss_weight=2, clip_loss_weight=1)",
     [] {
       return with(views(),
                   {normal({6, 3, 5}), labels(18, 5).view({6, 3}), scale()});
     }},
    {"DCLLoss",
     [] {
       return with(views(), {{}, {}});
     }},
    {"DCLWLoss", views},
    {"DiceLoss", classes},
    {"DistillClipLoss",
     [] { return with(with(views(), {scale()}), with(views(), {scale()})); }},
    {"FBetaLoss", classes},
    {"FastAPLoss", [] { return with(scores(), {{}}); }},
    {"FastAPLoss", [] { return with(scores(), {labels(12, 3)}); }},
    {"FocalLoss", classes},
    {"FocalTverskyLoss", classes},
    {"GeneralizedDiceLoss", classes},
    {"GlobalCrossEntropyLoss", classes},
    {"GlobalCrossEntropyLoss(class_weights=[1,2,3,4], label_smoothing=0.1)",
     classes},
    {"JaccardLoss", classes},
    {"LFQ(dim=4)",
     [] {
       return Tensors{normal({2, 3, 4}), {}, {}};
     }},
    {"LambdaLoss", [] { return with(slates(), {{}}); }},
    {"ListNetLoss", [] { return with(slates(), {{}}); }},
    {"LovaszHingeLoss", scores},
    {"LovaszSoftmaxLoss", classes},
    {"MMCELoss", classes},
    {"MatthewsLoss", classes},
    {"NTXentLoss", views},
    {"NTXentLoss(memory_bank_size=16, memory_bank_dim=4)", views},
    {"PairwiseAUCLoss", scores},
    {"PartialAUCLoss", scores},
    {"SigLipLoss",
     [] {
       return with(views(), {scale(), scale().neg()});
     }},
    {"SmoothAPLoss", [] { return with(scores(), {{}}); }},
    {"SoftCalibrationLoss", classes},
    {"SoftRank",
     [] {
       return Tensors{normal({3, 5})};
     }},
    {"SoftSort",
     [] {
       return Tensors{normal({3, 5})};
     }},
    {"SoftSpearmanLoss",
     [] {
       return Tensors{normal({12}), normal({12})};
     }},
    {"SupConLoss",
     [] {
       return Tensors{normal({6, 2, 4}), labels(6, 3)};
     }},
    {"TverskyLoss", classes},
    {"VICRegLoss", views},
    {"VectorQuantize(dim=4, codebook_size=8)",
     [] {
       return Tensors{normal({2, 3, 4}), {}};
     }},
};

std::string name_of(const std::string& text) {
  return text.substr(0, text.find('('));
}

// What the loss is trained by: not targets, and not a teacher's features.
bool is_learned(const std::string& input, const at::Tensor& tensor) {
  return tensor.is_floating_point() && input != "target" &&
         input.rfind("teacher", 0) != 0;
}

void add(Results& results, const std::string& name, const at::Tensor& value,
         c10::Device device) {
  if (!value.defined()) return;
  EXPECT_EQ(value.device(), device) << name;
  results.add(name, value.detach().cpu());
}

// Values and gradients of a loss whose module and inputs are on the device.
Results run(const Case& each, c10::Device device) {
  at::manual_seed(7);
  const auto loss = make_loss(each.text);
  loss->module().to(device, at::kDouble);
  const LossEntry& entry = loss_entry(name_of(each.text));
  Tensors inputs = each.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    inputs[i] = inputs[i].to(device).detach();
    if (is_learned(entry.inputs.at(i), inputs[i])) inputs[i].requires_grad_();
  }
  Results results;
  at::Tensor sum = at::full({}, 0.0, at::kDouble).to(device);
  int count = 0;
  for (const at::Tensor& value : loss->forward(inputs)) {
    add(results, "value " + std::to_string(count++), value, device);
    if (value.requires_grad()) sum = sum + value.square().sum();
  }
  EXPECT_TRUE(sum.requires_grad());
  if (sum.requires_grad()) sum.backward();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    add(results, "gradient of " + entry.inputs[i], inputs[i].grad(), device);
  }
  for (const auto& parameter : loss->module().named_parameters()) {
    add(results, "gradient of " + parameter.key(), parameter.value().grad(),
        device);
  }
  return results;
}

TEST(LossesOnDeviceTest, HaveTheCpusValuesAndGradients) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.text);
    EXPECT_TRUE(testkit::near(run(each, testkit::pretend_device()),
                              run(each, at::kCPU), kTolerance));
  }
}

TEST(LossesOnDeviceTest, EveryLossHasACase) {
  std::map<std::string, int> cases;
  for (const Case& each : kCases) ++cases[name_of(each.text)];
  for (const auto& [name, entry] : loss_entries()) {
    EXPECT_GT(cases[name], 0) << name;
  }
}

}  // namespace
}  // namespace tally::losses
