#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tally/tests/cli/files.h"
#include "tally/tests/examples/program.h"

// What the program does when its streams, its ranks or itself come to an end.

namespace tally::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tally::testkit::Program;
using tally::testkit::run_program;
using ::testing::AnyOf;
using ::testing::StartsWith;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words with_shell(const std::string& rest) {
  return {"/bin/sh", "-c",
          "exec cli/tally evaluate --metrics MeanSquaredError --format json "
          "--inputs " +
              data_file("target.npy") + " " + data_file("weight.npy") + " " +
              rest};
}

TEST(TallyFaultsTest, AClosedOutputIsAFailure) {
  for (const char* ranks : {"", "--ranks 2 "}) {
    EXPECT_EQ(
        run_program(with_shell(ranks + std::string("<&- >&- 2>&-"))).status, 2);
    const auto result = run_program(with_shell(ranks + std::string(">&-")));
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.errors,
              "tally: standard output: cannot be written: Bad file "
              "descriptor\n");
  }
}

TEST(TallyFaultsTest, ClosedStreamsDoNotBecomeItsFiles) {
  for (const char* ranks : {"", "--ranks 2 "}) {
    const Folder folder;
    const std::string output = folder.path("out");
    EXPECT_EQ(run_program(with_shell(ranks + std::string("--output ") + output +
                                     " <&- >&- 2>&-"))
                  .status,
              0);
    EXPECT_EQ(Json::parse(read_file(output)).at("rows"), 19);
    EXPECT_EQ(folder.size(), 1u);
  }
}

TEST(TallyFaultsTest, APipeIsWrittenToIfSomebodyReadsIt) {
  const Folder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = run_program(with_shell("--output " + pipe));
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.errors,
            "tally: " + pipe + ": cannot be written: the pipe has no reader\n");

  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(run_program(with_shell("--output " + pipe)).status, 0);
  char text[4096];
  const ssize_t count = read(reader, text, sizeof text);
  ASSERT_GT(count, 0);
  EXPECT_EQ(Json::parse(std::string(text, count)).at("rows"), 19);
  close(reader);
}

TEST(TallyFaultsTest, AReaderThatGoesEndsItQuietly) {
  for (const std::string ranks : {"1", "3"}) {
    const auto result = run_program(
        {"/bin/sh", "-c",
         "{ sleep 0.2; cli/tally evaluate -m MeanSquaredError --ranks " +
             ranks + " -i " + data_file("target.npy") + " " +
             data_file("weight.npy") + "; echo $? >&2; } | :"});
    EXPECT_EQ(result.errors, std::to_string(128 + SIGPIPE) + "\n");
  }
}

TEST(TallyFaultsTest, AFullDiskIsToldInOneLine) {
  for (const char* ranks : {"", "--ranks 3 "}) {
    const auto full =
        run_program(with_shell(ranks + std::string(">/dev/full")));
    EXPECT_EQ(full.status, 2);
    EXPECT_EQ(full.errors,
              "tally: standard output: cannot be written: No space left on "
              "device\n");
    const auto file =
        run_program(with_shell(ranks + std::string("--output /dev/full")));
    EXPECT_EQ(file.status, 2);
    EXPECT_EQ(file.errors,
              "tally: /dev/full: cannot be written: No space left on "
              "device\n");
  }
}

TEST(TallyFaultsTest, AFileThatMayNotGrowStaysAsItWas) {
  const Folder folder;
  const std::string output = folder.write("out", "before");
  const auto result = run_program(
      {"/bin/sh", "-c",
       "ulimit -f 0; exec cli/tally evaluate -m MeanSquaredError -i " +
           data_file("target.npy") + " " + data_file("weight.npy") + " -o " +
           output});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.errors,
            "tally: " + output + ": cannot be written: File too large\n");
  EXPECT_EQ(read_file(output), "before");
  EXPECT_EQ(folder.size(), 1u);
}

TEST(TallyFaultsTest, TemporaryFilesNeedAFolder) {
  for (const char* ranks : {"1", "2"}) {
    const auto result = run_program(
        {"/bin/sh", "-c",
         "cat " + data_file("target.npy") +
             " | TMPDIR=/none cli/tally evaluate -m MeanSquaredError -i - " +
             data_file("weight.npy") + " --ranks " + ranks});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.errors,
              "tally: TMPDIR: expected a folder, for temporary files: No such "
              "file or directory\n");
  }
}

TEST(TallyFaultsTest, WhatItReadsIsNotWrittenOver) {
  const Folder folder;
  const std::string csv = folder.write("x.csv", "preds,target\n1,2\n");
  for (const char* option : {"--output", "--replicates"}) {
    const auto result =
        run_program({"cli/tally", "evaluate", "-m", "MeanSquaredError", "--csv",
                     folder.path(""), option, folder.path("./x.csv")});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.errors,
              "tally: " + folder.path("./x.csv") +
                  ": expected another file to write to, got an input\n");
  }
  EXPECT_EQ(read_file(csv), "preds,target\n1,2\n");
  const std::string annotations = folder.write("gt.json", "{}");
  const std::string results = folder.write("found/a.json", "[]");
  const std::string image = folder.write("gt/1.png", "png");
  for (const auto& [output, what] :
       {std::make_pair(results, "an input"), {image, "an image"}}) {
    const auto result =
        run_program({"cli/tally", "evaluate", "--coco", annotations,
                     folder.path("found"), "--output", output});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.errors, "tally: " + output +
                                 ": expected another file to write to, got " +
                                 what + "\n");
  }
  EXPECT_EQ(read_file(results), "[]");
  EXPECT_EQ(read_file(image), "png");
}

