#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tally/sync/errors.h"
#include "tally/tests/examples/program.h"

// What RANKS_TEST says when ranks fail: of failing_ranks.cc.

namespace tally::testkit {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const kProgram = "tests/testing/failing_ranks";

/// What the program says when it runs one test; `flags` come after.
Program::Result run_by_name(const std::string& test,
                            const std::vector<std::string>& flags = {},
                            const std::vector<std::string>& environment = {}) {
  std::vector<std::string> arguments = {kProgram, "--gtest_filter=" + test};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_program(arguments, environment);
}

/// `first` stands before `second`.
void expect_order(const std::string& text, const std::string& first,
                  const std::string& second) {
  const auto a = text.find(first), b = text.find(second);
  EXPECT_NE(a, std::string::npos) << first << " is not in\n" << text;
  EXPECT_NE(b, std::string::npos) << second << " is not in\n" << text;
  EXPECT_LT(a, b) << text;
}

// On processes, and on threads.
class FailuresTest : public ::testing::TestWithParam<const char*> {
 protected:
  static Program::Result run(const std::string& name,
                             const std::vector<std::string>& flags = {}) {
    return run_by_name(std::string(GetParam()) + "." + name + "/ranks3", flags);
  }
  static bool on_threads() {
    return GetParam() == std::string("FailingThreads");
  }
};

INSTANTIATE_TEST_SUITE_P(Of, FailuresTest,
                         ::testing::Values("Failing", "FailingThreads"),
                         [](const auto& kind) { return kind.param; });

TEST_P(FailuresTest, AnExpectationHasItsRankFileAndLine) {
  const auto result = run("expectation");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              ContainsRegex("failing_ranks.cc:[0-9]+: Failure\nrank 2 of 3: "
                            "Expected equality"));
  EXPECT_THAT(result.output, HasSubstr("of my own"));
  EXPECT_THAT(result.output, HasSubstr("1 FAILED TEST"));
  EXPECT_THAT(result.output, Not(HasSubstr("rank 0 of 3")));
  EXPECT_THAT(on_threads() ? result.output : result.errors,
              HasSubstr("rank 0 was here"));
}

TEST_P(FailuresTest, WhatAllRanksSayIsSaidOnce) {
  const auto result = run("all_alike");
  EXPECT_THAT(result.output,
              HasSubstr("ranks 0, 1 and 2 of 3: Value of: false"));
  EXPECT_EQ(result.output.find("Value of"), result.output.rfind("Value of"));
}

TEST_P(FailuresTest, TheCauseComesBeforeThoseThatLostAPeerByIt) {
  for (const auto& [test, cause] :
       std::vector<std::pair<std::string, std::string>>{
           {"assertion", "rank 1 of 3: Expected equality"},
           {"exception", "rank 1 of 3: threw std::out_of_range: no such row"},
           {"int", "rank 1 of 3: threw int, which is not a std::exception"}}) {
    const auto result = run(test);
    EXPECT_EQ(result.status, 1);
    expect_order(result.output, cause, "threw tally::sync::SyncError: ");
    EXPECT_THAT(result.output, HasSubstr("kPeerLost"));
  }
}

TEST_P(FailuresTest, ASkipSkipsTheTest) {
  const auto result = run("skip");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_THAT(
      result.output,
      ContainsRegex("failing_ranks.cc:[0-9]+: Skipped\nrank 1 of 3: no GPU "
                    "here"));
  EXPECT_THAT(result.output, HasSubstr("[  SKIPPED ] 1 test"));
  const auto failed = run("skip_and_fail");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.output, HasSubstr("ranks 0 and 2 of 3: Value of: false"));
}

TEST_P(FailuresTest, ARankThatMakesFewerCallsIsNamed) {
  const auto result = run("leaves_early");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              HasSubstr("Ranks that reached the end of the test: 1. Every rank "
                        "must make the same calls of the group."));
}

TEST_P(FailuresTest, AFaultThatDoesNotHappenFails) {
  const auto result = run("unreached_fault");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(
      result.output,
      HasSubstr("rank 1 of 3: did not happen: Fault::kill at collective "
                "5 of the group, of which this rank entered 1"));
}

TEST_P(FailuresTest, ABarrierWithoutAllRanksIsRefused) {
  const auto result = run("barrier_without_all");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              HasSubstr("rank 1 has ended, and will not reach the barrier"));
}

