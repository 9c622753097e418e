#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/sync/collectives.h"
#include "tally/testing/gradients.h"
#include "tally/testing/matchers.h"
#include "tally/testing/ranks_test.h"

namespace tally::testkit {
namespace {

using ::testing::Not;
using Tensors = std::vector<at::Tensor>;

at::Tensor sum_of_all(const Tensors& rows) {
  return sync::all_reduce(rows[0].square().sum());
}

RANKS_TEST(MatchersOverProcessesTest, SeeTheOtherRanks, 2) {
  EXPECT_THAT(at::arange(3), SameOnAllRanks());
  EXPECT_THAT(at::full({}, self.rank()), Not(SameOnAllRanks()));
  const at::Tensor x = at::arange(5, at::kDouble);
  EXPECT_TRUE(EqualsOneProcess(sum_of_all, {x}));
  EXPECT_FALSE(
      EqualsOneProcess([](const Tensors& rows) { return rows[0].sum(); }, {x}));
  ExpectGradientsOfOneProcess(sum_of_all, {x});
}

}  // namespace
}  // namespace tally::testkit
