// A process that may have no more memory, among others that may.

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "tally/sync/collectives.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::sync {
namespace {

using ::tally::testkit::kAtOnce;
using ::testing::HasSubstr;

constexpr std::int64_t kBytes = std::int64_t{300} << 20;

// As much as this process has, and `more`.
void limit_memory(std::int64_t more) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  struct rlimit limit {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

RANKS_TEST(MemoryLimitTest, RankWithoutRoomForWhatAnotherBringsTellsTheOthers,
           2) {
  const bool large = self.rank() == 0;
  // Memory that nobody touches.
  const at::Tensor own = at::empty({large ? kBytes : 4}, at::kByte);
  if (!large) limit_memory(std::int64_t{400} << 20);
  const auto start = std::chrono::steady_clock::now();
  try {
    gather_all_tensors(own);
    ADD_FAILURE() << "gathered without memory";
  } catch (const SyncError& error) {
    EXPECT_TRUE(large);
    EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
    EXPECT_EQ(error.details().peers, std::vector<int>{1});
    EXPECT_THAT(error.message(), HasSubstr("rank 1 failed: "));
    EXPECT_THAT(error.message(), HasSubstr("for rank 0's Byte [314572800]"));
  } catch (const c10::Error& error) {
    EXPECT_FALSE(large);
    EXPECT_THAT(describe(error), HasSubstr("for rank 0's Byte [314572800]"));
  }
  EXPECT_LE(std::chrono::steady_clock::now() - start, kAtOnce);
  EXPECT_EQ(all_reduce(at::ones({})).item<float>(), 2);
}

}  // namespace
}  // namespace tally::sync
