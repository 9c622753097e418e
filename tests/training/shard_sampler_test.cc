#include "tally/training/shard_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data/dataloader.h>
#include <torch/data/datasets/map.h>
#include <torch/serialize.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "tally/testing/internal/memory_group.h"
#include "tally/tests/testing/refusal.h"
#include "tally/training/stack.h"

namespace tally::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Indices = std::vector<std::size_t>;

std::shared_ptr<sync::Communicator> rank_of(int rank, int size) {
  return testkit::MemoryGroup(size, sync::kDefaultTimeout).communicator(rank);
}

ShardSampler sampler_of(int rank, int ranks, std::size_t samples,
                        ShardSamplerOptions options = {}) {
  return ShardSampler(samples, options.communicator(rank_of(rank, ranks)));
}

Indices first_indices(std::size_t count) {
  Indices all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// Up to `batches` batches of a pass.
std::vector<Indices> take(ShardSampler& sampler, std::size_t batch_size,
                          std::size_t batches = 1000) {
  std::vector<Indices> taken;
  while (taken.size() < batches) {
    const auto request = sampler.next(batch_size);
    if (!request) break;
    taken.push_back(request->indices());
  }
  return taken;
}

Indices flat(const std::vector<Indices>& batches) {
  Indices all;
  for (const Indices& batch : batches) {
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

// The samples of a loader's batches are the indices themselves.
struct Numbers : torch::data::datasets::Dataset<Numbers> {
  explicit Numbers(std::size_t size) : count(size) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto number = static_cast<std::int64_t>(index);
    return {at::tensor({number}), at::tensor(number)};
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

Indices numbers(const torch::data::Example<>& batch) {
  const auto* data = batch.target.const_data_ptr<std::int64_t>();
  return Indices(data, data + batch.target.numel());
}

std::string saved(const ShardSampler& sampler) {
  std::ostringstream stream;
  torch::serialize::OutputArchive archive;
  sampler.save(archive);
  archive.save_to(stream);
  return stream.str();
}

void restore(ShardSampler& sampler, const std::string& bytes) {
  std::istringstream stream(bytes);
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  sampler.load(archive);
}

// The values are of an implementation in Python of what the header says.
TEST(ShardSamplerTest, ShufflesAlikeEverywhere) {
  const auto order_of = [](std::uint64_t seed, std::int64_t epoch) {
    ShardSampler sampler(10, ShardSamplerOptions().seed(seed));
    sampler.set_epoch(epoch);
    return flat(take(sampler, 4));
  };
  EXPECT_THAT(order_of(0, 0), ElementsAre(8, 2, 3, 5, 1, 6, 9, 7, 0, 4));
  EXPECT_THAT(order_of(0, 1), ElementsAre(1, 7, 2, 0, 6, 9, 3, 4, 5, 8));
  EXPECT_THAT(order_of((std::uint64_t{7} << 32) + 5, 3),
              ElementsAre(1, 0, 8, 7, 3, 2, 5, 4, 9, 6));

  ShardSampler sampler(1003, ShardSamplerOptions().seed(1));
  sampler.set_epoch(2);
  const Indices order = flat(take(sampler, 100));
  EXPECT_EQ(std::inner_product(order.begin(), order.end(),
                               first_indices(1003).begin(), std::size_t{0}),
            254752819u);
}

TEST(ShardSamplerTest, DealsEachSampleOnce) {
  for (int ranks : {1, 2, 3, 5}) {
    for (std::size_t samples : {0, 1, 4, 10, 1003}) {
      for (bool shuffle : {false, true}) {
        for (bool global_batch : {false, true}) {
          SCOPED_TRACE(c10::str(samples, " over ", ranks, ", shuffle ", shuffle,
                                ", global_batch ", global_batch));
          Indices all;
          for (int rank = 0; rank < ranks; ++rank) {
            ShardSampler sampler =
                sampler_of(rank, ranks, samples,
                           ShardSamplerOptions().shuffle(shuffle).global_batch(
                               global_batch));
            const Indices own = flat(take(sampler, 7));
            all.insert(all.end(), own.begin(), own.end());
          }
          std::sort(all.begin(), all.end());
          EXPECT_EQ(all, first_indices(samples));
        }
      }
    }
  }
}

TEST(ShardSamplerTest, StepsConsumeTheOrderFromItsBeginning) {
  ShardSampler alone(23);
  const Indices order = flat(take(alone, 23));
  for (int rank = 0; rank < 3; ++rank) {
    ShardSampler sampler = sampler_of(rank, 3, 23);
    const Indices second = take(sampler, 4).at(1);
    const std::size_t left = rank == 2 ? 3 : 4;
    ASSERT_EQ(second.size(), left);
    for (std::size_t i = 0; i < left; ++i) {
      EXPECT_EQ(second[i], order[12 + 3 * i + rank]);
    }
  }
}

TEST(ShardSamplerTest, CutsGlobalBatchesInRankOrder) {
  const auto batches_of = [](int rank, int ranks) {
    ShardSampler sampler =
        sampler_of(rank, ranks, 10,
                   ShardSamplerOptions().shuffle(false).global_batch(true));
    return take(sampler, 4);
  };
  EXPECT_THAT(batches_of(0, 3),
              ElementsAre(Indices{0, 1}, Indices{4, 5}, Indices{8}));
  EXPECT_THAT(batches_of(1, 3),
              ElementsAre(Indices{2}, Indices{6}, Indices{9}));
  EXPECT_THAT(batches_of(2, 3), ElementsAre(Indices{3}, Indices{7}, IsEmpty()));
  EXPECT_THAT(
      batches_of(0, 1),
      ElementsAre(Indices{0, 1, 2, 3}, Indices{4, 5, 6, 7}, Indices{8, 9}));
}

TEST(ShardSamplerTest, AnEpochHasItsOwnOrder) {
  ShardSampler sampler(50);
  const auto pass = [&] {
    sampler.reset();
    return flat(take(sampler, 8));
  };
  const Indices zeroth = pass();
  EXPECT_EQ(pass(), zeroth);
  sampler.set_epoch(1);
  const Indices first = pass();
  EXPECT_NE(first, zeroth);
  sampler.set_epoch(0);
  EXPECT_EQ(pass(), zeroth);

  ShardSampler seeded(50, ShardSamplerOptions().seed(1));
  EXPECT_NE(flat(take(seeded, 8)), zeroth);
  ShardSampler in_order(50, ShardSamplerOptions().shuffle(false));
  in_order.set_epoch(3);
  EXPECT_EQ(flat(take(in_order, 8)), first_indices(50));
}

TEST(ShardSamplerTest, CopiesShareTheirState) {
  ShardSampler sampler(20);
  ShardSampler copy = sampler;
  sampler.set_epoch(4);
  EXPECT_EQ(copy.epoch(), 4);
  take(copy, 3, 2);
  sampler.step();
  EXPECT_EQ(copy.position(), 3);
}

TEST(ShardSamplerTest, GoesOnAtThePositionOnOtherNumbersOfRanks) {
  for (bool global_batch : {false, true}) {
    for (int before : {1, 3}) {
      for (int after : {1, 2, 5}) {
        SCOPED_TRACE(c10::str("from ", before, " ranks to ", after,
                              ", global_batch ", global_batch));
        const auto options = ShardSamplerOptions().global_batch(global_batch);
        Indices all;
        std::string position;
        for (int rank = 0; rank < before; ++rank) {
          ShardSampler sampler = sampler_of(rank, before, 101, options);
          sampler.set_epoch(2);
          for (const Indices& batch : take(sampler, 6, 3)) {
            sampler.step();
            all.insert(all.end(), batch.begin(), batch.end());
          }
          EXPECT_EQ(sampler.position(),
                    all.size() == 0 ? 0 : 18 * (global_batch ? 1 : before));
          const std::string bytes = saved(sampler);
          if (rank == 0) position = bytes;
          EXPECT_EQ(bytes, position);
        }
        for (int rank = 0; rank < after; ++rank) {
          ShardSampler sampler = sampler_of(rank, after, 101, options);
          restore(sampler, position);
          EXPECT_EQ(sampler.epoch(), 2);
          sampler.set_epoch(2);
          sampler.reset();
          const Indices rest = flat(take(sampler, 5));
          all.insert(all.end(), rest.begin(), rest.end());
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, first_indices(101));
      }
    }
  }
}

TEST(ShardSamplerTest, GoesOnWithTheSameGlobalBatches) {
  const auto options = ShardSamplerOptions().global_batch(true);
  ShardSampler alone(50, options);
  const auto batches = take(alone, 8);
  ShardSampler sampler(50, options);
  take(sampler, 8, 5);  // two of them prefetched
  for (int i = 0; i < 3; ++i) sampler.step();
  ShardSampler later(50, options);
  restore(later, saved(sampler));
  EXPECT_EQ(later.position(), 24);
  const auto rest = take(later, 8);
  EXPECT_EQ(rest, (std::vector<Indices>{batches.begin() + 3, batches.end()}));
  // The next pass is a whole one.
  later.reset();
  EXPECT_EQ(take(later, 8), batches);
}

TEST(ShardSamplerTest, AnEpochThatIsDoneStaysDone) {
  ShardSampler sampler(10);
  for (std::size_t i = take(sampler, 4).size(); i > 0; --i) sampler.step();
  EXPECT_EQ(sampler.position(), 10);
  ShardSampler later(10);
  restore(later, saved(sampler));
  later.reset();
  EXPECT_THAT(take(later, 4), IsEmpty());
  later.set_epoch(1);
  later.reset();
  EXPECT_EQ(flat(take(later, 4)).size(), 10u);
}

TEST(ShardSamplerTest, RanksThatRunOutStepAlong) {
  ShardSampler sampler = sampler_of(2, 3, 10);  // 3 of them
  EXPECT_EQ(take(sampler, 1).size(), 3u);
  for (int i = 0; i < 4; ++i) sampler.step();
  EXPECT_EQ(sampler.position(), 10);
  EXPECT_THAT(testkit::refusal_of<c10::Error>([&] { sampler.step(); }),
              HasSubstr("4 steps were completed of 4"));
}

class LoaderTest : public ::testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Workers, LoaderTest,
                         ::testing::Values(std::size_t{0}, std::size_t{1},
                                           std::size_t{3}),
                         ::testing::PrintToStringParamName());

TEST_P(LoaderTest, SeesEachSampleOnceOverRanks) {
  for (bool global_batch : {false, true}) {
    Indices all;
    std::size_t most = 0;
    for (int rank = 0; rank < 3; ++rank) {
      Numbers set(25);
      auto loader = torch::data::make_data_loader(
          set.map(Stack<>(set.get(0))),
          sampler_of(rank, 3, 25,
                     ShardSamplerOptions().global_batch(global_batch)),
          torch::data::DataLoaderOptions(8).workers(GetParam()));
      std::size_t steps = 0;
      for (auto& batch : *loader) {
        const Indices own = numbers(batch);
        all.insert(all.end(), own.begin(), own.end());
        ++steps;
      }
      if (global_batch) {
        EXPECT_EQ(steps, 4u);
      }
      most = std::max(most, steps);
    }
    EXPECT_EQ(most, global_batch ? 4u : 2u);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, first_indices(25));
  }
}

// However many batches the workers have been asked for.
TEST_P(LoaderTest, GoesOnBehindTheStepsDone) {
  Numbers set(40);
  const auto options = torch::data::DataLoaderOptions(6).workers(GetParam());
  const auto loader_of = [&](const ShardSampler& sampler) {
    return torch::data::make_data_loader(set.map(Stack<>(set.get(0))), sampler,
                                         options);
  };
  ShardSampler sampler(40);
  Indices seen;
  const auto loader = loader_of(sampler);
  for (auto batch = loader->begin(); seen.size() < 18; ++batch) {
    const Indices own = numbers(*batch);
    seen.insert(seen.end(), own.begin(), own.end());
    sampler.step();
  }
  EXPECT_EQ(sampler.position(), 18);

  ShardSampler later(40);
  restore(later, saved(sampler));
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      EXPECT_EQ(later.position(), 18 + 4 * 6 - 2);
      seen.clear();
    }
    const auto rest = loader_of(later);
    for (auto& batch : *rest) {
      const Indices own = numbers(batch);
      seen.insert(seen.end(), own.begin(), own.end());
      later.step();
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, first_indices(40));
  }
}

