#include "tally/training/gradient_averager.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/duplicate.h"
#include "tally/testing/matchers.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/refusal.h"

namespace tally::training {
namespace {

using sync::Communicator;
using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::refusal_of;

/// Three layers, of which a loss may use two.
struct Model {
  Model() {
    const auto random = at::detail::createCPUGenerator(5);
    const auto layer = [&](std::int64_t in, std::int64_t out) {
      return at::randn({in, out}, random, at::kDouble).requires_grad_();
    };
    parameters = {layer(4, 30), layer(30, 20), layer(20, 1), layer(7, 1)};
  }
  at::Tensor forward(const at::Tensor& x) const {
    return x.matmul(parameters[0])
        .tanh()
        .matmul(parameters[1])
        .tanh()
        .matmul(parameters[2]);
  }
  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> list;
    for (const at::Tensor& p : parameters) list.push_back(p.grad());
    return list;
  }
  void zero_grad() {
    for (at::Tensor& p : parameters) p.mutable_grad() = at::Tensor();
  }

  std::vector<at::Tensor> parameters;
};

at::Tensor rows_of(int rank, int step) {
  const auto random = at::detail::createCPUGenerator(100 * step + rank);
  // The last of several ranks may have none.
  return at::randn({rank == 2 ? 0 : rank + 1, 4}, random, at::kDouble);
}

GradientAveragerOptions small_buckets() {
  return GradientAveragerOptions().bucket_bytes(200);
}

void run_ranks(int ranks, const testkit::RankFunction& function) {
  testkit::ThreadRanksOptions options;
  options.transport = testkit::ThreadTransport::kGloo;
  testkit::run_thread_ranks(ranks, function, options);
}

void expect_close(const std::vector<at::Tensor>& a,
                  const std::vector<at::Tensor>& b, bool same_bits) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].defined(), b[i].defined()) << i;
    if (!a[i].defined()) continue;
    EXPECT_TRUE(same_bits ? a[i].equal(b[i]) : a[i].allclose(b[i], 1e-13, 0))
        << i;
  }
}

class GradientAveragerTest : public ::testing::TestWithParam<int> {};

TEST_P(GradientAveragerTest, IsAverageGradients) {
  std::vector<std::vector<at::Tensor>> of_ranks(GetParam());
  run_ranks(GetParam(), [&](const auto& communicator) {
    const int rank = communicator->rank();
    Model expected, model;
    GradientAverager averager(model.parameters, small_buckets());
    EXPECT_EQ(averager.buckets(), 3);
    for (int step = 0; step < 3; ++step) {
      expected.zero_grad();
      expected.forward(rows_of(rank, step)).square().sum().backward();
      sync::average_gradients(expected.parameters);
      model.zero_grad();
      averager.backward(model.forward(rows_of(rank, step)).square().sum());
      expect_close(model.gradients(), expected.gradients(),
                   communicator->size() < 3);
      EXPECT_FALSE(model.parameters[3].grad().defined());
    }
    of_ranks[rank] = model.gradients();
  });
  for (const auto& gradients : of_ranks) {
    expect_close(gradients, of_ranks[0], /*same_bits=*/true);
  }
}

// Gradients over all buckets, and of ranks that use different layers.
TEST_P(GradientAveragerTest, RanksMayUseDifferentParameters) {
  run_ranks(GetParam(), [&](const auto& communicator) {
    Model expected, model;
    GradientAverager averager(model.parameters);
    EXPECT_EQ(averager.buckets(), 1);
    const auto loss_of = [&](const Model& m) {
      return communicator->rank() % 2 == 0 ? m.parameters[1].square().sum()
                                           : m.parameters[3].square().sum();
    };
    loss_of(expected).backward();
    sync::average_gradients(expected.parameters);
    averager.backward(loss_of(model));
    expect_close(model.gradients(), expected.gradients(), false);
    EXPECT_EQ(model.parameters[3].grad().defined(), communicator->size() > 1);
    EXPECT_FALSE(model.parameters[0].grad().defined());
  });
}

TEST_P(GradientAveragerTest, MicroBatchesAccumulateWithoutCommunication) {
  run_ranks(GetParam(), [&](const auto& communicator) {
    const int rank = communicator->rank();
    Model expected, model;
    const auto group = sync::duplicate();
    GradientAverager averager(model.parameters,
                              small_buckets().communicator(group));
    const std::int64_t before = group->collectives();
    for (int step = 0; step < 3; ++step) {
      const at::Tensor x = rows_of(rank, step);
      expected.forward(x).square().sum().backward();
      const at::Tensor loss = model.forward(x).square().sum();
      if (step < 2) {
        loss.backward();
        EXPECT_EQ(group->collectives(), before);
      } else {
        averager.backward(loss);
      }
    }
    // A sum for each bucket, and what each rank has.
    EXPECT_EQ(group->collectives() - before,
              communicator->size() > 1 ? averager.buckets() + 1 : 0);
    sync::average_gradients(expected.parameters);
    expect_close(model.gradients(), expected.gradients(), false);
  });
}

