#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tally/testing/pretend_device.h"
#include "tally/training/gradients.h"

namespace tally::training {
namespace {

using testkit::pretend_device;

std::vector<at::Tensor> parameters(at::ScalarType dtype, c10::Device device) {
  std::vector<at::Tensor> all;
  for (const std::int64_t size : {3, 40, 5000}) {
    at::Tensor parameter = at::arange(size, dtype).to(device).requires_grad_();
    parameter.mutable_grad() =
        at::arange(size, at::kDouble).sin().to(device, dtype);
    all.push_back(parameter);
  }
  return all;
}

TEST(ClipGradientsOnDeviceTest, LeavesThemThereAndWaitsOnce) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kHalf}) {
    for (const double type : {1.0, 2.0, 3.0, double(INFINITY)}) {
      SCOPED_TRACE(c10::str(dtype, ", norm ", type));
      const ClipGradientsOptions options =
          ClipGradientsOptions(0.5).norm_type(type);
      const auto host = parameters(dtype, at::kCPU);
      const auto device = parameters(dtype, pretend_device());
      const double expected = average_and_clip_gradients(host, options);
      const testkit::DeviceRecord record;
      EXPECT_NEAR(average_and_clip_gradients(device, options), expected,
                  1e-6 * expected);
      EXPECT_LE(record.counts().bytes_to_host, 8);
      EXPECT_EQ(record.counts().waits(), 1);
      for (std::size_t i = 0; i < host.size(); ++i) {
        EXPECT_TRUE(device[i].grad().cpu().allclose(host[i].grad(), 1e-3));
      }
    }
  }
}

TEST(ClipGradientsOnDeviceTest, TakesModelsOnSeveralDevices) {
  auto all = parameters(at::kDouble, at::kCPU);
  const double one = average_and_clip_gradients(all, ClipGradientsOptions(1e9));
  for (const int index : {0, 1}) {
    for (at::Tensor& each : parameters(at::kDouble, pretend_device(index))) {
      all.push_back(each);
    }
  }
  EXPECT_NEAR(average_and_clip_gradients(all, ClipGradientsOptions(1e9)),
              std::sqrt(3.0) * one, 1e-9 * one);
}

}  // namespace
}  // namespace tally::training
