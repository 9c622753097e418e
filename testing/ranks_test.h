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
/// is one test for each number of ranks: MeanTest.IsThatOfAllRanks/ranks1 and
/// so on. Its body runs once on each rank, in a process of its own, which is
/// this program started again for this test alone; the ranks are connected by
/// Gloo over loopback. `self` is a tally::testkit::Rank.
///
/// A failure on any rank is one of the test, with the rank, and file and line
/// as ever: expectations, assertions, exceptions (type and text), signals (name
/// and stack), an exit. Where several ranks fail, the cause comes first, and
/// ranks that only lost a peer by it come last. If a rank skips the test
/// (GTEST_SKIP), it is skipped. What ranks print is shown when the test fails.
/// Ranks that have not ended by the deadline are ended, and it is said in which
/// collective each of them waits, with its stack; nothing is left running when
/// this program ends, however it does.
///
/// Everything that main() does before the test, it does in each rank's process
/// too; it must call ::testing::InitGoogleTest(&argc, argv).
///
///     --tally_hold_rank=1      rank 1 waits for a debugger
///     --tally_keep_logs=DIR    what each rank printed, also if all is well
///     --tally_deadline=SECONDS instead of RanksOptions::deadline
///
/// or TALLY_HOLD_RANK and so on in the environment.
#define RANKS_TEST(suite, name, ...)                                   \
  TALLY_TESTKIT_RANKS_TEST_(suite, name, ::testing::Test, ProcessCase, \
                            __VA_ARGS__)

/// The same with a fixture, as in TEST_F. Its SetUp and TearDown run on each
/// rank, connected already; its constructor runs in the test's runner as well.
/// A fixture may have a `static tally::testkit::RanksOptions ranks_options()`.
#define RANKS_TEST_F(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_(fixture, name, fixture, ProcessCase, __VA_ARGS__)

/// The same over the parameters of INSTANTIATE_TEST_SUITE_P, as in TEST_P.
#define RANKS_TEST_P(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_P_(fixture, name, ProcessCase, __VA_ARGS__)

/// The same over the types of TYPED_TEST_SUITE, as in TYPED_TEST.
#define TYPED_RANKS_TEST(fixture, name, ...) \
  TALLY_TESTKIT_TYPED_RANKS_TEST_(fixture, name, ProcessCase, __VA_ARGS__)

/// The same body on threads of this process, connected in memory: quick, and
/// clean under ThreadSanitizer. Each rank has a fixture of its own. Past the
/// deadline the program is aborted, as threads cannot be ended.
#define THREAD_RANKS_TEST(suite, name, ...)                           \
  TALLY_TESTKIT_RANKS_TEST_(suite, name, ::testing::Test, ThreadCase, \
                            __VA_ARGS__)
#define THREAD_RANKS_TEST_F(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_(fixture, name, fixture, ThreadCase, __VA_ARGS__)
#define THREAD_RANKS_TEST_P(fixture, name, ...) \
  TALLY_TESTKIT_RANKS_TEST_P_(fixture, name, ThreadCase, __VA_ARGS__)
#define TYPED_THREAD_RANKS_TEST(fixture, name, ...) \
  TALLY_TESTKIT_TYPED_RANKS_TEST_(fixture, name, ThreadCase, __VA_ARGS__)