// Its backward pass is collective, in another group.
TEST_P(GradientAveragerTest, NeverMeetsTheLosssBackwardPass) {
  run_ranks(GetParam(), [&](const auto& communicator) {
    Model expected, model;
    GradientAverager averager(model.parameters, small_buckets());
    losses::MetricLoss loss(MeanSquaredError(),
                            losses::MetricLossOptions().gradient_flow(
                                sync::GradientFlow::kAllRanks));
    for (int step = 0; step < 5; ++step) {
      const at::Tensor x = rows_of(communicator->rank(), step);
      const at::Tensor y = at::ones({x.size(0), 1}, at::kDouble);
      expected.zero_grad();
      loss->forward(expected.forward(x), y).backward();
      sync::average_gradients(expected.parameters);
      model.zero_grad();
      averager.backward(loss->forward(model.forward(x), y));
      expect_close(model.gradients(), expected.gradients(), false);
    }
  });
}

TEST_P(GradientAveragerTest, ClipsWhatItAveraged) {
  std::vector<double> norms(GetParam());
  run_ranks(GetParam(), [&](const auto& communicator) {
    const int rank = communicator->rank();
    Model expected, model;
    GradientAverager averager(model.parameters, small_buckets());
    expected.forward(rows_of(rank, 0)).square().sum().backward();
    const double norm = clip_grad_norm(expected.parameters, 0.1);
    averager.backward(model.forward(rows_of(rank, 0)).square().sum());
    norms[rank] = averager.clip_grad_norm(0.1);
    EXPECT_NEAR(norms[rank], norm, 1e-12 * norm);
    expect_close(model.gradients(), expected.gradients(), false);
    EXPECT_THROW(averager.clip_grad_norm(-1), c10::ValueError);
  });
  for (const double norm : norms) EXPECT_EQ(norm, norms[0]);
}

TEST_P(GradientAveragerTest, EveryDtypeIsSummedAsByAverageGradients) {
  run_ranks(GetParam(), [&](const auto& communicator) {
    const double rank = communicator->rank() + 1;
    std::vector<at::Tensor> expected, parameters;
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat,
                                       at::kDouble, at::kComplexFloat}) {
      for (auto* list : {&expected, &parameters}) {
        list->push_back(at::full({2, 3}, 3.3, dtype).t().requires_grad_());
        list->push_back(at::full({}, 3.3, dtype).requires_grad_());
      }
    }
    parameters.push_back(at::ones({2}, at::kLong));  // is not trained
    GradientAverager averager(parameters);
    EXPECT_EQ(averager.buckets(), 2);
    const auto loss_of = [&](const std::vector<at::Tensor>& list) {
      at::Tensor loss = at::zeros({}, at::kDouble);
      for (const at::Tensor& p : list) {
        if (p.requires_grad()) loss = loss + p.abs().mul(rank).sum();
      }
      return loss;
    };
    loss_of(expected).backward();
    sync::average_gradients(expected);
    averager.backward(loss_of(parameters));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(
          parameters[i].grad().allclose(expected[i].grad(), 1e-6, 1e-6));
      EXPECT_EQ(parameters[i].grad().scalar_type(), expected[i].scalar_type());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GradientAveragerTest,
                         ::testing::Values(1, 2, 3, 5),
                         ::testing::PrintToStringParamName());

// --- Failures

// What a rank throws before, in or after its backward pass.
TEST(GradientAveragerErrorsTest, AFailureOnOneRankReachesTheOthers) {
  struct Failure {
    const char* text;
    std::function<at::Tensor(const Model&)> loss;
  };
  const Failure failures[] = {
      {"does not require grad",
       [](const Model&) { return at::ones({}, at::kDouble); }},
      {"no more",
       [](const Model& model) {
         const at::Tensor hidden = model.parameters[1].square();
         hidden.register_hook([](const at::Tensor&) -> at::Tensor {
           throw std::runtime_error("no more");
         });
         return model.forward(at::ones({1, 4}, at::kDouble)).sum() +
                hidden.sum();
       }},
      {"expected dense gradients",
       [](const Model& model) {
         model.parameters[3].mutable_grad() =
             at::ones({7, 1}, at::kDouble).to_sparse();
         return model.forward(at::ones({1, 4}, at::kDouble)).sum();
       }},
  };
  for (const Failure& failure : failures) {
    run_ranks(3, [&](const auto& communicator) {
      Model expected, model;
      GradientAverager averager(model.parameters, small_buckets());
      const at::Tensor x = rows_of(1, communicator->rank());
      if (communicator->rank() == 1) {
        EXPECT_THAT(refusal_of<std::exception>(
                        [&] { averager.backward(failure.loss(model)); }),
                    HasSubstr(failure.text));
      } else {
        const at::Tensor loss = model.forward(x).sum();
        try {
          averager.backward(loss);
          ADD_FAILURE() << "averaged without rank 1";
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
          EXPECT_THAT(error.message(), HasSubstr(failure.text));
        }
        // They are the rank's own.
        expected.forward(x).sum().backward();
        expect_close(model.gradients(), expected.gradients(), true);
      }
      model.zero_grad();
      expected.zero_grad();
      averager.backward(model.forward(x).sum());
      expected.forward(x).sum().backward();
      sync::average_gradients(expected.parameters);
      expect_close(model.gradients(), expected.gradients(), false);
    });
  }
}

