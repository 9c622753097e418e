#include "tally/sync/launch.h"

#include <ATen/ops/ones.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "tally/sync/init.h"
#include "tally/tests/examples/program.h"
#include "tally/tests/testing/deadlines.h"

// The launcher starts this program again, as `launch_test role NAME`: main()
// then does what kRoles says. As `launch_test launch NAME` it is the launcher.

namespace tally::sync {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::kAtOnce;
using ::tally::testkit::kLongTimeout;
using ::tally::testkit::Program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr int kSyncError = 10;

int own_rank() { return std::atoi(std::getenv("RANK")); }

int wait_for_a_signal() {
  for (;;) pause();
}

int join_group() {
  std::cout << init_from_env()->describe() << std::endl;
  return 0;
}

int print_lines() {
  std::cout << "first\nsecond of " << own_rank() << "\nrest" << std::flush;
  std::cerr << "trouble\n";
  return 0;
}

int print_environment() {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK",
                           "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS"}) {
    std::cout << name << '=' << std::getenv(name) << ' ';
  }
  std::cout << std::endl;
  return 0;
}

int fail_second() { return own_rank() == 1 ? 7 : wait_for_a_signal(); }

int kill_second() {
  auto group = init_from_env();
  if (own_rank() == 1) std::raise(SIGKILL);
  at::Tensor tensor = at::ones({1});
  try {
    group->all_reduce(tensor, ReduceOp::kSum);
  } catch (const SyncError& error) {
    std::cout << "saw " << to_string(error.code()) << std::endl;
    return kSyncError;
  }
  return 0;
}

int refuse_to_end() {
  if (own_rank() == 1) return 3;
  std::signal(SIGTERM, SIG_IGN);
  return wait_for_a_signal();
}

/// A lock on `LAUNCH_TEST_LOCK` is held until this process is dead. Each rank
/// says so with a byte in the pipe `LAUNCH_TEST_PIPE`.
int hold_lock() {
  flock(open(std::getenv("LAUNCH_TEST_LOCK"), O_RDONLY | O_CLOEXEC), LOCK_SH);
  const int pipe = open(std::getenv("LAUNCH_TEST_PIPE"), O_WRONLY | O_CLOEXEC);
  if (write(pipe, "x", 1) != 1) return 1;
  return wait_for_a_signal();
}

/// A rank that a program of its own sends straight to init_from_env().
int join_and_hold_lock() {
  init_from_env();
  return hold_lock();
}

int join_hold_lock_and_stop() {
  init_from_env();
  flock(open(std::getenv("LAUNCH_TEST_LOCK"), O_RDONLY | O_CLOEXEC), LOCK_SH);
  const int pipe = open(std::getenv("LAUNCH_TEST_PIPE"), O_WRONLY | O_CLOEXEC);
  if (write(pipe, "x", 1) != 1) return 1;
  return std::raise(SIGSTOP);
}

[[noreturn]] void fail_with(SyncErrorCode code, const char* why) {
  explain_failure(SyncError(code, why, {}), "program");
  std::_Exit(kSyncError);
}

int explain_cause() {
  if (own_rank() == 1) fail_with(SyncErrorCode::kTimeout, "the cause");
  fail_with(SyncErrorCode::kPeerLost, "the consequence");
}

int explain_consequence() {
  fail_with(SyncErrorCode::kPeerLost, "the consequence");
}

int explain_after_a_kill() {
  auto group = init_from_env();
  if (own_rank() == 1) std::raise(SIGKILL);
  at::Tensor tensor = at::ones({1});
  try {
    group->all_reduce(tensor, ReduceOp::kSum);
  } catch (const SyncError&) {
    fail_with(SyncErrorCode::kTimeout, "not the cause");
  }
  return 0;
}

const std::map<std::string, int (*)()> kRoles = {
    {"join_group", join_group},
    {"print_lines", print_lines},
    {"fail_second", fail_second},
    {"print_environment", print_environment},
    {"kill_second", kill_second},
    {"refuse_to_end", refuse_to_end},
    {"hold_lock", hold_lock},
    {"explain_cause", explain_cause},
    {"explain_consequence", explain_consequence},
    {"explain_after_a_kill", explain_after_a_kill},
};

