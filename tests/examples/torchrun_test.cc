// With the real torchrun, which needs the whole PyTorch, not only the part of
// it that Tally's build installs; so it runs when it is asked for:
//
//   TALLY_TORCH_PYTHON=/path/to/bin/python tools/bazel test
//       --test_env=TALLY_TORCH_PYTHON //tests/examples:torchrun_test
//
// with a Python that imports torch, such as the one that
// benchmarks/peers/compare_sync.py installs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "tally/tests/examples/program.h"
#include "tally/tests/testing/free_port.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::Program;
using testkit::run_program;

constexpr const char* kDigits = "examples/digits/digits";

std::vector<std::string> torchrun(const std::vector<std::string>& options,
                                  const std::vector<std::string>& program) {
  const char* python = std::getenv("TALLY_TORCH_PYTHON");
  if (python == nullptr) {
    throw std::runtime_error(
        "expected TALLY_TORCH_PYTHON: a Python that imports torch");
  }
  std::vector<std::string> command = {python, "-m", "torch.distributed.run",
                                      "--no-python"};
  for (const std::string& option : options) {
    command.push_back(option == "--master-port"
                          ? option + "=" + testkit::free_port()
                          : option);
  }
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

class TorchrunTest : public ::testing::TestWithParam<std::vector<std::string>> {
};

TEST_P(TorchrunTest, RanksTrainAsLocalOnesDo) {
  const auto own = run_program({kDigits, "--epochs=2", "--ranks=3"});
  ASSERT_EQ(own.status, 0) << own.errors;
  const auto launched =
      run_program(torchrun(GetParam(), {kDigits, "--epochs=2"}));
  ASSERT_EQ(launched.status, 0) << launched.errors;
  EXPECT_EQ(launched.output, own.output);
}

TEST_P(TorchrunTest, ARankThatDiesEndsTheOthers) {
  Program launched(torchrun(GetParam(), {kDigits, "--epochs=1000000"}));
  launched.wait_for("test accuracy");
  kill(launched.rank(1), SIGKILL);
  const auto result = launched.wait();
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.errors, HasSubstr("SIGKILL"));
}

// Static, where rank 0's agent hosts the store at a given address, and elastic,
// where the agents meet first.
INSTANTIATE_TEST_SUITE_P(
    Launchers, TorchrunTest,
    ::testing::Values(
        std::vector<std::string>{"--nnodes=1", "--nproc-per-node=3",
                                 "--rdzv-backend=static",
                                 "--master-addr=127.0.0.1", "--master-port"},
        std::vector<std::string>{"--standalone", "--nproc-per-node=3"},
        std::vector<std::string>{
            "--nnodes=1:2", "--nproc-per-node=3", "--rdzv-backend=c10d",
            "--rdzv-endpoint=127.0.0.1:0", "--rdzv-conf=last_call_timeout=1"}));

}  // namespace
}  // namespace tally
