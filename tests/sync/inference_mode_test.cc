// Collectives in inference mode, and whether the group works after them.

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tally/sync/average_gradients.h"
#include "tally/sync/average_over_ranks.h"
#include "tally/sync/broadcast_parameters.h"
#include "tally/sync/collectives.h"
#include "tally/sync/statistics.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::sync {
namespace {

using ::tally::testkit::refusal_of;
using ::tally::testkit::run_thread_ranks;
using ::testing::HasSubstr;

constexpr int kRanks = 3;
// One that travels with the first round of an exchange, and one that does not.
constexpr std::int64_t kSizes[] = {6, 30'000};

class InferenceModeTest
    : public ::testing::TestWithParam<testkit::ThreadTransport> {
 protected:
  void run(const testkit::RankFunction& function) const {
    testkit::ThreadRanksOptions options;
    options.transport = GetParam();
    run_thread_ranks(kRanks, function, options);
  }
};

at::Tensor numbers(int rank, std::int64_t size) {
  return at::arange(size, at::kFloat).add(rank);
}

void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_TRUE(actual.equal(expected))
      << actual.sizes() << " from " << actual.flatten()[0].item();
}

// Every collective once.
void use_group(int rank, std::int64_t size) {
  const at::Tensor own = numbers(rank, size);
  std::vector<at::Tensor> all;
  for (int r = 0; r < kRanks; ++r) all.push_back(numbers(r, size));
  const at::Tensor sum = all[0].add(all[1]).add(all[2]);
  const std::int64_t rows = size / kRanks;

  const auto gathered = gather_all_tensors(own);
  for (int r = 0; r < kRanks; ++r) expect_equal(gathered[r], all[r]);
  expect_equal(all_gather(own), at::cat(all));
  expect_equal(all_reduce(own), sum);
  expect_equal(all_reduce(own, Reduction::kMax), all[2]);
  expect_equal(reduce_scatter(own), sum.narrow(0, rank * rows, rows));
  expect_equal(broadcast(own, 1), all[1]);
  expect_equal(ring_exchange(own), all[(rank + kRanks - 1) % kRanks]);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& one : all) {
    parts.push_back(one.narrow(0, rank * rows, rows));
  }
  expect_equal(all_to_all(own), at::cat(parts));
  EXPECT_TRUE(average_over_ranks(own, 1).allclose(sum.div(kRanks)));
  expect_equal(sum_statistics(own), sum);
}

// The gradient of one collective on all ranks.
void use_gradients(int rank, std::int64_t size) {
  const at::Tensor own = numbers(rank, size).requires_grad_();
  all_reduce(own.mul(2)).sum().backward();
  expect_equal(own.grad(), at::full({size}, 2.0 * kRanks));
}

TEST_P(InferenceModeTest, GroupsWorkInItAndAfterIt) {
  for (const std::int64_t size : kSizes) {
    // On every rank, or on that one.
    for (const int inside : {-1, 0, 2}) {
      run([&](const std::shared_ptr<Communicator>& group) {
        const int rank = group->rank();
        for (int round = 0; round < 2; ++round) {
          {
            std::optional<c10::InferenceMode> inference;
            if (inside < 0 || inside == rank) inference.emplace();
            use_group(rank, size);
          }
          use_group(rank, size);
          use_gradients(rank, size);
        }
      });
    }
  }
}

TEST_P(InferenceModeTest, BuffersThatAreMadeAnewInItWorkAfterIt) {
  run([&](const std::shared_ptr<Communicator>& group) {
    const int rank = group->rank();
    use_group(rank, kSizes[0]);
    // A call that fails may keep the buffers.
    for (int round = 0; round < 2; ++round) {
      const c10::InferenceMode inference;
      EXPECT_NE(
          refusal_of<SyncError>([&] {
            all_gather(numbers(0, 2).to(rank == 0 ? at::kInt : at::kLong));
          }),
          "nothing");
    }
    use_group(rank, kSizes[0]);
    use_gradients(rank, kSizes[1]);
  });
}

TEST_P(InferenceModeTest, GradientsThatItAveragesAreOrdinaryTensors) {
  run([&](const std::shared_ptr<Communicator>& group) {
    const int rank = group->rank();
    const at::Tensor parameter = at::ones({2}).requires_grad_();
    if (rank == 1) parameter.mutable_grad() = at::full({2}, 6.0f);
    {
      const c10::InferenceMode inference;
      average_gradients({parameter});
    }
    expect_equal(parameter.grad(), at::full({2}, 2.0f));
    parameter.mul(3).sum().backward();
    average_gradients({parameter});
    expect_equal(parameter.grad(), at::full({2}, 5.0f));
  });
}

TEST_P(InferenceModeTest, ParametersAreBroadcastInItAndAfterIt) {
  run([&](const std::shared_ptr<Communicator>& group) {
    const int rank = group->rank();
    const at::Tensor parameter = numbers(rank, 4).requires_grad_();
    {
      const c10::InferenceMode inference;
      const at::Tensor own = numbers(rank, 4);
      broadcast_parameters({parameter, own}, 1);
      expect_equal(own, numbers(1, 4));
    }
    expect_equal(parameter, numbers(1, 4));
    broadcast_parameters({parameter}, 0);
    parameter.mul(3).sum().backward();
    expect_equal(parameter.grad(), at::full({4}, 3.0f));
  });
}

TEST_P(InferenceModeTest, TensorsThatCannotBeWrittenToAreRefusedByAllRanks) {
  run([&](const std::shared_ptr<Communicator>& group) {
    const int rank = group->rank();
    at::Tensor fixed = numbers(rank, 4);
    if (rank != 0) {
      const c10::InferenceMode inference;
      fixed = numbers(rank, 4);
    }
    const auto broadcast_it = [&] { broadcast_parameters({fixed}, 0); };
    if (rank == 0) {
      EXPECT_THAT(refusal_of<SyncError>(broadcast_it),
                  HasSubstr("rank 1 failed"));
    } else {
      EXPECT_THAT(refusal_of(broadcast_it),
                  HasSubstr("got an inference tensor outside inference mode"));
    }
    expect_equal(fixed, numbers(rank, 4));

    const at::Tensor parameter = numbers(rank, 4).requires_grad_();
    parameter.mutable_grad() = fixed;
    const auto average_it = [&] { average_gradients({parameter}); };
    if (rank == 0) {
      EXPECT_THAT(refusal_of<SyncError>(average_it),
                  HasSubstr("rank 1 failed"));
    } else {
      EXPECT_THAT(refusal_of(average_it), HasSubstr("for parameter 0"));
    }
    use_group(rank, kSizes[0]);
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, InferenceModeTest,
                         ::testing::Values(testkit::ThreadTransport::kMemory,
                                           testkit::ThreadTransport::kGloo),
                         testkit::TransportName());

}  // namespace
}  // namespace tally::sync