TEST(GradientAveragerErrorsTest, BadUseIsRefusedOnEveryRank) {
  const auto check = [](const char* text, SyncErrorCode code,
                        const auto& make) {
    run_ranks(2, [&](const auto& communicator) {
      const Model model;
      const bool odd = communicator->rank() == 1;
      try {
        odd ? make(model)
            : void(GradientAverager(model.parameters, small_buckets()));
        ADD_FAILURE() << text;
      } catch (const SyncError& error) {
        EXPECT_EQ(error.code(), code);
        EXPECT_THAT(error.message(), HasSubstr(text));
        EXPECT_TRUE(!odd || code == SyncErrorCode::kMismatch);
      } catch (const c10::ValueError& error) {
        EXPECT_TRUE(odd);
        EXPECT_THAT(error.what_without_backtrace(), HasSubstr(text));
      }
      GradientAverager good(model.parameters);
      good.backward(model.parameters[0].sum());
    });
  };
  check("bucket_bytes 200, 2 parameters", SyncErrorCode::kMismatch,
        [](const Model& model) {
          GradientAverager({model.parameters[0], model.parameters[2]},
                           small_buckets());
        });
  check("bucket_bytes 300", SyncErrorCode::kMismatch, [](const Model& model) {
    GradientAverager(model.parameters,
                     GradientAveragerOptions().bucket_bytes(300));
  });
  check("expected bucket_bytes to be positive, got 0",
        SyncErrorCode::kPeerFailed, [](const Model& model) {
          GradientAverager(model.parameters,
                           GradientAveragerOptions().bucket_bytes(0));
        });
  check("expected parameters that are leaves", SyncErrorCode::kPeerFailed,
        [](const Model& model) {
          GradientAverager({model.parameters[0].mul(2)}, small_buckets());
        });
  check("an undefined tensor", SyncErrorCode::kPeerFailed, [](const Model&) {
    GradientAverager({at::Tensor()}, small_buckets());
  });
}

TEST(GradientAveragerErrorsTest, HooksEndWithIt) {
  run_ranks(2, [](const auto&) {
    Model own;
    { const GradientAverager averager(own.parameters); }
    own.forward(at::ones({1, 4}, at::kDouble)).sum().backward();
    EXPECT_TRUE(own.parameters[0].grad().defined());
  });
}

class GradientAveragerFaultsTest : public ::testing::Test {
 protected:
  static testkit::RanksOptions ranks_options() {
    testkit::RanksOptions options;
    options.timeout = testkit::kLongTimeout;
    return options;
  }
};

RANKS_TEST_F(GradientAveragerFaultsTest, ALostRankIsAnErrorAtOnce, 3) {
  Model model;
  GradientAverager averager(model.parameters, small_buckets());
  const at::Tensor hidden = model.parameters[1].square();
  if (self.rank() == 2) {
    hidden.register_hook([&](const at::Tensor&) -> at::Tensor { self.die(); });
  }
  const at::Tensor x = at::ones({2, 4}, at::kDouble);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_SYNC_ERROR(averager.backward(model.forward(x).sum() + hidden.sum()),
                    SyncErrorCode::kPeerLost);
  EXPECT_LE(std::chrono::steady_clock::now() - start, testkit::kAtOnce);
  EXPECT_TRUE(model.parameters[0].grad().defined());
  EXPECT_SYNC_ERROR(averager.backward(model.forward(x).sum()),
                    SyncErrorCode::kGroupBroken);
}

THREAD_RANKS_TEST(GradientAveragerTest, RunsOnThreadsInMemory, 2, 3) {
  Model model;
  GradientAverager averager(model.parameters, small_buckets());
  averager.backward(model.forward(at::ones({2, 4}, at::kDouble)).sum());
  EXPECT_THAT(model.parameters[0].grad(), testkit::SameOnAllRanks());
}

}  // namespace
}  // namespace tally::training
