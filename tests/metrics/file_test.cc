#include "tally/metrics/checkpoint/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tally/metrics/wrappers/metric_tracker.h"
#include "tally/tests/testing/message_of.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;
using testkit::message_of;

absl::Status load(const std::string& path) {
  return testkit::SampleMeanSquaredError().load(path);
}

class FileTest : public ::testing::Test {
 protected:
  FileTest()
      : folder_(
            std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(FileTest, LinksAreFollowed) {
  write("file", "before");
  std::filesystem::create_directories(path("folder"));
  std::filesystem::create_symlink("../file", path("folder/link"));
  std::filesystem::create_symlink("folder/link", path("link"));
  ASSERT_TRUE(internal::write_file(path("link"), "after").ok());
  EXPECT_EQ(read("file"), "after");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("folder/link")));

  std::filesystem::create_symlink("new", path("to-new"));
  ASSERT_TRUE(internal::write_file(path("to-new"), "new").ok());
  EXPECT_EQ(read("new"), "new");
  EXPECT_EQ(files(), 5u);
}

TEST_F(FileTest, PermissionsStay) {
  const std::string file = write("file", "before");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  ASSERT_TRUE(internal::write_file(file, "after").ok());
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(FileTest, OnlyFilesAreWrittenAndRead) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_directories(path("folder"));
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(path(""));
  std::strcpy(address.sun_path, "socket");
  ASSERT_EQ(
      ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  std::filesystem::current_path(here);
  for (const std::string kind : {"pipe", "folder", "socket"}) {
    std::filesystem::create_symlink(kind, path("link"));
    for (const std::string& name : {kind, std::string("link")}) {
      const absl::Status status = internal::write_file(path(name), "text");
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(message_of(status),
                path(name) + ": expected a file, got a " + kind);
    }
    EXPECT_FALSE(load(path("link")).ok()) << kind;
    std::filesystem::remove(path("link"));
  }
  ::close(socket);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_TRUE(std::filesystem::is_socket(path("socket")));
  EXPECT_EQ(files(), 3u);
  EXPECT_EQ(message_of(load(path("pipe"))),
            path("pipe") + ": expected a file, got a pipe");
  EXPECT_EQ(load("/dev/zero").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FileTest, WhatKilledWritersLeftIsRemoved) {
  write("file.tally-writes-0", "half");
  write("file.tally-writes-3", "half");
  write("other.tally-writes-0", "of another file");
  ASSERT_TRUE(internal::write_file(path("file"), "whole").ok());
  EXPECT_EQ(read("file"), "whole");
  EXPECT_EQ(files(), 2u);
}

TEST_F(FileTest, WritersDoNotDisturbEachOther) {
  const std::string other = write("file.tally-writes-0", "half");
  const int writer = ::open(other.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  ASSERT_TRUE(internal::write_file(path("file"), "whole").ok());
  EXPECT_EQ(read("file"), "whole");
  EXPECT_EQ(read("file.tally-writes-0"), "half");
  EXPECT_EQ(files(), 2u);
  ::close(writer);
}

TEST_F(FileTest, NothingIsLeftOfAWriteThatFails) {
  std::filesystem::create_symlink("link", path("link"));  // to itself
  EXPECT_FALSE(internal::write_file(path("link"), "text").ok());
  EXPECT_EQ(files(), 1u);
}

// Files of more than there is memory for, which take no room on the disk.
TEST_F(FileTest, SizesAreCheckedBeforeThereIsMemoryForThem) {
  const std::string huge = write("huge", "");
  const std::int64_t size = std::int64_t{3} << 40;
  ASSERT_EQ(::truncate(huge.c_str(), size), 0);
  EXPECT_EQ(message_of(load(huge)),
            "expected a Tally checkpoint, got a file without its magic number");

  std::string start = testkit::SampleMeanSquaredError().serialize();
  write("huge", start);
  ASSERT_EQ(::truncate(huge.c_str(), size), 0);
  EXPECT_THAT(message_of(load(huge)),
              StartsWith("the checkpoint is too long: expected "));

  MetricTracker tracker{testkit::SampleMeanSquaredError()};
  const absl::Status status = tracker.load(huge);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(message_of(status),
              StartsWith("the checkpoint is too long: expected "));
}

}  // namespace
}  // namespace tally
