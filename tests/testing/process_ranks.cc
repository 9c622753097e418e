#include "tally/tests/testing/process_ranks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <utility>

#include "tally/sync/gloo.h"
#include "tally/sync/launch/spawn.h"

namespace tally::testkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kRankVariable = "TALLY_TEST_RANK";
constexpr const char* kSizeVariable = "TALLY_TEST_SIZE";
constexpr const char* kStoreVariable = "TALLY_TEST_STORE";
constexpr const char* kParentVariable = "TALLY_TEST_PARENT";

// A rank talks to the test over its standard input, which is a socket.
constexpr int kTestSocket = 0;

int run_body(const std::function<void(const ProcessRank&)>& body,
             const ProcessRank& self) {
  try {
    body(self);
  } catch (const sync::SyncError& error) {
    std::cerr << error.what_without_backtrace() << std::endl;
    return ProcessRanks::kSyncError;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return ProcessRanks::kOther;
  }
  return ::testing::Test::HasFailure() ? ProcessRanks::kOther
                                       : ProcessRanks::kOk;
}

std::string make_directory() {
  std::string path = ::testing::TempDir() + "/ranks-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("cannot create " + path);
  }
  return path;
}

}  // namespace

ProcessRank::ProcessRank(int rank, int size, std::string store_path)
    : rank_(rank), size_(size), store_path_(std::move(store_path)) {}

std::shared_ptr<sync::Communicator> ProcessRank::connect(
    std::chrono::milliseconds timeout) const {
  sync::GlooOptions options;
  options.hostname = "127.0.0.1";
  options.timeout = timeout;
  return sync::make_gloo_communicator(
      c10::make_intrusive<c10d::FileStore>(store_path_, size_), rank_, size_,
      options);
}

void ProcessRank::ready() const {
  if (send(kTestSocket, "r", 1, 0) != 1) std::_Exit(ProcessRanks::kOther);
}

void ProcessRank::wait_go() const {
  char byte;
  if (recv(kTestSocket, &byte, 1, 0) != 1) std::_Exit(ProcessRanks::kOther);
}

struct ProcessRanks::Child {
  pid_t pid;
  int socket;  // at its end when the process has ended
  bool stopped = false;
  bool ended = false;
  Result result{};
};

ProcessRanks::ProcessRanks(int ranks,
                           const std::function<void(const ProcessRank&)>& body,
                           ProcessRanksOptions options) {
  if (const char* rank = std::getenv(kRankVariable)) {
    sync::internal::end_with_parent(std::atoi(std::getenv(kParentVariable)));
    const ProcessRank self(std::atoi(rank),
                           std::atoi(std::getenv(kSizeVariable)),
                           std::getenv(kStoreVariable));
    const int code = run_body(body, self);
    std::cout.flush();
    std::_Exit(code);
  }

  directory_ = make_directory();
  deadline_ = Clock::now() + options.deadline;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string size = std::to_string(ranks);
  const std::string store = directory_ + "/store";
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string number = std::to_string(rank);
    int sockets[2];
    const std::string log = directory_ + "/output." + number;
    const int output =
        open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (output < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
      throw std::runtime_error("cannot open files for rank " + number);
    }
    sync::internal::SpawnOptions spawn;
    spawn.arguments = {"rank" + number,
                       std::string("--gtest_filter=") +
                           test->test_suite_name() + "." + test->name(),
                       "--gtest_also_run_disabled_tests"};
    spawn.environment = {"RANK=" + number,
                         "WORLD_SIZE=" + size,
                         "LOCAL_RANK=" + number,
                         "LOCAL_WORLD_SIZE=" + size,
                         "TALLY_STORE=" + store,
                         kStoreVariable + ("=" + store),
                         kRankVariable + ("=" + number),
                         kSizeVariable + ("=" + size),
                         kParentVariable + ("=" + std::to_string(getpid())),
                         "TEST_TOTAL_SHARDS",
                         "TEST_SHARD_INDEX",
                         "XML_OUTPUT_FILE"};
    if (options.environment) {
      for (const std::string& change : options.environment(rank)) {
        spawn.environment.push_back(change);
      }
    }
    spawn.input = sockets[1];
    spawn.output = output;
    spawn.error = output;
    Child child{};
    child.pid = sync::internal::spawn_self(spawn);
    child.socket = sockets[0];
    children_.push_back(child);
    close(sockets[1]);
    close(output);
  }
}

ProcessRanks::~ProcessRanks() {
  for (Child& child : children_) {
    if (!child.ended) {
      ::kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
    }
    close(child.socket);
  }
  if (::testing::Test::HasFailure()) {
    for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
      std::cerr << "---- output of rank " << rank << " ----\n"
                << output_of(rank);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void ProcessRanks::wait_ready() {
  for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
    wait_ready(rank);
  }
}

void ProcessRanks::wait_ready(int rank) {
  const Child& child = children_.at(rank);
  char byte;
  if (!wait_readable(child) || recv(child.socket, &byte, 1, 0) != 1) {
    throw std::runtime_error("rank " + std::to_string(rank) +
                             " did not get ready");
  }
}

void ProcessRanks::go(int rank) {
  send(children_.at(rank).socket, "g", 1, MSG_NOSIGNAL);
}

void ProcessRanks::kill(int rank, int signal) {
  Child& child = children_.at(rank);
  ::kill(child.pid, signal);
  if (signal == SIGSTOP) child.stopped = true;
  if (signal == SIGCONT) child.stopped = false;
}

ProcessRanks::Result ProcessRanks::join(int rank) {
  Child& child = children_.at(rank);
  if (child.ended) return child.result;
  char byte;
  bool in_time = true;
  while ((in_time = wait_readable(child)) &&
         recv(child.socket, &byte, 1, 0) > 0) {
  }
  if (!in_time) ::kill(child.pid, SIGKILL);
  int status = 0;
  waitpid(child.pid, &status, 0);
  child.ended = true;
  child.result = {in_time ? sync::internal::exit_status(status) : kLate,
                  Clock::now(), output_of(rank)};
  return child.result;
}

std::vector<ProcessRanks::Result> ProcessRanks::join() {
  std::vector<Result> results;
  for (int rank = 0; rank < static_cast<int>(children_.size()); ++rank) {
    results.push_back(children_[rank].stopped ? Result{} : join(rank));
  }
  return results;
}

bool ProcessRanks::wait_readable(const Child& child) const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline_ - Clock::now());
  pollfd event{child.socket, POLLIN, 0};
  return poll(&event, 1, std::max<int>(0, static_cast<int>(left.count()))) > 0;
}

std::string ProcessRanks::output_of(int rank) const {
  std::ifstream file(directory_ + "/output." + std::to_string(rank));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace tally::testkit
