#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/core/maybe_device.h"
#include "tally/metrics/core/state_device.h"
#include "tally/metrics/metrics.h"
#include "tally/testing/compare.h"
#include "tally/testing/pretend_device.h"
#include "tally/testing/thread_ranks.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testkit::first_gpu;

constexpr int kClasses = 3;
constexpr testkit::Tolerance kTolerance{1e-9, 1e-12};

struct Classes {
  at::Tensor preds;
  at::Tensor target;
};

Classes classes(c10::Device device) {
  const at::Tensor target = at::arange(24, at::kLong).remainder(kClasses);
  const at::Tensor places =
      at::arange(24 * kClasses, at::kDouble).mul(0.7).sin().view({24, -1});
  return {places.softmax(1).to(device), target.to(device)};
}

MetricCollection both() {
  MetricCollection metrics;
  metrics.add("accuracy",
              MulticlassAccuracy(
                  MulticlassAccuracyOptions(kClasses).average(Average::kNone)));
  metrics.add("auroc", MulticlassAUROC(MulticlassAUROCOptions(kClasses).average(
                           Average::kNone)));
  return metrics;
}

// What a call gives with inputs on a device, with the names of its tensors.
using Values = std::vector<at::Tensor>;
using Call = std::function<Values(c10::Device)>;

template <class Result>
Values tensors_in(Result result) {
  Values tensors;
  for_each_tensor(result, [&](at::Tensor& tensor) {
    if (tensor.defined()) tensors.push_back(tensor);
  });
  return tensors;
}

void expect_same_on_device(const Call& call) {
  const Values expected = call(at::kCPU);
  const Values actual = call(first_gpu());
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].device(), first_gpu()) << "tensor " << i;
    EXPECT_TRUE(testkit::near(actual[i].cpu(), expected[i], kTolerance))
        << "tensor " << i;
  }
}

template <class Container, class Make>
void check_container(const Make& make) {
  expect_same_on_device([&](c10::Device device) {
    Container container = make();
    const Classes batch = classes(device);
    container.update(batch.preds, batch.target);
    return tensors_in(container.compute());
  });
}

TEST(StateDeviceTest, FollowsInputsFromTheCpuButNotBack) {
  const c10::Device first(at::kCUDA, 0), second(at::kCUDA, 1), any(at::kCUDA);
  for (const c10::Device device : {first, second, any}) {
    EXPECT_EQ(internal::MaybeDevice(device).get(), device);
  }
  EXPECT_EQ(internal::MaybeDevice(c10::Device(at::kCPU, 0)).get(), at::kCPU);
  EXPECT_EQ(internal::MaybeDevice().get(), std::nullopt);

  internal::StateDevice state;
  for (const internal::MaybeDevice taken :
       {internal::MaybeDevice(), internal::MaybeDevice::cpu(),
        internal::MaybeDevice(second)}) {
    ASSERT_TRUE(state.takes(taken));
    state.note_inputs(taken);
  }
  EXPECT_EQ(state.current(), second);
  EXPECT_TRUE(state.takes(second));
  EXPECT_TRUE(state.takes(std::nullopt));
  EXPECT_FALSE(state.takes(first));
  EXPECT_FALSE(state.takes(any));
  EXPECT_FALSE(state.takes(c10::Device(at::kCPU)));
  state.replace();
  EXPECT_EQ(state.current(), std::nullopt);
  state.give(first);
  state.replace(second);
  EXPECT_EQ(state.current(), first);
}

TEST(ContainersOnDeviceTest, Collection) {
  check_container<MetricCollection>(both);
  expect_same_on_device([](c10::Device device) {
    MetricCollection metrics = both();
    const Classes batch = classes(device);
    return tensors_in(metrics.forward(batch.preds, batch.target));
  });
  expect_same_on_device([](c10::Device device) {
    MetricCollection metrics = both();
    const Classes batch = classes(device);
    metrics.update({{"target", batch.target}, {"preds", batch.preds}});
    return tensors_in(metrics.sync_async().wait());
  });
  expect_same_on_device([](c10::Device device) {
    MetricCollection metrics = both();
    const Classes batch = classes(device);
    metrics.update(batch.preds, batch.target);
    return tensors_in(metrics.extract("auroc")->compute_results());
  });
}

