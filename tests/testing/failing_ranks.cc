// Tests over ranks that fail, each in its own way: ranks_test_failures_test
// starts this program and reads what it prints.

#include <ATen/ops/full.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "tally/sync/communicator.h"
#include "tally/testing/ranks_test.h"

namespace tally::testkit {
namespace {

using sync::ReduceOp;
using sync::SyncErrorCode;

void meet(const Rank& self) {
  at::Tensor sum = at::full({}, 1.0);
  self.group()->all_reduce(sum, ReduceOp::kSum);
}

// In a translation unit's own namespace, as tests are: the stack must name it.
[[gnu::noinline]] void wait_for_ever() {
  for (;;) pause();
}

// Before main, where a rank asks for nothing yet.
[[maybe_unused]] const bool kStarted = [] {
  if (std::getenv("NEVER_START") != nullptr &&
      std::getenv("TALLY_STORE") != nullptr) {
    wait_for_ever();
  }
  return true;
}();

// UndefinedBehaviorSanitizer would exit before the signal.
__attribute__((noinline, no_sanitize("undefined"))) void write_to(
    volatile int* place) {
  *place = 1;
}

void expectation_body(Rank& self) {
  std::cout << "rank " << self.rank() << " was here" << std::endl;
  if (self.rank() == 2) {
    EXPECT_EQ(self.rank(), 7) << "of my own";
  }
}
void all_alike_body(Rank&) { EXPECT_TRUE(false); }
void assertion_body(Rank& self) {
  if (self.rank() == 1) {
    ASSERT_EQ(self.rank(), 8);
  }
  meet(self);
}
void exception_body(Rank& self) {
  if (self.rank() == 1) throw std::out_of_range("no such row");
  meet(self);
}
void int_body(Rank& self) {
  if (self.rank() == 1) throw 42;
  meet(self);
}
void skip_body(Rank& self) {
  if (self.rank() == 1) GTEST_SKIP() << "no GPU here";
  meet(self);
}
void skip_and_fail_body(Rank& self) {
  if (self.rank() == 1) GTEST_SKIP() << "no GPU here";
  EXPECT_TRUE(false);
}
void leaves_early_body(Rank& self) {
  if (self.rank() != 1) meet(self);
}
void unreached_fault_body(Rank& self) {
  self.inject(Fault::kill(), 1, 5);
  meet(self);
}
void barrier_without_all_body(Rank& self) {
  if (self.rank() != 1) self.barrier();
}
void bad_arguments_body(Rank& self) {
  EXPECT_THROW(self.inject(Fault::kill(), 3, 0), std::invalid_argument);
  EXPECT_THROW(self.inject(Fault::kill(), -1, 0), std::invalid_argument);
  EXPECT_THROW(self.wait_for_end(3), std::invalid_argument);
  self.inject(Fault::stop(), self.rank(), -1);
}
void same_call_twice_body(Rank& self) {
  self.inject(Fault::error(SyncErrorCode::kTransport), 0, 0);
  self.inject(Fault::stop(), 0, 0);
  meet(self);
}
void nested_body(Rank&) { EXPECT_EQ(RUN_ALL_TESTS(), 1); }
void hangs_body(Rank& self) {
  if (self.rank() == 1) wait_for_ever();
  meet(self);
}

#define FAILING(name)                                 \
  RANKS_TEST(Failing, name, 3) { name##_body(self); } \
  THREAD_RANKS_TEST(FailingThreads, name, 3) { name##_body(self); }

FAILING(expectation)
FAILING(all_alike)
FAILING(assertion)
FAILING(exception)
FAILING(int)
FAILING(skip)
FAILING(skip_and_fail)
FAILING(leaves_early)
FAILING(unreached_fault)
FAILING(barrier_without_all)
FAILING(bad_arguments)
FAILING(same_call_twice)
FAILING(nested)
FAILING(hangs)

RANKS_TEST(Failing, segfault, 3) {
  if (self.rank() == 1) write_to(nullptr);
  meet(self);
}
RANKS_TEST(Failing, terminate, 2) {
  if (self.rank() == 1) std::thread([] { throw 1; }).join();
  meet(self);
}
RANKS_TEST(Failing, exit, 3) {
  if (self.rank() == 1) std::exit(3);
  meet(self);
}
RANKS_TEST(Failing, stands_still, 2) {
  if (self.rank() == 1) raise(SIGSTOP);
  meet(self);
}
RANKS_TEST(Failing, harmless_signal, 2) {
  if (self.rank() == 1) self.die(SIGURG);
}

class NotConnected : public ::testing::Test {
 protected:
  static RanksOptions ranks_options() {
    RanksOptions options;
    options.connect = false;
    return options;
  }
};
RANKS_TEST_F(NotConnected, group, 2) { meet(self); }

class BadSetUp : public ::testing::Test {
 protected:
  void SetUp() override { FAIL() << "not set up"; }
};
RANKS_TEST_F(BadSetUp, body, 2) { FAIL() << "the body ran"; }
class BadThreadSetUp : public BadSetUp {};
THREAD_RANKS_TEST_F(BadThreadSetUp, body, 2) { FAIL() << "the body ran"; }

RANKS_TEST(Passing, waits, 2) {
  if (self.rank() == 0) std::cout << "begun" << std::endl;
  if (std::getenv("WAIT") != nullptr) wait_for_ever();
}
RANKS_TEST(Passing, nothing, 3) {}
TEST(Passing, nothing_alone) {}
RANKS_TEST(Passing, is_fine, 2) { meet(self); }
RANKS_TEST(Passing, ends_with_code, 2) {
  if (std::getenv("EXIT_CODE") == nullptr) return;
  std::atexit([] { _exit(std::atoi(std::getenv("EXIT_CODE"))); });
}

}  // namespace
}  // namespace tally::testkit

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--refuse_flags") == 0) {
    if (argc > 2) return 64;
  } else if (argc <= 1 || std::strcmp(argv[1], "--without_init") != 0) {
    ::testing::InitGoogleTest(&argc, argv);
  }
  return RUN_ALL_TESTS();
}