// The program waits for the rest of a pipe: until then it has no ranks.
TEST(TallyFaultsTest, ASignalIsToldInOneLine) {
  const Folder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* ranks : {"1", "3"}) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      Program program({"cli/tally", "evaluate", "-m", "MeanSquaredError",
                       "--csv", pipe, "--ranks", ranks});
      int writer = -1;
      while (writer < 0) {
        writer = open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        std::this_thread::yield();
      }
      program.send(signal);
      const auto result = program.wait();
      EXPECT_EQ(result.status, 128 + signal);
      EXPECT_EQ(result.errors, "tally: ended by signal " +
                                   std::to_string(signal) + " (" +
                                   strsignal(signal) + ")\n");
      close(writer);
    }
  }
}

/// Gone, or ended (Z), whether or not whoever adopted it has waited for it (X).
bool has_ended(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const auto behind_name = text.rfind(") ");
  if (behind_name == text.npos) return true;
  const char state = text[behind_name + 2];
  return state == 'Z' || state == 'X';
}

class TallyDeathTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kRanks = 3;

  TallyDeathTest() : random_(1000 + GetParam()) {
    std::string text = "preds,target\n";
    for (int i = 0; i < 20'000; ++i) {
      text += std::to_string(i % 7) + "," + std::to_string(i % 5) + "\n";
    }
    csv_ = folder_.write("in.csv", text);
    output_ = folder_.write("out", "before");
  }

  std::unique_ptr<Program> start() const {
    return std::make_unique<Program>(
        Words{"cli/tally", "evaluate", "--metrics", "MeanSquaredError", "--csv",
              csv_, "--ranks", std::to_string(kRanks), "--format", "json",
              "--output", output_, "--batch-size", "16"},
        // A sanitizer would turn a signal into an exit status. What a killed
        // program leaves goes with the folder.
        Words{"ASAN_OPTIONS=handle_segv=0", "TMPDIR=" + folder_.path("")});
  }

  static pid_t rank_of(const Program& program, int rank) {
    for (;;) {
      try {
        return program.rank(rank);
      } catch (const std::runtime_error&) {
        std::this_thread::yield();  // it has not been started
      }
    }
  }

  void wait_for_a_moment() {
    const std::chrono::microseconds moment(random_() % 1'500'000);
    std::this_thread::sleep_for(moment);
  }

  /// That the output is as it was, or the whole result.
  void expect_whole_output(int status) const {
    const std::string text = read_file(output_);
    if (text == "before") {
      EXPECT_NE(status, 0);
    } else {
      EXPECT_EQ(Json::parse(text).at("rows"), 20'000);
    }
  }

  static void expect_ended(const std::vector<pid_t>& pids) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    for (const pid_t pid : pids) {
      while (!has_ended(pid) && steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
      EXPECT_TRUE(has_ended(pid)) << pid;
    }
  }

  std::vector<pid_t> ranks_of(const Program& program) const {
    std::vector<pid_t> pids;
    for (int rank = 0; rank < kRanks; ++rank) {
      pids.push_back(rank_of(program, rank));
    }
    return pids;
  }

  std::mt19937 random_;
  Folder folder_;
  std::string csv_;
  std::string output_;
};

TEST_P(TallyDeathTest, ARankThatDiesIsNamedOnce) {
  const int signals[] = {SIGKILL, SIGSEGV, SIGABRT};
  const int signal = signals[random_() % 3];
  const int victim = static_cast<int>(random_() % kRanks);
  const auto program = start();
  const auto pids = ranks_of(*program);
  wait_for_a_moment();
  const bool killed =
      !has_ended(pids[victim]) && kill(pids[victim], signal) == 0;
  const auto result = program->wait();
  expect_whole_output(result.status);
  expect_ended(pids);
  if (!killed || result.status == 0) return;
  EXPECT_EQ(result.status, 128 + signal) << result.errors;
  // Behind what it says of the columns, if it came to that.
  const std::size_t last =
      result.errors.rfind('\n', result.errors.size() - 2) + 1;
  EXPECT_THAT(result.errors.substr(last),
              StartsWith("tally: rank " + std::to_string(victim) + " (pid " +
                         std::to_string(pids[victim]) + ") was ended by "));
  EXPECT_THAT(result.errors.substr(0, last),
              AnyOf("",
                    "tally: preds is column 'preds', target is column "
                    "'target'\n"));
}

TEST_P(TallyDeathTest, ASignalIsTheReasonOfAllRanks) {
  const auto program = start();
  const auto pids = ranks_of(*program);
  wait_for_a_moment();
  program->send(SIGINT);
  const auto result = program->wait();
  expect_ended(pids);
  expect_whole_output(result.status);
  if (result.status == 0) return;
  EXPECT_EQ(result.status, 128 + SIGINT);
  EXPECT_THAT(result.errors,
              ::testing::EndsWith("tally: ended by signal 2 (Interrupt)\n"));
  EXPECT_EQ(folder_.size(), 2u);
}

TEST_P(TallyDeathTest, NoRankOutlivesTheProgram) {
  const int signals[] = {SIGKILL, SIGSEGV, SIGTERM};
  const int signal = signals[random_() % 3];
  const auto program = start();
  const auto pids = ranks_of(*program);
  wait_for_a_moment();
  program->send(signal);
  const auto result = program->wait();
  expect_ended(pids);
  expect_whole_output(result.status);
  EXPECT_THAT(result.status, AnyOf(0, 128 + signal));
}

INSTANTIATE_TEST_SUITE_P(Seeds, TallyDeathTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace tally::cli
