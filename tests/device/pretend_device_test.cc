#include "tally/testing/pretend_device.h"

#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace tally::testkit {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string refusal_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

class PretendDeviceTest : public ::testing::Test {
 protected:
  const c10::Device device_ = pretend_device();
  const at::Tensor numbers_ = at::arange(6, at::kFloat).to(device_);
};

TEST_F(PretendDeviceTest, ComputesAsTheCpuDoes) {
  const at::Tensor squares = numbers_.mul(numbers_).view({2, 3});
  EXPECT_EQ(squares.device(), device_);
  EXPECT_EQ(squares.sum().item<float>(), 55);
  EXPECT_TRUE(squares.t().contiguous().cpu().equal(
      at::tensor({0.f, 9.f, 1.f, 16.f, 4.f, 25.f}).view({3, 2})));
  EXPECT_TRUE(at::cat({numbers_, numbers_})
                  .slice(0, 5, 8)
                  .cpu()
                  .equal(at::tensor({5.f, 0.f, 1.f})));
}

TEST_F(PretendDeviceTest, IsWhatLibTorchTakesForAGpu) {
  EXPECT_TRUE(numbers_.is_cuda());
  EXPECT_TRUE(at::globalContext().hasCUDA());
  EXPECT_EQ(pretend_device(1).str(), "cuda:1");
  EXPECT_EQ(at::ones({2}, pretend_device(1)).device(), pretend_device(1));
  EXPECT_THAT(refusal_of([] { pretend_device(2); }),
              HasSubstr("expected a pretend device from 0 to 1, got 2"));
  EXPECT_THAT(refusal_of([] { pretend_device(-1); }), HasSubstr("got -1"));
}

TEST_F(PretendDeviceTest, GivesGradients) {
  const at::Tensor x = numbers_.clone().requires_grad_(true);
  x.mul(x).sum().backward();
  EXPECT_EQ(x.grad().device(), device_);
  EXPECT_TRUE(x.grad().cpu().equal(at::arange(6, at::kFloat).mul(2)));
}

TEST_F(PretendDeviceTest, WritesToGivenResults) {
  at::Tensor sum = at::empty({0}, numbers_.options());
  at::add_out(sum, numbers_, numbers_);
  EXPECT_TRUE(sum.cpu().equal(at::arange(6, at::kFloat).mul(2)));
  at::Tensor grown = numbers_.clone();
  grown.resize_({8});
  EXPECT_TRUE(grown.slice(0, 0, 6).cpu().equal(numbers_.cpu()));
}

using PretendDeviceDeathTest = PretendDeviceTest;

TEST_F(PretendDeviceDeathTest, KeepsItsMemoryFromTheCpu) {
  volatile float seen = 0;
  EXPECT_DEATH(seen = *numbers_.const_data_ptr<float>(), "");
  EXPECT_DEATH(*numbers_.mutable_data_ptr<float>() = seen, "");
}

TEST_F(PretendDeviceTest, RefusesTwoDevices) {
  const std::string two = "at least two devices, cuda:0 and ";
  EXPECT_THAT(refusal_of([&] { numbers_.add(at::ones({6})); }),
              HasSubstr(two + "cpu"));
  EXPECT_THAT(
      refusal_of([&] { numbers_.add(at::ones({6}, pretend_device(1))); }),
      HasSubstr(two + "cuda:1"));
  EXPECT_THAT(refusal_of([&] {
                at::cat({numbers_, at::scalar_tensor(1).view({1})});
              }),
              HasSubstr(two + "cpu"));
  EXPECT_EQ(numbers_.add(at::scalar_tensor(2)).sum().item<float>(), 27);
}

TEST_F(PretendDeviceTest, RefusesWhatHasNoKernel) {
  const at::Tensor integers = at::ones({2, 2}, at::kLong).to(device_);
  EXPECT_THAT(refusal_of([&] { integers.mm(integers); }),
              HasSubstr("not implemented for 'Long'"));
  EXPECT_THAT(refusal_of([&] { at::histogram(numbers_, 3); }),
              HasSubstr("from the 'CUDA' backend"));
}

