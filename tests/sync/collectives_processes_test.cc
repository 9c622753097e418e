#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "tally/sync/average_over_ranks.h"
#include "tally/sync/collectives.h"
#include "tally/testing/ranks_test.h"

namespace tally::sync {
namespace {

void expect_all(const at::Tensor& tensor, double value) {
  EXPECT_TRUE(tensor.equal(at::full(tensor.sizes(), value, tensor.options())))
      << tensor.reshape({-1})[0].item<double>() << ", expected " << value;
}

RANKS_TEST(CollectivesProcessesTest, GradientsArriveFromOtherProcesses, 3) {
  const int rank = self.rank();
  for (std::int64_t size : {3, 3000}) {
    const auto leaf = [&](std::int64_t rows) {
      return at::full({rows}, rank + 1, at::kDouble).set_requires_grad(true);
    };
    // Each rank's loss weighs what it sees by its rank + 1: 6 in all.
    const auto gradient = [&](const at::Tensor& x, const at::Tensor& y) {
      x.mutable_grad() = at::Tensor();
      y.sum().mul(rank + 1).backward();
      return x.grad();
    };
    const at::Tensor x = leaf(size), uneven = leaf(rank * size);
    expect_all(gradient(uneven, all_gather(uneven)), 6);
    expect_all(gradient(x, all_reduce(x)), 6);
    expect_all(gradient(x, all_reduce(x, Reduction::kMean)), 2);
    expect_all(gradient(x, all_reduce(x, Reduction::kMax)), rank == 2 ? 6 : 0);
    expect_all(gradient(x, broadcast(x, 1)), rank == 1 ? 6 : 0);
    expect_all(gradient(uneven, ring_exchange(uneven)), (rank + 1) % 3 + 1);
    const at::Tensor parts = gradient(x, all_to_all(x));
    const at::Tensor scattered = gradient(x, reduce_scatter(x));
    for (int r = 0; r < 3; ++r) {
      expect_all(parts.narrow(0, r * size / 3, size / 3), r + 1);
      expect_all(scattered.narrow(0, r * size / 3, size / 3), r + 1);
    }
    const int count = rank + 1;
    const at::Tensor mean = average_over_ranks(x, count);
    EXPECT_NEAR(mean[0].item<double>(), 14.0 / 6, 1e-15);
    EXPECT_NEAR(gradient(x, mean)[0].item<double>(), 3 * count / 6.0 * count,
                1e-15);
  }
}

}  // namespace
}  // namespace tally::sync
