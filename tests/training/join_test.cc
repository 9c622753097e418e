#include "tally/training/join.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/map.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/sync/average_gradients.h"
#include "tally/sync/collectives.h"
#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"
#include "tally/training/stack.h"
#include "tally/training/sync_batch_norm.h"

namespace tally::training {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using testkit::near;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using Batches = std::vector<at::Tensor>;

at::Tensor random(std::vector<std::int64_t> sizes, std::uint64_t seed) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble);
}

// As many batches as the rank's number, of one row each, which says the rank.
Batches batches_of(int rank) {
  Batches batches;
  for (int i = 0; i < rank; ++i) batches.push_back(at::full({1, 2}, rank));
  return batches;
}
const at::Tensor& no_rows() {
  static const at::Tensor rows = at::zeros({0, 2});
  return rows;
}

std::int64_t sum_of_rows(const at::Tensor& batch) {
  return sync::all_reduce(at::tensor(batch.size(0)), sync::Reduction::kSum)
      .item<std::int64_t>();
}

TEST(JoinTest, RunsUntilAllRanksHaveRunOut) {
  for (int ranks : {1, 2, 3, 5}) {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      const int rank = communicator->rank();
      const Batches batches = batches_of(rank);
      std::vector<std::int64_t> rows, own;
      for (auto& batch : join(batches, no_rows())) {
        own.push_back(batch.size(0));
        rows.push_back(sum_of_rows(batch));
      }
      // The ranks run out one after the other.
      ASSERT_EQ(rows.size(), ranks - 1u);
      for (int step = 0; step < ranks - 1; ++step) {
        EXPECT_EQ(own[step], step < rank ? 1 : 0);
        EXPECT_EQ(rows[step], ranks - 1 - step);
      }
      // One before the first step; the steps have one of their own.
      EXPECT_EQ(communicator->collectives(), 1 + (ranks - 1));
    });
  }
}

TEST(JoinTest, StepsWithoutAnExchangeTakeOne) {
  run_thread_ranks(3, [](const auto& communicator) {
    const Batches batches = batches_of(communicator->rank());
    int steps = 0;
    for (const auto& batch : join(batches, no_rows())) {
      if (++steps == 2) sum_of_rows(batch);
    }
    EXPECT_EQ(steps, 2);
    EXPECT_EQ(communicator->collectives(), 1 + 2);

    const Batches nothing;
    for (const auto& batch : join(nothing, no_rows())) {
      ADD_FAILURE() << batch;
    }
    EXPECT_EQ(communicator->collectives(), 1 + 2 + 1);
  });
}

// Others may wait for its result in another step.
TEST(JoinTest, DoesNotCountExchangesInTheBackground) {
  run_thread_ranks(3, [](const auto& communicator) {
    const Batches batches = batches_of(communicator->rank());
    MeanMetric mean;
    std::vector<PendingValue<at::Tensor>> results;
    Batches means;
    for (const auto& batch : join(batches, no_rows())) {
      mean.update(batch);
      results.push_back(mean.sync_async());
      if (communicator->rank() == 1) means.push_back(results.back().wait());
    }
    ASSERT_EQ(results.size(), 2u);
    if (communicator->rank() == 1) {
      EXPECT_DOUBLE_EQ(means[0].item<double>(), 1.5);
      return;
    }
    EXPECT_DOUBLE_EQ(results[0].wait().item<double>(), 1.5);
  });
}

// A few steps of a model with a norm, on rows of which each rank has a part.
Batches parameters_after(const std::vector<Batches>& steps_of_rank, int rank,
                         std::vector<double>& values) {
  torch::nn::Sequential model(torch::nn::Linear(2, 4), SyncBatchNorm1d(4),
                              torch::nn::Linear(4, 1));
  model->to(at::kDouble);
  std::uint64_t seed = 100;
  for (const at::Tensor& parameter : model->parameters()) {
    const at::NoGradGuard no_grad;
    at::Tensor(parameter).copy_(random(parameter.sizes().vec(), ++seed));
  }
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  losses::MetricLoss loss{MeanSquaredError()};
  for (auto& batch :
       join(steps_of_rank[rank], at::zeros({0, 3}, at::kDouble))) {
    optimizer.zero_grad();
    const at::Tensor value = loss->forward(model->forward(batch.slice(1, 0, 2)),
                                           batch.slice(1, 2, 3));
    value.backward();
    sync::average_gradients(model->parameters());
    optimizer.step();
    values.push_back(value.item<double>());
  }
  values.push_back(
      loss->metric().compute_results().begin()->second.item<double>());
  return model->parameters();
}

