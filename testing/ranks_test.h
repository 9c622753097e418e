#pragma once

#include <gtest/gtest.h>

#include "tally/testing/expect_sync_error.h"
#include "tally/testing/internal/registration.h"
#include "tally/testing/rank.h"

/// Tests over several ranks, inside GoogleTest.
///
///     RANKS_TEST(MeanTest, IsThatOfAllRanks, 1, 2, 3, 5) {
///       tally::MeanMetric mean;
///       mean.update(torch::full({}, self.rank()));
///       EXPECT_EQ(mean.compute().item<double>(), (self.size() - 1) / 2.0);
///     }
///
/// defines one test for each number of ranks: MeanTest.IsThatOfAllRanks/ranks1
/// and so on. Its body runs once on each rank, in a separate process, which is
/// this program started again for this test only; the ranks are connected by
/// Gloo over loopback. `self` is a tally::testkit::Rank.
///
/// A failure on any rank is a failure of the test, reported with the rank, and
/// file and line as usual: expectations, assertions, exceptions (type and
/// text), signals (name and stack), an exit. If several ranks fail, the cause
/// comes first, and ranks that only lost a peer because of it come last. If a
/// rank skips the test (GTEST_SKIP), it is skipped. The output of ranks is
/// shown when the test fails. Ranks that have not finished by the deadline are
/// ended, and the report shows the collective in which each of them waits, with
/// its stack; no process is left running when this program ends, for whatever
/// reason.
///
/// main() also runs in each rank's process; it must call
/// ::testing::InitGoogleTest(&argc, argv).
///
///     --tally_hold_rank=1      rank 1 waits for a debugger
///     --tally_keep_logs=DIR    keeps the output of each rank, also on success
///     --tally_deadline=SECONDS overrides RanksOptions::deadline
///
/// or TALLY_HOLD_RANK and so on in the environment.
#define RANKS_TEST(suite, name, ...)                                   \
  TALLY_TESTKIT_RANKS_TEST_(suite, name, ::testing::Test, ProcessCase, \
                            __VA_ARGS__)

/// The same with a fixture, as in TEST_F. Its SetUp and TearDown run on each
/// rank, after it is connected; its constructor also runs in the test's runner.
/// A fixture may have a `static tally::testkit::RanksOptions ranks_options()`.
#define RANKS_TEST_F(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_(fixture, name, fixture, ProcessCase, __VA_ARGS__)

/// The same over the parameters of INSTANTIATE_TEST_SUITE_P, as in TEST_P.
#define RANKS_TEST_P(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_P_(fixture, name, ProcessCase, __VA_ARGS__)

/// The same over the types of TYPED_TEST_SUITE, as in TYPED_TEST.
#define TYPED_RANKS_TEST(fixture, name, ...) \
  TALLY_TESTKIT_TYPED_RANKS_TEST_(fixture, name, ProcessCase, __VA_ARGS__)

/// The same on threads of this process, connected in memory: fast, and clean
/// under ThreadSanitizer. Each rank has its own fixture. After the deadline the
/// program is aborted, as threads cannot be ended.
#define THREAD_RANKS_TEST(suite, name, ...)                           \
  TALLY_TESTKIT_RANKS_TEST_(suite, name, ::testing::Test, ThreadCase, \
                            __VA_ARGS__)
#define THREAD_RANKS_TEST_F(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_(fixture, name, fixture, ThreadCase, __VA_ARGS__)
#define THREAD_RANKS_TEST_P(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_P_(fixture, name, ThreadCase, __VA_ARGS__)
#define TYPED_THREAD_RANKS_TEST(fixture, name, ...) \
  TALLY_TESTKIT_TYPED_RANKS_TEST_(fixture, name, ThreadCase, __VA_ARGS__)