// Of a program that calls launch_local() in its launcher alone.
const std::map<std::string, int (*)()> kRolesWithoutLaunch = {
    {"join_and_hold_lock", join_and_hold_lock},
    {"join_hold_lock_and_stop", join_hold_lock_and_stop},
};

std::optional<int> launch(int ranks, std::string role,
                          const LaunchOptions& options = {}) {
  std::string program = "launch_test", word = "role";
  char* argv[] = {program.data(), word.data(), role.data(), nullptr};
  return launch_local(ranks, 3, argv, options);
}

struct Launched {
  std::optional<int> status;
  std::string output;
  std::string error;
};

Launched captured(int ranks, const std::string& role,
                  const LaunchOptions& options = {}) {
  Launched result;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  result.status = launch(ranks, role, options);
  result.output = ::testing::internal::GetCapturedStdout();
  result.error = ::testing::internal::GetCapturedStderr();
  return result;
}

TEST(LaunchTest, RanksFormAGroup) {
  const Launched run = captured(3, "join_group");
  EXPECT_EQ(run.status, 0) << run.error;
  EXPECT_THAT(run.output, AllOf(HasSubstr("gloo rank 0 of 3\n"),
                                HasSubstr("[rank 1] gloo rank 1 of 3\n"),
                                HasSubstr("[rank 2] gloo rank 2 of 3\n")));
}

TEST(LaunchTest, OneRankAndRanksOfOthersAreNotLaunched) {
  EXPECT_EQ(launch(1, "fail_second"), std::nullopt);
  EXPECT_THROW(launch(0, "fail_second"), c10::ValueError);
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "1", 1);
  EXPECT_EQ(launch(2, "fail_second"), std::nullopt);
  unsetenv("RANK");
  EXPECT_THROW(launch(2, "fail_second"), c10::ValueError);
  unsetenv("WORLD_SIZE");
}

TEST(LaunchTest, SingleSlurmTaskCanLaunch) {
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_NTASKS", "1", 1);
  EXPECT_EQ(captured(2, "join_group").status, 0);
  unsetenv("SLURM_PROCID");
  unsetenv("SLURM_NTASKS");
}

TEST(LaunchTest, OutputArrivesInLinesWithTheirRank) {
  const Launched run = captured(2, "print_lines");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, HasSubstr("second of 0\nrest"));
  for (const char* line : {"first", "second of 1", "rest"}) {
    EXPECT_THAT(run.output, HasSubstr("[rank 1] " + std::string(line) + "\n"));
  }
  EXPECT_THAT(run.error, HasSubstr("[rank 1] trouble\n"));
}

TEST(LaunchTest, OutputOfOtherRanksCanBeHiddenButNotTheirErrors) {
  LaunchOptions options;
  options.show_all_ranks = false;
  const Launched run = captured(2, "print_lines", options);
  EXPECT_EQ(run.output, "first\nsecond of 0\nrest");
  EXPECT_THAT(run.error, HasSubstr("[rank 1] trouble\n"));
}

TEST(LaunchTest, RanksShareTheCoresUnlessTold) {
  const std::string mine = std::getenv("OMP_NUM_THREADS");
  setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_THAT(captured(2, "print_environment").output,
              HasSubstr("[rank 1] RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 "
                        "LOCAL_WORLD_SIZE=2 OMP_NUM_THREADS=3"));
  unsetenv("OMP_NUM_THREADS");
  const int cores = std::thread::hardware_concurrency();
  EXPECT_THAT(captured(2, "print_environment").output,
              HasSubstr("OMP_NUM_THREADS=" +
                        std::to_string(std::max(1, cores / 2)) + " \n"));
  setenv("OMP_NUM_THREADS", mine.c_str(), 1);
}

TEST(LaunchTest, FirstFailureIsTheStatusAndEndsTheOthers) {
  LaunchOptions options;
  options.grace = milliseconds(100);
  const auto start = steady_clock::now();
  EXPECT_EQ(captured(3, "fail_second", options).status, 7);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
}