TEST(ContainersOnDeviceTest, ArithmeticOfValuesOnBothDevices) {
  check_container<CompositionalMetric>([] {
    return MulticlassAUROC(
               MulticlassAUROCOptions(kClasses).average(Average::kNone)) +
           0.5 * MulticlassAccuracy(MulticlassAccuracyOptions(kClasses).average(
                     Average::kNone));
  });
}

TEST(ContainersOnDeviceTest, Wrappers) {
  check_container<Running>(
      [] { return Running(MulticlassAUROC(kClasses), 2); });
  check_container<MinMaxMetric>(
      [] { return MinMaxMetric(MulticlassAUROC(kClasses)); });
  check_container<BootStrapper>(
      [] { return BootStrapper(MulticlassAccuracy(kClasses), 5); });
  expect_same_on_device([](c10::Device device) {
    MetricTracker tracker(both());
    const Classes batch = classes(device);
    Values values;
    for (int step = 0; step < 2; ++step) {
      tracker.increment();
      tracker.update(batch.preds, batch.target);
      for (at::Tensor& value : tensors_in(tracker.compute())) {
        values.push_back(std::move(value));
      }
    }
    for (at::Tensor& value : tensors_in(tracker.compute_all())) {
      values.push_back(std::move(value));
    }
    return values;
  });
  expect_same_on_device([](c10::Device device) {
    MultitaskWrapper tasks;
    tasks.add("a", MulticlassAUROC(kClasses));
    tasks.add("b", MulticlassAccuracy(kClasses));
    const Classes batch = classes(device);
    tasks.update({{"a", batch.preds}, {"b", batch.preds}},
                 {{"a", batch.target}, {"b", batch.target}});
    return tensors_in(tasks.compute());
  });
}

TEST(ContainersOnDeviceTest, IntervalsAndComparisons) {
  expect_same_on_device([](c10::Device device) {
    IntervalMetric accuracy(BinaryAUROC{});
    const at::Tensor scores = classes(device).preds.select(1, 0);
    accuracy.update(scores, at::arange(24, at::kLong).remainder(2).to(device));
    return tensors_in(accuracy.compute());
  });
  expect_same_on_device([](c10::Device device) {
    ModelComparison accuracy(BinaryAccuracy{});
    const at::Tensor scores = classes(device).preds.select(1, 0);
    accuracy.update(scores, scores.square(),
                    at::arange(24, at::kLong).remainder(2).to(device));
    return tensors_in(accuracy.compute());
  });
}

TEST(ContainersOnDeviceTest, Slices) {
  expect_same_on_device([](c10::Device device) {
    SlicedMetric by_key(MulticlassAccuracy{kClasses});
    const std::vector<std::string> keys(24, "north");
    const Classes batch = classes(device);
    by_key.update(SliceKeys(keys), batch.preds, batch.target);
    return tensors_in(by_key.compute());
  });
}

TEST(ContainersOnDeviceTest, MetricLossHasItsValueAndGradientThere) {
  expect_same_on_device([](c10::Device device) {
    losses::MetricLoss loss{MeanSquaredError()};
    const Classes batch = classes(device);
    const at::Tensor preds = batch.preds.detach().requires_grad_();
    const at::Tensor value = loss->forward(preds, batch.preds.square());
    value.backward();
    return Values{value.detach(), preds.grad()};
  });
}

TEST(InputsOfDevicesTest, NumbersAndTextsGoWithAny) {
  MeanMetric mean;
  mean.update(classes(first_gpu()).preds);
  mean.update(0.25);
  mean.update(at::arange(1, at::kDouble).squeeze(0));
  EXPECT_EQ(mean.update_count(), 3);
  EXPECT_EQ(mean.compute().device(), first_gpu());
}

