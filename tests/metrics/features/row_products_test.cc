#include "tally/metrics/common/row_products.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "tally/testing/compare.h"
#include "tally/tests/testing/vector_targets.h"

namespace tally {
namespace {

struct MeanAndScatter {
  at::Tensor mean, scatter;
};

MeanAndScatter found_of(const at::Tensor& rows) {
  const std::int64_t count = rows.size(0), dims = rows.size(1);
  MeanAndScatter found{at::empty({dims}, at::kDouble),
                       at::empty({dims, dims}, at::kDouble)};
  auto* const mean = found.mean.mutable_data_ptr<double>();
  auto* const scatter = found.scatter.mutable_data_ptr<double>();
  if (rows.scalar_type() == at::kFloat) {
    internal::mean_and_scatter(rows.const_data_ptr<float>(), count, dims, mean,
                               scatter);
  } else {
    internal::mean_and_scatter(rows.const_data_ptr<double>(), count, dims, mean,
                               scatter);
  }
  return found;
}

// Of whole numbers, and as many rows as make their mean one: without rounding.
TEST(MeanAndScatterTest, AreExactForWholeNumbers) {
  testkit::for_each_vector_target([] {
    for (const std::int64_t dims : {1, 2, 3, 5, 23, 24, 25, 49, 96}) {
      for (const std::int64_t half : {1, 2, 64, 65, 150}) {
        const at::Tensor values =
            at::arange(half * dims, at::kDouble).reshape({half, dims});
        const at::Tensor steps = values.mul(values).add(7).remainder(23);
        // Each deviation with its negative.
        const at::Tensor deviations = at::cat({steps, steps.neg()});
        const at::Tensor means = at::arange(dims, at::kDouble).add(1000);
        const at::Tensor expected = deviations.t().matmul(deviations);
        for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
          const MeanAndScatter found = found_of(deviations.add(means).to(type));
          EXPECT_TRUE(found.mean.equal(means)) << dims << ", " << half;
          EXPECT_TRUE(found.scatter.equal(expected)) << dims << ", " << half;
        }
      }
    }
  });
}

TEST(MeanAndScatterTest, TheNumberOfThreadsDecidesNothing) {
  const int threads = at::get_num_threads();
  for (const auto& [count, dims] :
       {std::pair<int, int>{5000, 64}, {700, 300}, {40000, 3}}) {
    const at::Tensor rows = at::randn({count, dims}).add(10);
    at::set_num_threads(1);
    const MeanAndScatter one = found_of(rows);
    for (const int several : {2, 3, 7}) {
      at::set_num_threads(several);
      const MeanAndScatter found = found_of(rows);
      EXPECT_TRUE(testkit::same_bits(found.mean, one.mean));
      EXPECT_TRUE(testkit::same_bits(found.scatter, one.scatter));
    }
  }
  at::set_num_threads(threads);
}

TEST(MeanAndScatterTest, AnOffsetCostsNoPrecision) {
  const at::Tensor steps = at::randn({500, 30}, at::kDouble);
  const at::Tensor moved = steps.add(1e6);
  const at::Tensor expected = found_of(moved.sub(1e6)).scatter;
  EXPECT_TRUE(found_of(moved).scatter.allclose(expected, 1e-12, 1e-9));
}

TEST(MeanAndScatterTest, NaNStaysInItsColumn) {
  at::Tensor rows = at::randn({100, 30});
  rows[40][7] = std::numeric_limits<float>::quiet_NaN();
  const MeanAndScatter found = found_of(rows);
  EXPECT_EQ(found.mean.isnan().sum().item<std::int64_t>(), 1);
  EXPECT_EQ(found.scatter.isnan().sum().item<std::int64_t>(), 59);
}

}  // namespace
}  // namespace tally