TEST(JoinTest, TrainsOnTheRowsThatAreLeft) {
  for (int ranks : {2, 3, 5}) {
    std::vector<Batches> steps_of_rank(ranks);
    std::vector<Batches> one(1);
    for (int step = 0; step < 2 * ranks; ++step) {
      Batches all;
      for (int rank = 0; rank < ranks; ++rank) {
        if (step > 2 * rank + 1) continue;
        all.push_back(random({2 + rank, 3}, 10 * step + rank));
        steps_of_rank[rank].push_back(all.back());
      }
      one[0].push_back(at::cat(all));
    }
    std::vector<double> expected_values;
    const Batches expected = parameters_after(one, 0, expected_values);
    run_thread_ranks(ranks, [&](const auto& communicator) {
      std::vector<double> values;
      const Batches parameters =
          parameters_after(steps_of_rank, communicator->rank(), values);
      ASSERT_EQ(values.size(), expected_values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(values[i], expected_values[i], 1e-9) << i;
      }
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        EXPECT_TRUE(near(parameters[i], expected[i], {1e-8, 1e-9})) << i;
      }
    });
  }
}

struct Numbers : torch::data::datasets::Dataset<Numbers> {
  torch::data::Example<> get(std::size_t index) override {
    const auto number = static_cast<double>(index);
    return {at::full({2}, number), at::full({}, number)};
  }
  std::optional<std::size_t> size() const override { return 10; }
};

TEST(JoinTest, TakesLoadersWithWorkers) {
  for (std::size_t workers : {0, 2}) {
    run_thread_ranks(3, [&](const auto&) {
      Numbers set;
      Stack<> collate(set.get(0));
      ShardSampler sampler(10);
      const auto loader = torch::data::make_data_loader(
          set.map(collate), sampler,
          torch::data::DataLoaderOptions(1).workers(workers));
      auto joined =
          join(loader, collate.empty_batch(), JoinOptions().sampler(sampler));
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        sampler.set_epoch(epoch);
        std::vector<std::int64_t> positions;
        MeanMetric mean;
        for (auto& batch : joined) {
          mean.update(batch.target);
          sampler.step();
          positions.push_back(sampler.position());
        }
        EXPECT_THAT(positions, ElementsAre(3, 6, 9, 10));
        EXPECT_DOUBLE_EQ(mean.compute().template item<double>(), 4.5);
      }
    });
  }
}

TEST(JoinTest, RanksLeaveItTogether) {
  run_thread_ranks(3, [](const auto& communicator) {
    const Batches batches = batches_of(communicator->rank());
    for (int pass = 0; pass < 2; ++pass) {
      for (auto& batch : join(batches, no_rows())) {
        if (sum_of_rows(batch) == 1) break;
      }
      EXPECT_EQ(sum_of_rows(no_rows()), 0);
    }
    // A batch is the loop's own, and the container's stay as they are.
    for (auto& batch : join(batches, no_rows())) batch = at::Tensor();
    for (const at::Tensor& batch : batches) EXPECT_TRUE(batch.defined());
  });
}

TEST(JoinTest, MismatchesNameIt) {
  run_thread_ranks(2, [](const auto& communicator) {
    MeanMetric mean;
    EXPECT_THAT(
        refusal_of<sync::SyncError>([&] {
          for (const auto& batch : batches_of(communicator->rank() + 1)) {
            mean.update(batch);
            sum_of_rows(batch);
          }
          mean.compute();
        }),
        AllOf(HasSubstr("kMismatch: the ranks are in different calls: rank 0: "
                        "compute() of MeanMetric"),
              HasSubstr("takes part in their steps by training::join")));
  });
}

TEST(JoinTest, AllRanksMakeTheLoop) {
  run_thread_ranks(2, [](const auto& communicator) {
    const Batches batches = batches_of(2);
    const auto step = [](const at::Tensor& batch) { sum_of_rows(batch); };
    const std::string text = refusal_of<sync::SyncError>([&] {
      if (communicator->rank() == 0) {
        for (const auto& batch : batches) step(batch);
      } else {
        for (const auto& batch : join(batches, no_rows())) step(batch);
      }
    });
    EXPECT_THAT(text, HasSubstr("rank 1: training::join, first batch"));
    // One that leaves it alone.
    EXPECT_THAT(refusal_of<sync::SyncError>([&] {
                  for (const auto& batch : join(batches, no_rows())) {
                    step(batch);
                    if (communicator->rank() == 0) break;
                  }
                  step(no_rows());
                }),
                HasSubstr("kMismatch: the ranks are not all in a loop of "
                          "training::join: rank 0: outside of one, rank 1: in "
                          "one"));
    EXPECT_EQ(sum_of_rows(no_rows()), 0);
  });
}