TEST(InputsOfDevicesTest, AreThoseOfTheFirstBesideTheCpu) {
  RetrievalMAP map;
  const at::Tensor queries = at::arange(8, at::kLong).floor_divide(4);
  const at::Tensor scores = at::arange(8, at::kFloat);
  const at::Tensor relevant = at::arange(8, at::kLong).remainder(2);
  map.update(scores.to(first_gpu()), relevant.to(first_gpu()),
             queries.to(first_gpu()));
  EXPECT_EQ(map.compute().device(), first_gpu());
  EXPECT_THROW(map.update(scores, relevant, queries), c10::ValueError);
  map.reset();
  map.update(scores, relevant, queries);
  EXPECT_EQ(map.compute().device(), c10::Device(at::kCPU));
}

TEST(FullDeviceTest, ErrorNamesTheWayOutAndLosesNothing) {
  const auto refusal_of = [](const std::function<void()>& work) {
    try {
      work();
    } catch (const c10::OutOfMemoryError& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string();
  };
  const at::Tensor preds = at::rand({100});
  const at::Tensor target = preds.gt(0.3).to(at::kLong);
  BinaryAUROC metric;
  const auto add = [&] {
    metric.update(preds.to(first_gpu()), target.to(first_gpu()));
  };
  add();
  const at::Tensor before = metric.compute().cpu();

  const at::Tensor scores = preds.repeat({1 << 14}).to(first_gpu());
  const at::Tensor labels = target.repeat({1 << 14}).to(first_gpu());
  // What it leaves is enough for a batch, but not for more rows.
  BinaryAUROC large;
  large.update(scores, labels);
  const at::Tensor value = large.compute().cpu();
  large.update(scores, labels);
  std::vector<at::Tensor> full;
  for (std::int64_t bytes = std::int64_t{8} << 30; bytes > 1 << 20;) {
    const std::string refusal = refusal_of([&] {
      full.push_back(at::empty({bytes}, labels.options().dtype(at::kByte)));
    });
    if (!refusal.empty()) bytes /= 2;
  }
  EXPECT_THAT(refusal_of([&] { metric.update(scores, labels); }),
              AllOf(HasSubstr("CUDA out of memory"),
                    HasSubstr("rows of a metric's state on cuda:0; with the "
                              "option compute_on_cpu, rows are kept in the "
                              "CPU's memory")));
  EXPECT_EQ(metric.update_count(), 1);
  EXPECT_THAT(
      refusal_of([&] { large.compute(); }),
      AllOf(HasSubstr("CUDA out of memory"),
            HasSubstr("to compute BinaryAUROC on cuda:0; with the option "
                      "compute_on_cpu, states are kept, and values computed, "
                      "in the CPU's memory")));
  full.clear();
  // Another size than was freed, which the pretend device does not give again.
  large.to(at::kCPU);
  EXPECT_TRUE(large.compute().equal(value));
  EXPECT_TRUE(metric.compute().cpu().equal(before));
  add();
  EXPECT_EQ(metric.update_count(), 2);
}

TEST(GivenDeviceTest, StaysAndCanBeLeft) {
  MeanSquaredError metric;
  metric.to(first_gpu());
  EXPECT_EQ(metric.compute().device(), first_gpu());
  const at::Tensor x = at::arange(4, at::kDouble);
  EXPECT_THROW(metric.update(x, x), c10::ValueError);
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
  metric.to(at::kCPU);
  metric.update(x, x);
  EXPECT_EQ(metric.compute().device(), c10::Device(at::kCPU));
  const auto copy = metric.clone();
  copy->update(x.to(first_gpu()), x.to(first_gpu()));
  EXPECT_EQ(copy->compute_results().value().device(), first_gpu());
}

TEST(GivenDeviceTest, HoldsWhileSynced) {
  testkit::run_thread_ranks(
      2, [&](const std::shared_ptr<sync::Communicator>& communicator) {
        MeanSquaredError metric;
        const at::Tensor x = at::arange(4, at::kDouble).to(first_gpu());
        if (communicator->rank() == 0) metric.update(x, x.neg());
        metric.sync();
        EXPECT_EQ(metric.compute().device(), first_gpu());
        EXPECT_EQ(metric.compute().cpu().item<double>(), 14);
        metric.unsync();
        EXPECT_EQ(metric.sync_async().wait().device(), first_gpu());
      });
}

}  // namespace
}  // namespace tally