TEST_F(PretendDeviceTest, IsLostByAnIndexOutOfRange) {
  const at::Tensor bad = at::tensor({6}, at::kLong).to(device_);
  EXPECT_THAT(refusal_of([&] { numbers_.index_select(0, bad); }),
              HasSubstr("device-side assert"));
  EXPECT_TRUE(is_device_lost());
  EXPECT_THAT(refusal_of([&] { numbers_.add(1); }),
              HasSubstr("restore_device()"));
  restore_device();
  EXPECT_EQ(numbers_.add(1).sum().item<float>(), 21);
}

TEST_F(PretendDeviceTest, IsNotLostByADimensionOutOfRange) {
  EXPECT_THAT(refusal_of([&] { numbers_.flip({4}); }),
              HasSubstr("Dimension out of range"));
  EXPECT_FALSE(is_device_lost());
}

TEST_F(PretendDeviceTest, CountsLaunchesAndWaits) {
  const DeviceRecord record;
  numbers_.add(1).mul(2).view({2, 3});
  EXPECT_EQ(record.counts().launches, 2);
  EXPECT_EQ(record.counts().allocations, 2);
  EXPECT_EQ(record.counts().waits(), 0);

  numbers_[0].item();
  numbers_.cpu();
  numbers_.copy_(at::zeros({6}));
  numbers_.nonzero();
  const DeviceCounts counts = record.counts();
  EXPECT_EQ(counts.items, 1);
  EXPECT_EQ(counts.copies_to_host, 1);
  EXPECT_EQ(counts.bytes_to_host, 24);
  EXPECT_EQ(counts.copies_to_device, 1);
  EXPECT_EQ(counts.bytes_to_device, 24);
  EXPECT_EQ(counts.sizes, 1);
  EXPECT_EQ(counts.waits(), 4);
  EXPECT_THAT(record.calls(), Contains(Pair("wait: item", 1)));
  EXPECT_THAT(record.calls(), Contains(Pair("aten::add", 1)));
}

TEST_F(PretendDeviceTest, CountsFromTheRecordsConstructionOn) {
  const DeviceRecord before;
  numbers_.add(1);
  const DeviceRecord record;
  EXPECT_TRUE(record.calls().empty());
  numbers_.neg();
  EXPECT_EQ(record.counts().launches, 1);
  EXPECT_EQ(record.calls().size(), 1u);
  EXPECT_EQ(before.counts().launches, 2);
}

TEST_F(PretendDeviceTest, CountsSumsWithoutOrder) {
  const at::Tensor places = at::zeros({6}, at::kLong).to(device_);
  const at::Tensor sums = at::zeros({1}, at::kFloat).to(device_);
  const at::Tensor counts = at::zeros({1}, at::kLong).to(device_);
  const DeviceRecord record;
  sums.scatter_add(0, places, numbers_);
  EXPECT_EQ(record.counts().unordered_sums, 1);
  counts.scatter_add(0, places, places);
  EXPECT_EQ(record.counts().unordered_sums, 1);
}

TEST_F(PretendDeviceTest, RefusesToWaitInACapture) {
  {
    const DeviceCapture capture;
    EXPECT_EQ(numbers_.add(1).device(), device_);
    EXPECT_THAT(refusal_of([&] { numbers_[0].item(); }),
                HasSubstr("not permitted when stream is capturing (item)"));
    EXPECT_THAT(refusal_of([] { const DeviceCapture second; }),
                HasSubstr("one DeviceCapture at a time"));
    EXPECT_THAT(refusal_of([&] { numbers_.cpu(); }), HasSubstr("capturing"));
  }
  EXPECT_EQ(numbers_[1].item<float>(), 1);
}

}  // namespace
}  // namespace tally::testkit
