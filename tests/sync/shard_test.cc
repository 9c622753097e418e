#include "tally/sync/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tally/testing/internal/memory_group.h"

namespace tally::sync {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<Communicator> rank_of(int rank, int size) {
  return testkit::MemoryGroup(size, kDefaultTimeout).communicator(rank);
}

TEST(ShardTest, DealsInTurn) {
  EXPECT_THAT(shard_indices(7, *rank_of(0, 3)), ElementsAre(0, 3, 6));
  EXPECT_THAT(shard_indices(7, *rank_of(1, 3)), ElementsAre(1, 4));
  EXPECT_THAT(shard_indices(7, *rank_of(2, 3)), ElementsAre(2, 5));
  EXPECT_THAT(shard_indices(2, *rank_of(2, 3)), IsEmpty());
  EXPECT_THAT(shard_indices(3, *single_process_communicator()),
              ElementsAre(0, 1, 2));
}

TEST(ShardTest, CutsInRankOrder) {
  const ShardRange middle = shard_range(7, *rank_of(1, 3));
  EXPECT_EQ(middle.begin, 3);
  EXPECT_EQ(middle.end, 5);
  EXPECT_EQ(middle.size(), 2);
}

TEST(ShardTest, GivesEverySampleToOneRank) {
  for (int size : {1, 2, 3, 5, 8}) {
    for (std::int64_t samples : {0, 1, 4, 5, 360, 1437}) {
      SCOPED_TRACE(std::to_string(samples) + " over " + std::to_string(size));
      std::vector<std::int64_t> all(samples);
      std::iota(all.begin(), all.end(), 0);
      std::vector<std::int64_t> dealt;
      std::int64_t end = 0;
      for (int rank = 0; rank < size; ++rank) {
        const auto indices = shard_indices(samples, *rank_of(rank, size));
        dealt.insert(dealt.end(), indices.begin(), indices.end());
        const ShardRange range = shard_range(samples, *rank_of(rank, size));
        EXPECT_EQ(range.begin, end);
        end = range.end;
        EXPECT_EQ(range.size(), indices.size());
        EXPECT_LE(range.size() - samples / size, 1);
      }
      std::sort(dealt.begin(), dealt.end());
      EXPECT_EQ(dealt, all);
      EXPECT_EQ(end, samples);
    }
  }
}

TEST(ShardTest, RefusesNegativeSizes) {
  const auto communicator = single_process_communicator();
  EXPECT_THROW(shard_indices(-1, *communicator), c10::ValueError);
  EXPECT_THROW(shard_range(-1, *communicator), c10::ValueError);
}

}  // namespace
}  // namespace tally::sync
