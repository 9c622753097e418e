#include "tally/sync/errors.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tally::sync {
namespace {

TEST(SyncErrorTest, NamesAllKnownDetailsOnOneLine) {
  SyncErrorDetails details;
  details.metric = "mse+rmse";
  details.state = "sum";
  details.rank = 1;
  details.peers = {0, 3};
  details.sequence = 7;
  details.phase = "header";
  const SyncError error(SyncErrorCode::kMismatch, "other dtype", details);
  EXPECT_STREQ(error.what_without_backtrace(),
               "SyncError kMismatch: other dtype [metric mse+rmse, state sum, "
               "rank 1, peers 0 3, sequence 7, phase header]");
  EXPECT_EQ(error.message(), "other dtype");
  const SyncError bare(SyncErrorCode::kTimeout, "late", {});
  EXPECT_STREQ(bare.what_without_backtrace(), "SyncError kTimeout: late");
}

TEST(SyncErrorTest, DescribesAnyExceptionOnOneLine) {
  EXPECT_EQ(describe(std::runtime_error("no file\nno hope")), "no file");
  try {
    TORCH_CHECK_VALUE(false, "expected 2, got ", 3);
  } catch (c10::ValueError& error) {
    EXPECT_EQ(describe(error), "expected 2, got 3");
    error.add_context("MeanSquaredError");
    EXPECT_EQ(describe(error), "expected 2, got 3 (MeanSquaredError)");
    error.add_context("as 'mse' of a collection");
    EXPECT_EQ(describe(error),
              "expected 2, got 3 (MeanSquaredError, as 'mse' of a collection)");
  }
}

}  // namespace
}  // namespace tally::sync