TEST_P(LoaderTest, DropsTheLastGlobalBatchOnAllRanks) {
  for (int rank = 0; rank < 3; ++rank) {
    Numbers set(20);
    auto loader = torch::data::make_data_loader(
        set.map(Stack<>(set.get(0))),
        sampler_of(rank, 3, 20, ShardSamplerOptions().global_batch(true)),
        torch::data::DataLoaderOptions(8).drop_last(true).workers(GetParam()));
    EXPECT_EQ(std::distance(loader->begin(), loader->end()), 2);
  }
}

TEST(ShardSamplerTest, MakesItsOwnLoader) {
  Numbers set(9);
  auto loader = torch::data::make_data_loader<ShardSampler>(
      set.map(Stack<>(set.get(0))), 4);
  Indices all;
  for (auto& batch : *loader) {
    for (std::size_t number : numbers(batch)) all.push_back(number);
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, first_indices(9));
}

TEST(ShardSamplerTest, TakesAnotherSize) {
  ShardSampler sampler(5);
  take(sampler, 2);
  sampler.reset(8);
  EXPECT_EQ(sampler.size(), 8u);
  EXPECT_EQ(flat(take(sampler, 2)).size(), 8u);
}

TEST(ShardSamplerTest, RefusesWhatCannotBe) {
  ShardSampler sampler(10);
  EXPECT_THAT(testkit::refusal_of([&] { sampler.set_epoch(-1); }),
              HasSubstr("expected an epoch of at least 0, got -1"));
  EXPECT_THAT(testkit::refusal_of([&] { sampler.next(0); }),
              HasSubstr("expected a batch_size of at least 1, got 0"));
  EXPECT_THAT(testkit::refusal_of<c10::Error>([&] { sampler.step(); }),
              HasSubstr("step() expected a completed batch"));
  take(sampler, 3, 1);
  EXPECT_THAT(testkit::refusal_of([&] { sampler.next(4); }),
              HasSubstr("the same batch_size for all of a pass, 3, got 4"));
  sampler.step();
  EXPECT_EQ(sampler.position(), 3);
  EXPECT_THAT(
      testkit::refusal_of([] { ShardSampler(static_cast<std::size_t>(-1)); }),
      HasSubstr("expected a number of samples"));
}

