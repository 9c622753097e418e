#include "tally/metrics/core/shared_work.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tally::internal {
namespace {

struct Counter {
  int made = 0;
  int find(const std::string& key, const at::Tensor& input) {
    return *SharedWork::of<int>(key, {input}, [this] { return ++made; });
  }
};

TEST(SharedWorkTest, IsDoneOnceForTheSameInputs) {
  const at::Tensor a = at::zeros({2}), b = at::zeros({2});
  Counter counter;
  const SharedWork work;
  EXPECT_EQ(counter.find("x", a), 1);
  EXPECT_EQ(counter.find("x", a), 1);
  EXPECT_EQ(counter.find("y", a), 2);
  EXPECT_EQ(counter.find("x", b), 3);
  {
    const SharedWork inner;
    EXPECT_EQ(counter.find("x", a), 1);
  }
  EXPECT_EQ(counter.find("x", a), 1);
}

TEST(SharedWorkTest, IsForgottenWithTheScope) {
  const at::Tensor a = at::zeros({2});
  Counter counter;
  {
    const SharedWork work;
    counter.find("x", a);
  }
  EXPECT_EQ(counter.find("x", a), 2);
  EXPECT_EQ(counter.find("x", a), 3);
}

TEST(SharedWorkTest, IsNotKeptIfItThrows) {
  const at::Tensor a = at::zeros({2});
  const SharedWork work;
  EXPECT_THROW(SharedWork::of<int>(
                   "x", {a}, []() -> int { throw std::runtime_error("no"); }),
               std::runtime_error);
  Counter counter;
  EXPECT_EQ(counter.find("x", a), 1);
}

}  // namespace
}  // namespace tally::internal
