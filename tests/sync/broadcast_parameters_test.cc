#include "tally/sync/broadcast_parameters.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::sync {
namespace {

using ::tally::testkit::refusal_of;
using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;

class BroadcastParametersTest
    : public ::testing::TestWithParam<testkit::ThreadTransport> {
 protected:
  void run(int size, const testkit::RankFunction& function) const {
    testkit::ThreadRanksOptions options;
    options.transport = GetParam();
    run_thread_ranks(size, function, options);
  }
};

TEST_P(BroadcastParametersTest, EveryDtypeAndLayoutIsTheRootsAfterwards) {
  for (const int root : {0, 2}) {
    run(3, [&](std::shared_ptr<Communicator> group) {
      const double own = group->rank() == root ? 1.5 : 7;
      std::vector<at::Tensor> tensors, expected;
      for (const at::ScalarType dtype :
           {at::kBool, at::kByte, at::kShort, at::kLong, at::kHalf,
            at::kBFloat16, at::kFloat, at::kDouble, at::kComplexFloat,
            at::kComplexDouble}) {
        const at::Tensor values = at::arange(6, at::kDouble).view({2, 3});
        tensors.push_back(values.mul(own).to(dtype));
        expected.push_back(values.mul(1.5).to(dtype));
        tensors.push_back(values.mul(own).to(dtype).t());
        expected.push_back(values.mul(1.5).to(dtype).t());
        tensors.push_back(at::full({}, own).to(dtype));
        expected.push_back(at::full({}, 1.5).to(dtype));
        tensors.push_back(at::ones({0, 4}, dtype));
        expected.push_back(at::ones({0, 4}, dtype));
      }
      tensors.push_back(at::full({3}, own).set_requires_grad(true));
      expected.push_back(at::full({3}, 1.5));
      const void* const memory = tensors.back().const_data_ptr();
      broadcast_parameters(tensors, root);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        EXPECT_TRUE(tensors[i].equal(expected[i])) << i << tensors[i];
      }
      EXPECT_EQ(tensors.back().const_data_ptr(), memory);
      EXPECT_TRUE(tensors.back().is_leaf() && tensors.back().requires_grad());
      EXPECT_EQ(group->collectives(), 2);
    });
  }
}

TEST_P(BroadcastParametersTest, NothingToSendIsFine) {
  run(2, [](std::shared_ptr<Communicator> group) {
    broadcast_parameters({}, 0, group);
    broadcast_parameters({at::ones({0})}, 1, group);
    EXPECT_EQ(group->collectives(), 2);
  });
}

TEST_P(BroadcastParametersTest, DifferentTensorsAndRootsAreAMismatch) {
  run(2, [](std::shared_ptr<Communicator> group) {
    const bool first = group->rank() == 0;
    const at::Tensor good = at::full({2}, 5.0);
    const std::vector<at::Tensor> differ = {
        at::zeros({2}), first ? at::zeros({2, 3}) : at::zeros({3, 2})};
    EXPECT_THAT(refusal_of<SyncError>([&] { broadcast_parameters(differ); }),
                HasSubstr("parameter 1: Float [3, 2]"));
    EXPECT_THAT(refusal_of<SyncError>(
                    [&] { broadcast_parameters({good}, group->rank()); }),
                HasSubstr("from rank 1"));
    EXPECT_TRUE(good.equal(at::full({2}, 5.0)));
    broadcast_parameters({good});  // the group is still good
  });
}

TEST_P(BroadcastParametersTest, WhatOneRankRefusesTheOthersHear) {
  run(2, [](std::shared_ptr<Communicator> group) {
    const bool bad = group->rank() == 1;
    const at::Tensor good = at::full({2}, 5.0 + group->rank());
    const auto refused = [&](const at::Tensor& other, int root) {
      const auto call = [&] { broadcast_parameters({good, other}, root); };
      return bad ? refusal_of(call) : refusal_of<SyncError>(call);
    };
    const at::Tensor plain = at::ones({2});
    EXPECT_THAT(refused(bad ? plain.to_sparse() : plain, 0),
                HasSubstr("expected a dense tensor"));
    EXPECT_THAT(refused(bad ? at::Tensor() : plain, 0),
                HasSubstr("expected a tensor, got an undefined one"));
    EXPECT_THAT(refused(bad ? at::ones({1}).expand({2}) : plain, 0),
                HasSubstr("got an expanded tensor of sizes [2]"));
    EXPECT_THAT(refused(plain, bad ? 2 : 0),
                HasSubstr("expected a root below 2, got 2"));
    EXPECT_TRUE(good.equal(at::full({2}, 5.0 + group->rank())));
    broadcast_parameters({good});
    EXPECT_TRUE(good.equal(at::full({2}, 5.0)));
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, BroadcastParametersTest,
                         ::testing::Values(testkit::ThreadTransport::kMemory,
                                           testkit::ThreadTransport::kGloo),
                         testkit::TransportName());

TEST(BroadcastParametersAloneTest, DoesNothingButCheck) {
  const at::Tensor p = at::full({2}, 5.0);
  broadcast_parameters({p});
  EXPECT_TRUE(p.equal(at::full({2}, 5.0)));
  EXPECT_THROW(broadcast_parameters({p, at::Tensor()}), c10::ValueError);
  EXPECT_THROW(broadcast_parameters({p}, 1), c10::ValueError);
}

}  // namespace
}  // namespace tally::sync
