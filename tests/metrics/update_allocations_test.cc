#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/group_fairness.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/regression/mean_squared_error.h"

namespace {

thread_local std::int64_t allocations = 0;

}  // namespace

// Those of this whole program, LibTorch's included.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tally {
namespace {

constexpr std::int64_t kCalls = 8;

/// Of that many calls, after the first ones, which look names up.
template <class Call>
std::int64_t allocations_of(const Call& call) {
  for (int i = 0; i < 3; ++i) call();
  const std::int64_t before = allocations;
  for (std::int64_t i = 0; i < kCalls; ++i) call();
  return allocations - before;
}

TEST(UpdateAllocationsTest, OnlyErasedStatesCostOne) {
  const at::Tensor preds = at::rand({32});
  const at::Tensor target = at::randint(2, {32});
  BinaryAccuracy metric;
  EXPECT_EQ(allocations_of([&] { metric.update(preds, target); }), 0);
  Metric& erased = metric;
  EXPECT_EQ(allocations_of([&] { erased.update(preds, target); }), kCalls);
  EXPECT_EQ(allocations_of([&] {
              metric.update({{"target", target}, {"preds", preds}});
            }),
            kCalls);
  EXPECT_EQ(allocations_of([&] {
              erased.update({{"target", target}, {"preds", preds}});
            }),
            kCalls);
}

TEST(UpdateAllocationsTest, NamesCostNoneInCollections) {
  const at::Tensor preds = at::rand({32});
  const at::Tensor target = at::randint(2, {32});
  const at::Tensor groups = at::randint(3, {32});
  const auto pair = [] {
    MetricCollection metrics;
    metrics.add("BinaryAccuracy", BinaryAccuracy());
    metrics.add("MeanSquaredError", MeanSquaredError());
    return metrics;
  };
  MetricCollection by_place = pair();
  MetricCollection by_name = pair();
  EXPECT_EQ(allocations_of([&] {
              by_name.update({{"preds", preds}, {"target", target}});
            }),
            allocations_of([&] { by_place.update(preds, target); }));

  // What another member reads costs the first one nothing.
  MetricCollection alone, beside;
  alone.add("BinaryFairness", BinaryFairness(3));
  beside.add("BinaryFairness", BinaryFairness(3));
  beside.add("BinaryAccuracy", BinaryAccuracy());
  const auto fairness = allocations_of([&] {
    alone.update({{"preds", preds}, {"target", target}, {"groups", groups}});
  });
  BinaryAccuracy accuracy;
  const auto own = allocations_of(
      [&] { static_cast<Metric&>(accuracy).update(preds, target); });
  EXPECT_LE(allocations_of([&] {
              beside.update(
                  {{"groups", groups}, {"preds", preds}, {"target", target}});
            }),
            fairness + own);
}

}  // namespace
}  // namespace tally
