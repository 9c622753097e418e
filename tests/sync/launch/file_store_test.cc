#include "tally/sync/launch/file_store.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tally/sync/base/deadline.h"
#include "tally/tests/testing/deadlines.h"

namespace tally::sync::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::tally::testkit::kAtOnce;
using ::testing::HasSubstr;

class FileStoreTest : public ::testing::Test {
 protected:
  FileStoreTest()
      : path_(std::string(::testing::TempDir()) + "/file-store-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove(path_);
  }
  ~FileStoreTest() override { std::filesystem::remove(path_); }

  FileStore open_store(milliseconds timeout = seconds(10)) const {
    return FileStore(path_, timeout);
  }

  std::string path_;
};

TEST_F(FileStoreTest, StoresSeeWhatOthersWrite) {
  FileStore one = open_store();
  FileStore other = open_store();
  one.set("key", "value");
  EXPECT_EQ(other.get_to_str("key"), "value");
  EXPECT_TRUE(other.check({"key"}));
  EXPECT_FALSE(other.check({"key", "another"}));
  one.set("key", "");
  EXPECT_EQ(other.get_to_str("key"), "");

  EXPECT_EQ(one.add("count", 3), 3);
  EXPECT_EQ(other.add("count", -5), -2);
  EXPECT_EQ(one.add("count", 0), -2);

  EXPECT_EQ(one.compareSet("size", "", "2"), "2");
  EXPECT_EQ(other.compareSet("size", "", "3"), "2");
  EXPECT_EQ(other.compareSet("size", "2", "3"), "3");
  EXPECT_EQ(one.compareSet("none", "something", "3"), "something");
  EXPECT_FALSE(one.check({"none"}));

  EXPECT_EQ(one.getNumKeys(), 3);
  EXPECT_TRUE(other.deleteKey("size"));
  EXPECT_FALSE(one.deleteKey("size"));
  EXPECT_EQ(one.getNumKeys(), 2);
}

TEST_F(FileStoreTest, CountsOfManyThreadsAddUp) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      FileStore store = open_store();
      for (int n = 0; n < 50; ++n) store.add("count", 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(open_store().add("count", 0), 200);
}

TEST_F(FileStoreTest, WhatAKilledProcessWroteInPartIsWrittenOver) {
  FileStore store = open_store();
  store.set("key", "value");
  const auto whole = std::filesystem::file_size(path_);
  store.set("next", "lost");
  for (auto size = whole + 1; size < std::filesystem::file_size(path_);) {
    std::filesystem::resize_file(path_, size);
    FileStore after = open_store();
    EXPECT_FALSE(after.check({"next"}));
    after.set("other", "x");
    EXPECT_EQ(open_store().get_to_str("other"), "x");
    EXPECT_EQ(open_store().get_to_str("key"), "value");
    std::filesystem::resize_file(path_, whole);
    FileStore again = open_store();
    again.set("next", "lost");
    ++size;
  }
}

TEST_F(FileStoreTest, WaitsNoLongerThanItIsTold) {
  FileStore store = open_store(milliseconds(200));
  auto start = steady_clock::now();
  EXPECT_THROW(store.get("nothing"), c10::DistStoreError);
  EXPECT_THROW(store.wait({"nothing"}, milliseconds(50)), c10::DistStoreError);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);

  // As a process would that was stopped in the middle of a call.
  const int holder = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  start = steady_clock::now();
  EXPECT_THROW(store.set("key", "value"), c10::DistStoreError);
  EXPECT_THROW(open_store(milliseconds(200)), c10::DistStoreError);
  EXPECT_LE(steady_clock::now() - start, kAtOnce);
  close(holder);
  store.set("key", "value");
  EXPECT_EQ(store.get_to_str("key"), "value");
}

TEST_F(FileStoreTest, GoesOnWithoutItsName) {
  FileStore one = open_store();
  FileStore other = open_store();
  one.remove_name();
  one.set("key", "value");
  EXPECT_EQ(other.get_to_str("key"), "value");
  EXPECT_FALSE(open_store().check({"key"}));
}

TEST_F(FileStoreTest, OtherFilesAreRefusedAndStayAsTheyAre) {
  for (const char* text : {"x", "Tally store 2\n", "{\"metrics\": 3}"}) {
    std::ofstream(path_) << text;
    try {
      open_store();
      ADD_FAILURE() << "opened " << text;
    } catch (const c10::DistStoreError& error) {
      EXPECT_THAT(error.what_without_backtrace(),
                  HasSubstr("expected a new file"));
    }
    EXPECT_EQ(std::filesystem::file_size(path_), std::string(text).size());
  }
}

TEST(DeadlineTest, TimeoutsDoNotOverflow) {
  for (const auto timeout :
       {milliseconds::max(), milliseconds(std::chrono::hours(24 * 365 * 300)),
        kLongestTimeout}) {
    const Deadline deadline(timeout);
    EXPECT_FALSE(deadline.passed());
    EXPECT_GE(deadline.left(), kLongestTimeout - seconds(60));
  }
  EXPECT_EQ(Deadline(milliseconds(-5)).left(), milliseconds(1));
  EXPECT_TRUE(Deadline(milliseconds(0)).passed());
}

TEST(DeadlineTest, ATaskThatTakesTooLongIsLeftToItself) {
  const Deadline deadline(seconds(10));
  bool ran = false;
  EXPECT_TRUE(run_until(deadline.end(), [&] { ran = true; }));
  EXPECT_TRUE(ran);
  EXPECT_THROW(
      run_until(deadline.end(), [] { throw std::runtime_error("why"); }),
      std::runtime_error);

  const auto release = std::make_shared<std::promise<void>>();
  const auto ended = std::make_shared<std::promise<void>>();
  EXPECT_FALSE(run_until(Deadline(milliseconds(50)).end(), [release, ended] {
    release->get_future().wait();
    ended->set_value();
  }));
  release->set_value();
  ended->get_future().wait();
}

}  // namespace
}  // namespace tally::sync::internal
