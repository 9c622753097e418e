#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/duplicate.h"
#include "tally/sync/paired.h"
#include "tally/testing/pretend_device.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"
#include "tally/training/gradient_averager.h"
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

/// A group of the device, as NCCL is: by one of the CPU.
class DeviceGroup final : public sync::Communicator {
 public:
  explicit DeviceGroup(std::shared_ptr<sync::Communicator> host)
      : Communicator(host->rank(), host->size(), pretend_device(),
                     host->timeout()),
        host_(std::move(host)) {}

  std::string describe() const override {
    return "a device's " + host_->describe();
  }

 protected:
  using milliseconds = std::chrono::milliseconds;

  void do_all_gather(const at::Tensor& input, at::Tensor& output,
                     milliseconds timeout) override {
    at::Tensor all = at::empty_like(output, at::kCPU);
    host_->all_gather(input.cpu(), all, timeout);
    output.copy_(all);
  }
  void do_all_reduce(at::Tensor& tensor, sync::ReduceOp op,
                     milliseconds timeout) override {
    at::Tensor sum = tensor.cpu();
    host_->all_reduce(sum, op, timeout);
    tensor.copy_(sum);
  }
  void do_broadcast(at::Tensor&, int, milliseconds) override { refuse(); }
  void do_all_to_all(const at::Tensor&, const std::vector<std::int64_t>&,
                     at::Tensor&, const std::vector<std::int64_t>&,
                     milliseconds) override {
    refuse();
  }
  std::function<void()> do_start_all_gather(const at::Tensor& input,
                                            at::Tensor& output,
                                            milliseconds timeout) override {
    return [this, input, output, timeout]() mutable {
      do_all_gather(input, output, timeout);
    };
  }
  std::function<void()> do_start_send_receive(const at::Tensor&, int,
                                              at::Tensor&, int,
                                              milliseconds) override {
    refuse();
  }

 private:
  [[noreturn]] static void refuse() { TORCH_CHECK(false, "expected no call"); }

  std::shared_ptr<sync::Communicator> host_;
};

enum class Group { kHost, kPaired, kDevice };

std::shared_ptr<sync::Communicator> group_of(
    Group kind, const std::shared_ptr<sync::Communicator>& ranks) {
  auto own = sync::duplicate(ranks);
  if (kind == Group::kHost) return own;
  auto device = std::make_shared<DeviceGroup>(
      kind == Group::kPaired ? sync::duplicate(ranks) : own);
  if (kind == Group::kDevice) return device;
  return sync::pair_communicators(own, device);
}

// Its gradients are 1, 2, ... times the rank's number and one.
at::Tensor loss_of(const std::vector<at::Tensor>& parameters, int rank) {
  at::Tensor sum;
  for (const at::Tensor& parameter : parameters) {
    const at::Tensor weights =
        at::arange(1, parameter.numel() + 1, parameter.options()) * (rank + 1);
    const at::Tensor term = (parameter * weights.detach()).sum();
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

std::vector<at::Tensor> leaves(c10::Device device) {
  std::vector<at::Tensor> all = parameters(at::kDouble, device);
  for (at::Tensor& parameter : all) parameter.mutable_grad() = at::Tensor();
  return all;
}

class GradientAveragerOnDeviceTest : public ::testing::TestWithParam<Group> {};

TEST_P(GradientAveragerOnDeviceTest, SumsBucketsWhereTheyAre) {
  constexpr int kRanks = 2;
  constexpr int kSteps = 3;
  std::vector<std::vector<at::Tensor>> of_ranks(kRanks);
  std::vector<std::int64_t> buckets(kRanks);
  const testkit::DeviceRecord record;
  testkit::run_thread_ranks(kRanks, [&](const auto& ranks) {
    const int rank = ranks->rank();
    of_ranks[rank] = leaves(pretend_device());
    GradientAverager averager(
        of_ranks[rank],
        GradientAveragerOptions().bucket_bytes(200).communicator(
            group_of(GetParam(), ranks)));
    buckets[rank] = averager.buckets();
    for (int step = 0; step < kSteps; ++step) {
      for (at::Tensor& parameter : of_ranks[rank]) {
        parameter.mutable_grad() = at::Tensor();
      }
      averager.backward(loss_of(of_ranks[rank], rank));
    }
  });
  if (GetParam() == Group::kHost) {
    EXPECT_EQ(record.counts().copies_to_host, kRanks * kSteps * buckets[0]);
  }
  EXPECT_EQ(buckets[0], 3);
  for (const auto& parameters : of_ranks) {
    for (const at::Tensor& parameter : parameters) {
      EXPECT_EQ(parameter.grad().device(), pretend_device());
      EXPECT_TRUE(parameter.grad().cpu().equal(
          at::arange(1, parameter.numel() + 1, at::kDouble) * 1.5));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, GradientAveragerOnDeviceTest,
                         ::testing::Values(Group::kHost, Group::kPaired,
                                           Group::kDevice));

TEST(GradientAveragerOnDeviceTest, TakesAModelOnSeveralDevices) {
  testkit::run_thread_ranks(2, [&](const auto& ranks) {
    std::vector<at::Tensor> all = leaves(at::kCPU);
    for (const int index : {0, 1}) {
      for (at::Tensor& each : leaves(pretend_device(index))) {
        all.push_back(each);
      }
    }
    GradientAverager averager(
        all, GradientAveragerOptions().communicator(sync::duplicate(ranks)));
    at::Tensor loss;
    for (const at::Tensor& parameter : all) {
      const at::Tensor own = loss_of({parameter}, ranks->rank()).cpu();
      loss = loss.defined() ? loss + own : own;
    }
    averager.backward(loss);
    for (const at::Tensor& parameter : all) {
      EXPECT_EQ(parameter.grad().device(), parameter.device());
      EXPECT_TRUE(parameter.grad().cpu().equal(
          at::arange(1, parameter.numel() + 1, at::kDouble) * 1.5));
    }
  });
}

TEST(GradientAveragerOnDeviceTest, RefusesAModelThatTheGroupCannotReach) {
  testkit::run_thread_ranks(2, [&](const auto& ranks) {
    const auto group = group_of(Group::kDevice, ranks);
    EXPECT_THAT(testkit::refusal_of<c10::ValueError>([&] {
                  GradientAverager(
                      leaves(at::kCPU),
                      GradientAveragerOptions().communicator(group));
                }),
                ::testing::HasSubstr("expected parameters on the device of the "
                                     "group, cuda:0, got parameter 2 on cpu"));
  });
}

TEST(GradientAveragerOnDeviceTest, RanksSumByTheSamePartOfAGroup) {
  testkit::run_thread_ranks(2, [&](const auto& ranks) {
    const auto group = group_of(Group::kPaired, ranks);
    const c10::Device device =
        ranks->rank() == 0 ? pretend_device() : c10::Device(at::kCPU);
    EXPECT_THAT(testkit::refusal_of<sync::SyncError>([&] {
                  GradientAverager(
                      leaves(device),
                      GradientAveragerOptions().communicator(group));
                }),
                ::testing::HasSubstr("buckets on the accelerator 0"));
  });
}

}  // namespace
}  // namespace tally::training