TEST(ShardSamplerTest, RefusesWhatOthersHaveSaved) {
  ShardSampler sampler(10, ShardSamplerOptions().seed(1));
  take(sampler, 3, 1);
  sampler.step();
  const std::string bytes = saved(sampler);
  const auto refusal = [&](std::size_t size, ShardSamplerOptions options) {
    ShardSampler other(size, options);
    other.set_epoch(7);
    const std::string text =
        testkit::refusal_of<c10::Error>([&] { restore(other, bytes); });
    EXPECT_EQ(other.epoch(), 7);
    return text;
  };
  EXPECT_THAT(refusal(11, ShardSamplerOptions().seed(1)),
              HasSubstr("a data set of 11 samples, got one of 10"));
  EXPECT_THAT(refusal(10, {}), HasSubstr("shuffle 1 and seed 0, got one with "
                                         "1 and 1"));
  EXPECT_THAT(refusal(10, ShardSamplerOptions().shuffle(false)),
              HasSubstr("shuffle 0"));

  torch::serialize::OutputArchive empty;
  std::ostringstream stream;
  empty.save_to(stream);
  EXPECT_THAT(
      testkit::refusal_of<c10::Error>([&] { restore(sampler, stream.str()); }),
      HasSubstr("there is no integer 'size'"));
  EXPECT_EQ(sampler.position(), 3);
}

TEST(ShardSamplerTest, SaysWhatRanksMustHaveInCommon) {
  ShardSampler sampler(10, ShardSamplerOptions().seed(3).global_batch(true));
  sampler.set_epoch(2);
  EXPECT_EQ(sampler.description(),
            "ShardSampler of 10 samples, shuffled with seed 3, epoch 2 from "
            "sample 0, by global batches");
  EXPECT_EQ(ShardSampler(4, ShardSamplerOptions().shuffle(false)).description(),
            "ShardSampler of 4 samples, in order, epoch 0 from sample 0");
}

}  // namespace
}  // namespace tally::training