TEST_P(FailuresTest, BadArgumentsSayWhatWasExpected) {
  EXPECT_THAT(run("bad_arguments").output,
              HasSubstr("ranks 0, 1 and 2 of 3: threw std::invalid_argument: "
                        "inject: expected a call of 0 or more, got -1"));
  EXPECT_THAT(run("same_call_twice").output,
              HasSubstr("inject: call 0 has a fault already: Fault::error"));
}

TEST_P(FailuresTest, TestsWithinTestsAreRefused) {
  const auto result = run("nested");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(
      result.output,
      HasSubstr("RUN_ALL_TESTS() within the body of a test over ranks"));
}

TEST_P(FailuresTest, TheDeadlineSaysWhereRanksAre) {
  // Processes must have come to their test by then, on a busy machine as well.
  const auto result = run(
      "hangs", {on_threads() ? "--tally_deadline=1" : "--tally_deadline=8"});
  if (on_threads()) {
    EXPECT_EQ(result.status, 128 + SIGABRT);
    EXPECT_THAT(result.errors,
                HasSubstr("FailingThreads.hangs/ranks3: rank 1 of 3, a thread, "
                          "did not end in time and is in no collective"));
    EXPECT_THAT(
        result.errors,
        HasSubstr("rank 0 of 3, a thread, did not end in time and waits "
                  "in all_reduce, collective 0"));
    return;
  }
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              ContainsRegex("rank 1 of 3: did not end in time "
                            "and is in no collective of its "
                            "group, of which it entered 0; it is "
                            "in(\n.*)*wait_for_ever"));
  EXPECT_THAT(result.output,
              ContainsRegex("rank(s 0 and 2| 0) of 3: did not end in time and "
                            "waits in all_reduce, collective 0 of its group, "
                            "counted from 0; it is in(\n.*)*meet"));
}

TEST(ProcessFailuresTest, ASignalHasItsNameAndStack) {
  // AddressSanitizer would make an exit of it.
  const auto result = run_by_name("Failing.segfault/ranks3", {},
                                  {"ASAN_OPTIONS=handle_segv=0"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              ContainsRegex("rank 1 of 3: ended by signal 11 \\(Segmentation "
                            "fault\\) in(\n.*)*write_to"));
  expect_order(result.output, "rank 1 of 3: ended by signal", "kPeerLost");
  const auto terminated = run_by_name("Failing.terminate/ranks2");
  EXPECT_THAT(terminated.output,
              HasSubstr("rank 1 of 2: ended by signal 6 (Aborted) in"));
  EXPECT_THAT(terminated.errors, HasSubstr("terminate called after throwing"));
}

TEST(ProcessFailuresTest, AnExitWithinTheBodyIsTold) {
  const auto result = run_by_name("Failing.exit/ranks3");
  EXPECT_EQ(result.status, 1);
  expect_order(result.output,
               "rank 1 of 3: its process ended during the test, by exit(3)",
               "kPeerLost");
}

TEST(ProcessFailuresTest, AnExitCodeBehindATestThatPassedIsTold) {
  const auto result =
      run_by_name("Passing.ends_with_code/ranks2", {}, {"EXIT_CODE=23"});
  EXPECT_THAT(
      result.output,
      HasSubstr("ranks 0 and 1 of 2: its process ended with 23 although "
                "the test passed"));
}

TEST(ProcessFailuresTest, ARankThatStandsStillIsEndedAtTheDeadline) {
  const auto result =
      run_by_name("Failing.stands_still/ranks2", {"--tally_deadline=1"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              HasSubstr("it did not answer a request for its stack"));
}

TEST(ProcessFailuresTest, RanksThatAreStillStartingAtTheDeadlineAreTold) {
  const auto result = run_by_name("Passing.is_fine/ranks2",
                                  {"--tally_deadline=1"}, {"NEVER_START=1"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              HasSubstr("ranks 0 and 1 of 2: did not end in time: its process "
                        "is still starting"));
}

TEST(ProcessFailuresTest, ASignalThatEndsNothingIsRefused) {
  EXPECT_THAT(run_by_name("Failing.harmless_signal/ranks2").output,
              HasSubstr("does not end a process"));
}

TEST(ProcessFailuresTest, AGroupThatOptionsLeaveOutIsRefused) {
  EXPECT_THAT(run_by_name("NotConnected.group/ranks2").output,
              HasSubstr("this test's RanksOptions do not connect the ranks"));
}

TEST(ProcessFailuresTest, AFailedSetUpLeavesOutTheBody) {
  for (const char* test :
       {"BadSetUp.body/ranks2", "BadThreadSetUp.body/ranks2"}) {
    const auto result = run_by_name(test);
    EXPECT_THAT(result.output, AllOf(HasSubstr("ranks 0 and 1 of 2: Failed\n"
                                               "not set up"),
                                     Not(HasSubstr("the body ran"))));
  }
}

TEST(ProcessFailuresTest, AMainThatDoesNotReadTheFlagsIsTold) {
  const auto without = run_program({kProgram, "--without_init"},
                                   {"GTEST_FILTER=Passing.is_fine*"});
  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.output,
              HasSubstr("a custom main() must call "
                        "::testing::InitGoogleTest(&argc, argv)"));
  const auto refuses = run_program({kProgram, "--refuse_flags"},
                                   {"GTEST_FILTER=Passing.is_fine*"});
  EXPECT_THAT(refuses.output, HasSubstr("did not run that test"));
}

TEST(ProcessFailuresTest, BadFlagsAreRefused) {
  EXPECT_THAT(run_by_name("Passing.is_fine*", {"--tally_deadline=soon"}).output,
              HasSubstr("--tally_deadline: expected a number of 1 or more, got "
                        "'soon'"));
  EXPECT_THAT(
      run_by_name("Passing.is_fine*", {}, {"TALLY_HOLD_RANK=-1"}).output,
      HasSubstr("--tally_hold_rank: expected a number of 0 or more"));
}

TEST(ProcessFailuresTest, LogsAreKept) {
  const std::string folder = ::testing::TempDir() + "/kept/logs";
  const auto result = run_by_name("Failing.expectation/ranks3",
                                  {"--tally_keep_logs=" + folder});
  EXPECT_EQ(result.status, 1);
  std::ifstream file(folder + "/Failing.expectation.ranks3.rank1.log");
  // Behind what Gloo may have printed.
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}),
              EndsWith("rank 1 was here\n"));
  EXPECT_THAT(
      run_by_name("Passing.is_fine*", {"--tally_keep_logs=/dev/null"}).output,
      HasSubstr("--tally_keep_logs: cannot write"));
}