TEST(JoinTest, RefusesASecondLoopWithinTheFirst) {
  run_thread_ranks(3, [](const auto& communicator) {
    const Batches batches = batches_of(communicator->rank());
    int steps = 0;
    for (const auto& batch : join(batches, no_rows())) {
      ++steps;
      sum_of_rows(batch);
      EXPECT_THAT(refusal_of<c10::Error>([&] {
                    for (const auto& other : join(batches, no_rows())) {
                      sum_of_rows(other);
                    }
                  }),
                  HasSubstr("training::join: expected one loop at a time of " +
                            communicator->describe()));
      for (const auto& own : join(batches, no_rows(),
                                  JoinOptions().communicator(
                                      sync::single_process_communicator()))) {
        EXPECT_EQ(own.size(0), 1);
      }
    }
    EXPECT_EQ(steps, 2);
  });
}

TEST(JoinTest, RefusesOtherSamplers) {
  run_thread_ranks(2, [](const auto& communicator) {
    const Batches batches = batches_of(1);
    const auto loop = [&](const ShardSampler& sampler) {
      for (const auto& batch :
           join(batches, no_rows(), JoinOptions().sampler(sampler))) {
        sum_of_rows(batch);
      }
    };
    ShardSampler sampler(10);
    loop(sampler);
    sampler.set_epoch(communicator->rank());
    EXPECT_THAT(
        refusal_of<sync::SyncError>([&] { loop(sampler); }),
        AllOf(HasSubstr("rank 0: training::join, first batch, ShardSampler of "
                        "10 samples, shuffled with seed 0, epoch 0 from "),
              HasSubstr("epoch 1 from sample 0")));
    const ShardSampler alone(10, ShardSamplerOptions().communicator(
                                     sync::single_process_communicator()));
    EXPECT_THAT(
        refusal_of([&] { loop(alone); }),
        HasSubstr("expected a sampler of the loop's ranks, " +
                  communicator->describe() + ", got one of single process"));
  });
}

// Batches, of which one cannot be had.
struct Faulty {
  struct Iterator {
    using difference_type = std::ptrdiff_t;
    using value_type = at::Tensor;
    using pointer = at::Tensor*;
    using reference = at::Tensor&;
    using iterator_category = std::input_iterator_tag;
    at::Tensor& operator*() {
      if (index == fault) throw std::runtime_error("cannot read batch");
      return batch;
    }
    Iterator& operator++() {
      ++index;
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return index == other.index;
    }
    int index, fault;
    at::Tensor batch = at::zeros({1, 2});
  };
  Iterator begin() { return {0, fault}; }
  Iterator end() { return {4, fault}; }
  int fault;
};

TEST(JoinTest, ErrorsOfALoaderReachTheOthers) {
  for (int fault : {0, 1, 3}) {
    for (bool exchanges : {true, false}) {
      run_thread_ranks(3, [&](const auto& communicator) {
        const bool fails = communicator->rank() == 1;
        Faulty loader{fails ? fault : -1};
        int steps = 0;
        const auto loop = [&] {
          for (auto& batch : join(loader, no_rows())) {
            if (exchanges) sum_of_rows(batch);
            ++steps;
          }
        };
        if (fails) {
          EXPECT_THAT(refusal_of<std::runtime_error>(loop),
                      HasSubstr("cannot read batch"));
        } else {
          EXPECT_THAT(refusal_of<sync::SyncError>(loop),
                      HasSubstr("rank 1 failed: cannot read batch"));
        }
        EXPECT_LE(steps, fault);
        EXPECT_EQ(sum_of_rows(no_rows()), 0);
      });
    }
  }
}

TEST(JoinTest, ErrorsInTheLoopEndIt) {
  run_thread_ranks(3, [](const auto& communicator) {
    const Batches batches = batches_of(3);
    EXPECT_THAT(
        refusal_of<sync::SyncError>([&] {
          for (const auto& batch : join(batches, no_rows())) {
            sync::all_reduce(
                batch.to(communicator->rank() == 0 ? at::kFloat : at::kDouble),
                sync::Reduction::kSum);
          }
        }),
        HasSubstr("the ranks sync different metrics or options"));
    // Errors that the program takes care of do not.
    int steps = 0;
    for (const auto& batch : join(batches, no_rows())) {
      ++steps;
      try {
        sync::all_reduce(
            steps == 1 && communicator->rank() == 0 ? at::Tensor() : batch,
            sync::Reduction::kSum);
      } catch (const c10::Error&) {
        EXPECT_EQ(steps, 1);
      }
    }
    EXPECT_EQ(steps, 3);
  });
}

}  // namespace
}  // namespace tally::training
