#include "tally/sync/average_gradients.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/testing/thread_ranks.h"

namespace tally::sync {
namespace {

using ::tally::testkit::collect_thread_ranks;
using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;

at::Tensor parameter(at::Tensor value, at::Tensor gradient = {}) {
  value.requires_grad_();
  value.mutable_grad() = std::move(gradient);
  return value;
}

SyncError as_sync_error(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const SyncError& sync_error) {
    return sync_error;
  }
  throw std::logic_error("expected a SyncError");
}

class AverageGradientsTest
    : public ::testing::TestWithParam<testkit::ThreadTransport> {
 protected:
  testkit::ThreadRanksOptions options() const {
    testkit::ThreadRanksOptions result;
    result.transport = GetParam();
    return result;
  }
};

TEST_P(AverageGradientsTest, EveryDtypeAndLayoutIsAveraged) {
  for (int size : {2, 3}) {
    run_thread_ranks(
        size,
        [&](std::shared_ptr<Communicator> group) {
          const double rank = group->rank() + 1.0;
          const double mean = (size + 1) / 2.0;
          std::vector<at::Tensor> parameters;
          for (at::ScalarType dtype :
               {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16,
                at::kComplexFloat, at::kComplexDouble}) {
            const at::Tensor gradient = at::full({2, 3}, rank).to(dtype);
            parameters.push_back(parameter(at::ones({2, 3}, dtype), gradient));
            parameters.push_back(
                parameter(at::ones({3, 2}, dtype).t(), gradient.clone()));
            parameters.push_back(
                parameter(at::ones({3, 2}, dtype), gradient.clone().t()));
          }
          parameters.push_back(parameter(at::ones({}), at::full({}, rank)));
          parameters.push_back(parameter(at::ones({0, 4}), at::ones({0, 4})));
          average_gradients(parameters);
          for (const at::Tensor& p : parameters) {
            EXPECT_EQ(p.grad().scalar_type(), p.scalar_type());
            EXPECT_TRUE(
                p.grad().allclose(at::full(p.sizes(), mean, p.options())))
                << p.scalar_type();
          }
        },
        options());
  }
}

TEST_P(AverageGradientsTest, MissingGradientsCountAsZeros) {
  run_thread_ranks(
      3,
      [](std::shared_ptr<Communicator> group) {
        const bool has = group->rank() == 1;
        at::Tensor one_rank =
            parameter(at::ones({2}), has ? at::full({2}, 6.0) : at::Tensor());
        at::Tensor no_rank = parameter(at::ones({2}));
        at::Tensor frozen = at::ones({2}, at::kLong);
        average_gradients({no_rank, one_rank, frozen}, group);
        EXPECT_TRUE(one_rank.grad().equal(at::full({2}, 2.0)));
        EXPECT_FALSE(no_rank.grad().defined());
      },
      options());
}

TEST_P(AverageGradientsTest, TakesTwoCollectivesAndIsBitEqual) {
  constexpr int kParameters = 100;
  std::vector<at::Tensor> results(2);
  run_thread_ranks(
      2,
      [&](std::shared_ptr<Communicator> group) {
        std::vector<at::Tensor> parameters;
        for (int i = 0; i < kParameters; ++i) {
          parameters.push_back(parameter(at::ones({7, i}), at::randn({7, i})));
        }
        average_gradients(parameters, group);
        EXPECT_EQ(group->collectives(), 2);
        results[group->rank()] = parameters.back().grad();
      },
      options());
  EXPECT_TRUE(results[0].equal(results[1]));
}

TEST_P(AverageGradientsTest, HalfPrecisionIsSummedInSinglePrecision) {
  run_thread_ranks(
      2,
      [](std::shared_ptr<Communicator> group) {
        at::Tensor p = parameter(at::ones({1}, at::kHalf),
                                 at::full({1}, 60000.0, at::kHalf));
        average_gradients({p}, group);
        EXPECT_EQ(p.grad().item<float>(), 60000.0f);
      },
      options());
}

TEST_P(AverageGradientsTest, GradientsKeepTheirMemory) {
  run_thread_ranks(
      2,
      [](std::shared_ptr<Communicator> group) {
        at::Tensor gradient = at::full({2}, group->rank() * 2.0);
        at::Tensor p = parameter(at::ones({2}), gradient);
        average_gradients({p}, group);
        EXPECT_TRUE(gradient.equal(at::ones({2})));
      },
      options());
}

TEST_P(AverageGradientsTest, DifferentParametersAreAMismatchEverywhere) {
  const auto variants = {
      std::pair{parameter(at::ones({2, 3})), parameter(at::ones({3, 2}))},
      std::pair{parameter(at::ones({2})),
                parameter(at::ones({2}, at::kDouble))},
  };
  for (const auto& variant : variants) {
    run_thread_ranks(
        2,
        [&](std::shared_ptr<Communicator> group) {
          const at::Tensor& mine =
              group->rank() == 0 ? variant.first : variant.second;
          at::Tensor p = parameter(at::ones({2}), at::full({2}, 5.0));
          try {
            average_gradients({p, mine}, group);
            ADD_FAILURE() << "averaged different parameters";
          } catch (const SyncError& error) {
            EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
            EXPECT_EQ(error.details().peers, std::vector<int>{1});
            EXPECT_THAT(error.message(), HasSubstr("rank 1: parameter 1: "));
          }
          EXPECT_TRUE(p.grad().equal(at::full({2}, 5.0)));
          average_gradients({p}, group);  // the group is still good
        },
        options());
  }
}

TEST_P(AverageGradientsTest, DifferentNumbersAreAMismatchEverywhere) {
  const auto errors = collect_thread_ranks(
      3,
      [](std::shared_ptr<Communicator> group) {
        std::vector<at::Tensor> parameters(group->rank() == 2 ? 2 : 1);
        for (auto& p : parameters) p = parameter(at::ones({2}), at::ones({2}));
        average_gradients(parameters, group);
      },
      options());
  for (const auto& error : errors) {
    EXPECT_EQ(as_sync_error(error).code(), SyncErrorCode::kMismatch);
    EXPECT_EQ(as_sync_error(error).details().peers, std::vector<int>{2});
  }
}

TEST_P(AverageGradientsTest, BadGradientFailsEveryRankAndSparesTheGroup) {
  run_thread_ranks(
      2,
      [](std::shared_ptr<Communicator> group) {
        at::Tensor good = parameter(at::ones({2}), at::full({2}, 5.0));
        at::Tensor other = parameter(at::ones({2}), at::ones({2}));
        if (group->rank() == 1)
          other.mutable_grad() = at::ones({2}).to_sparse();
        try {
          average_gradients({good, other}, group);
          ADD_FAILURE() << "averaged a sparse gradient";
        } catch (const c10::ValueError& error) {
          EXPECT_EQ(group->rank(), 1);
          EXPECT_THAT(error.what_without_backtrace(), HasSubstr("parameter 1"));
        } catch (const SyncError& error) {
          EXPECT_EQ(group->rank(), 0);
          EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
          EXPECT_THAT(error.message(), HasSubstr("expected dense gradients"));
        }
        EXPECT_TRUE(good.grad().equal(at::full({2}, 5.0)));
        average_gradients({good}, group);
      },
      options());
}

INSTANTIATE_TEST_SUITE_P(Transports, AverageGradientsTest,
                         ::testing::Values(testkit::ThreadTransport::kMemory,
                                           testkit::ThreadTransport::kGloo),
                         testkit::TransportName());

TEST(AverageGradientsAloneTest, DoesNothingButCheck) {
  at::Tensor p = parameter(at::ones({2}), at::full({2}, 5.0));
  average_gradients({p});
  EXPECT_TRUE(p.grad().equal(at::full({2}, 5.0)));
  EXPECT_THROW(average_gradients({p, at::Tensor()}), c10::ValueError);
}

}  // namespace
}  // namespace tally::sync