TEST(ProcessFailuresTest, ARankWaitsForADebugger) {
  Program program({kProgram, "--gtest_filter=Passing.is_fine*",
                   "--tally_hold_rank=1", "--tally_deadline=1"});
  program.wait_for_error("and waits: gdb -p ");
  kill(program.rank(1), SIGCONT);
  EXPECT_EQ(program.wait().status, 0);
}

/// Ends when the process does.
void wait_for_end(pid_t process) {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (file < 0) return;  // has ended already
  pollfd event{file, POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 20'000), 1) << "process " << process << " goes on";
  close(file);
}

TEST(ProcessFailuresTest, NothingIsLeftWhenTheRunnerIsKilled) {
  Program program(
      {kProgram, "--gtest_filter=Passing.waits*", "--tally_hold_rank=1"},
      {"WAIT=1"});
  program.wait_for_error("and waits: gdb -p ");
  const std::vector<pid_t> ranks = {program.rank(0), program.rank(1)};
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().status, 128 + SIGKILL);
  for (const pid_t rank : ranks) wait_for_end(rank);
}

TEST(ProcessFailuresTest, ARunnerThatIsAskedToEndSaysWhereRanksAre) {
  Program program(
      {kProgram, "--gtest_filter=Passing.waits*", "--tally_hold_rank=1"},
      {"WAIT=1"});
  program.wait_for_error("and waits: gdb -p ");
  program.send(SIGTERM);
  const auto result = program.wait();
  EXPECT_EQ(result.status, 128 + SIGTERM);
  EXPECT_THAT(result.output, HasSubstr("did not end in time"));
}

TEST(ProcessFailuresTest, BazelsTimeoutBoundsTheDeadline) {
  const auto result =
      run_by_name("Passing.waits*", {}, {"WAIT=1", "TEST_TIMEOUT=2"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("did not end in time"));
}

}  // namespace
}  // namespace tally::testkit
