#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tally/losses/registry/loss_registry.h"
#include "tally/metrics/results.h"
#include "tally/testing/compare.h"
#include "tally/testing/pretend_device.h"
#include "tally/tests/device/loss_cases.h"

namespace tally::losses {
namespace {

using device_cases::Case;
using device_cases::is_learned;
using device_cases::kCases;
using device_cases::name_of;
using device_cases::Tensors;

constexpr testkit::Tolerance kTolerance{1e-9, 1e-12};

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
    EXPECT_TRUE(testkit::near(run(each, testkit::first_gpu()),
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