TEST(LaunchTest, SurvivorsOfAKilledRankReportIt) {
  LaunchOptions options;
  options.grace = kLongTimeout;
  const auto start = steady_clock::now();
  const Launched run = captured(2, "kill_second", options);
  EXPECT_EQ(run.status, 128 + SIGKILL);
  EXPECT_THAT(run.output, HasSubstr("saw kPeerLost"));
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
}

TEST(LaunchTest, RankThatIgnoresSigtermIsKilled) {
  LaunchOptions options;
  options.grace = milliseconds(100);
  EXPECT_EQ(captured(2, "refuse_to_end", options).status, 3);
}

TEST(LaunchTest, IgnoredChildSignalsDoNotLoseTheStatus) {
  const auto previous = std::signal(SIGCHLD, SIG_IGN);
  LaunchOptions options;
  options.grace = milliseconds(100);
  EXPECT_EQ(captured(2, "fail_second", options).status, 7);
  EXPECT_EQ(std::signal(SIGCHLD, previous), SIG_IGN);
}

TEST(LaunchTest, TheLauncherSaysOnceWhyItFailed) {
  EXPECT_EQ(captured(3, "explain_cause").error,
            "launch_test: SyncError kTimeout: the cause\n");
  EXPECT_EQ(captured(2, "explain_consequence").error,
            "launch_test: SyncError kPeerLost: the consequence\n");
  const Launched killed = captured(2, "explain_after_a_kill");
  EXPECT_EQ(killed.status, 128 + SIGKILL);
  EXPECT_THAT(killed.error,
              MatchesRegex("launch_test: rank 1 \\(pid [0-9]+\\) was ended by "
                           "signal 9 \\(Killed\\)\n"));
}

TEST(LaunchTest, ItSaysItselfWhyAProgramWithoutRanksFails) {
  ::testing::internal::CaptureStderr();
  explain_failure(std::runtime_error("why\nand a backtrace"), "program");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "program: why\n");
}

struct Death {
  int signal;
  const char* role;
};

class LauncherDeathTest : public ::testing::TestWithParam<Death> {};

TEST_P(LauncherDeathTest, NoRankOutlivesTheLauncher) {
  const std::string folder = ::testing::TempDir() + "/launcher-death-" +
                             GetParam().role +
                             std::to_string(GetParam().signal);
  std::filesystem::create_directory(folder);
  const std::string lock = folder + "/lock", pipe = folder + "/pipe";
  close(open(lock.c_str(), O_CREAT | O_RDONLY, 0600));
  mkfifo(pipe.c_str(), 0600);
  Program launcher({"/proc/self/exe", "launch", GetParam().role},
                   {"LAUNCH_TEST_LOCK=" + lock, "LAUNCH_TEST_PIPE=" + pipe,
                    "TMPDIR=" + folder});
  const int from_ranks = open(pipe.c_str(), O_RDONLY);
  char byte;
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(read(from_ranks, &byte, 1), 1);
  }
  close(from_ranks);
  launcher.send(GetParam().signal);
  EXPECT_EQ(launcher.wait().status, 128 + GetParam().signal);
  EXPECT_EQ(flock(open(lock.c_str(), O_RDONLY | O_CLOEXEC), LOCK_EX), 0);
  // With what a killed launcher leaves.
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(
    Signals, LauncherDeathTest,
    ::testing::Values(Death{SIGTERM, "hold_lock"}, Death{SIGINT, "hold_lock"},
                      Death{SIGKILL, "hold_lock"},
                      Death{SIGKILL, "join_and_hold_lock"},
                      Death{SIGKILL, "join_hold_lock_and_stop"}));

int run_role(int argc, char** argv) {
  const auto direct = kRolesWithoutLaunch.find(argv[2]);
  if (direct != kRolesWithoutLaunch.end()) return direct->second();
  if (launch_local(2, argc, argv)) return 98;
  return kRoles.at(argv[2])();
}

}  // namespace
}  // namespace tally::sync

int main(int argc, char** argv) {
  const std::string word = argc == 3 ? argv[1] : "";
  if (word == "role") return tally::sync::run_role(argc, argv);
  if (word == "launch") return tally::sync::launch(2, argv[2]).value_or(99);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
