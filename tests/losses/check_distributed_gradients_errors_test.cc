#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tally/losses/check_distributed_gradients.h"
#include "tally/sync/collectives.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

using sync::Communicator;
using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::learned_rows;
using testkit::normal_rows;
using testkit::run_thread_ranks;
using Tensors = std::vector<at::Tensor>;
using Group = std::shared_ptr<Communicator>;
using Options = CheckDistributedGradientsOptions;

/// Rank 1 throws E with this text, the others kPeerFailed with it; all of them
/// can go on.
template <class E>
void expect_failure(const std::string& text,
                    const std::function<void(bool bad)>& call) {
  run_thread_ranks(3, [&](Group group) {
    const bool bad = group->rank() == 1;
    try {
      call(bad);
      ADD_FAILURE() << "rank " << group->rank() << " did not throw";
    } catch (const SyncError& error) {
      EXPECT_FALSE(bad);
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
      EXPECT_THAT(error.message(), HasSubstr(text));
    } catch (const E& error) {
      EXPECT_TRUE(bad);
      EXPECT_THAT(sync::describe(error), HasSubstr(text));
    }
    EXPECT_EQ(sync::all_reduce(at::ones({})).item<float>(), 3);
  });
}

TEST(CheckDistributedGradientsErrorsTest, ErrorsOfTheLossReachEveryRank) {
  for (const bool whole : {true, false}) {
    for (const bool gathers : {true, false}) {
      expect_failure<std::runtime_error>("out of cheese", [&](bool bad) {
        const at::Tensor w = learned_rows({3}, 1);
        check_distributed_gradients(
            [&](const Tensors& batch) {
              const bool alone = sync::default_communicator()->size() == 1;
              if (bad && alone == whole) {
                throw std::runtime_error("out of cheese");
              }
              const at::Tensor rows = batch[0].matmul(w);
              return gathers ? sync::all_gather(rows).mean() : rows.mean();
            },
            {normal_rows({6, 3}, 2)}, {{"w", w}});
      });
    }
  }
}

TEST(CheckDistributedGradientsErrorsTest, BadArgumentsAreRefusedOnEveryRank) {
  const auto refused = [](const std::string& text, auto change) {
    expect_failure<c10::ValueError>(text, [&](bool bad) {
      const at::Tensor w = learned_rows({3}, 1);
      std::function<at::Tensor(const Tensors&)> loss = [&](const Tensors& b) {
        return b[0].matmul(w).mean();
      };
      Tensors batch{normal_rows({6, 3}, 2), at::arange(6)};
      std::vector<std::pair<std::string, at::Tensor>> parameters{{"w", w}};
      Options options;
      if (bad) change(loss, batch, parameters, options);
      check_distributed_gradients(loss, batch, parameters, options);
    });
  };
  refused("expected a loss, got none",
          [](auto& loss, auto&, auto&, auto&) { loss = nullptr; });
  refused("a graph, got nothing", [](auto& loss, auto&, auto&, auto&) {
    loss = [](const Tensors&) { return at::Tensor(); };
  });
  refused("a graph, got CPUDoubleType [6]",
          [](auto& loss, auto&, auto&, auto&) {
            loss = [](const Tensors& b) { return b[0].sum(1); };
          });
  refused("at least one tensor",
          [](auto&, auto& batch, auto&, auto&) { batch.clear(); });
  refused("got none in input 1",
          [](auto&, auto& batch, auto&, auto&) { batch[1] = at::ones({}); });
  refused("expected 6 rows in input 1, got 5",
          [](auto&, auto& batch, auto&, auto&) { batch[1] = at::ones({5}); });
  refused("'w' to be a leaf", [](auto&, auto&, auto& parameters, auto&) {
    parameters[0].second = at::ones({3});
  });
  refused("add up to 6, got [6]",
          [](auto&, auto&, auto&, auto& options) { options.rows({6}); });
  refused("add up to 6, got [7, -1, 0]",
          [](auto&, auto&, auto&, auto& options) {
            options.rows({7, -1, 0});
          });
  refused("a tolerance of at least 0",
          [](auto&, auto&, auto&, auto& options) { options.tolerance(-1); });
}

TEST(CheckDistributedGradientsErrorsTest, DifferentBatchesAreAMismatch) {
  run_thread_ranks(2, [](Group group) {
    const at::Tensor w = learned_rows({3}, 1);
    try {
      check_distributed_gradients(
          [&](const Tensors& batch) { return batch[0].matmul(w).mean(); },
          {normal_rows({6, 3}, group->rank())}, {{"w", w}});
      ADD_FAILURE() << "checked different batches";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_THAT(error.message(), HasSubstr("rank 1: input 0: Double [6, 3], "
                                             "values with checksum"));
    }
  });
}

}  // namespace
}  // namespace tally::losses
