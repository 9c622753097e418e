#include <ATen/ops/full.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tally/metrics/metric.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/sample_metrics.h"

// What is left of a checkpoint when saving it goes wrong.

namespace tally {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;
using testkit::RanksOptions;
using testkit::SampleTensorSum;

// A state of 1.6 MB that says whether it is whole.
constexpr std::int64_t kNumbers = 200'000;
SampleTensorSum metric_of(double value) {
  SampleTensorSum metric;
  metric.update(at::full({kNumbers}, value, at::kDouble));
  return metric;
}

void expect_saved(const std::string& path, double value) {
  SampleTensorSum metric;
  ASSERT_TRUE(metric.load(path).ok());
  EXPECT_TRUE(metric.compute().equal(at::full({kNumbers}, value, at::kDouble)));
}

class CheckpointFaultsTest : public ::testing::Test {
 protected:
  CheckpointFaultsTest()
      : folder_(
            std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~CheckpointFaultsTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "metric"; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

TEST_F(CheckpointFaultsTest, AFileThatCannotBeWrittenToItsEndKeepsTheOldOne) {
  ASSERT_TRUE(metric_of(1).save(path()).ok());
  const SampleTensorSum metric = metric_of(2);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status status = metric.save(path());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), HasSubstr(path()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 1)
      << "part of a file was left";
  expect_saved(path(), 1);
}

TEST_F(CheckpointFaultsTest, AFolderWithoutPermissionKeepsTheOldFile) {
  ASSERT_TRUE(metric_of(1).save(path()).ok());
  const SampleTensorSum metric = metric_of(2);
  std::filesystem::permissions(folder(), std::filesystem::perms(0555));
  // Nothing is forbidden to root, who can be somebody else for a while, but not
  // in every sandbox; nobody can make files in /proc.
  constexpr uid_t kNobody = 65534;
  const uid_t user = geteuid();
  if (user == 0 && seteuid(kNobody) != 0) {
    EXPECT_FALSE(metric.save("/proc/tally_checkpoint").ok());
  } else {
    const absl::Status status = metric.save(path());
    ASSERT_EQ(seteuid(user), 0);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  }
  std::filesystem::permissions(folder(), std::filesystem::perms(0755));
  expect_saved(path(), 1);
}

TEST_F(CheckpointFaultsTest, DamagedFilesLeaveTheMetricAsItWas) {
  SampleTensorSum metric = metric_of(1);
  ASSERT_TRUE(metric.save(path()).ok());
  const std::string before = metric.serialize();
  const auto size = static_cast<std::int64_t>(before.size());
  for (const std::int64_t kept : {size - 1, size / 2, std::int64_t{33},
                                  std::int64_t{1}, std::int64_t{0}}) {
    std::filesystem::resize_file(path(), kept);
    EXPECT_EQ(metric.load(path()).code(), absl::StatusCode::kDataLoss) << kept;
    EXPECT_EQ(metric.serialize(), before);
  }
}

// Of the same name, with fewer and with more fields.
template <int kFields>
struct Versioned {
  static constexpr const char* kName = "Versioned";
  struct State {
    std::int64_t count = 0;
    Number sum, squares;
    void fields(Fields& f) {
      f("count", count);
      if (kFields > 1) f("sum", sum);
      if (kFields > 2) f("squares", squares);
    }
  };
  State observe(const at::Tensor& values) const {
    return {values.numel(), Number(values.sum()),
            Number(values.mul(values).sum())};
  }
};
template <int kFields>
struct VersionedMetric final
    : MetricOf<VersionedMetric<kFields>, Versioned<kFields>, at::Tensor> {
  static constexpr const char* kName = "VersionedMetric";
  at::Tensor evaluate(const typename Versioned<kFields>::State& s) const {
    return s.sum;
  }
};

TEST_F(CheckpointFaultsTest, MissingAndSurplusFieldsAreRefused) {
  const at::Tensor values = at::full({2}, 3.0, at::kDouble);
  VersionedMetric<2> metric;
  metric.update(values);
  const std::string before = metric.serialize();
  VersionedMetric<1> fewer;
  fewer.update(values);
  VersionedMetric<3> more;
  more.update(values);
  for (const std::string& other : {fewer.serialize(), more.serialize()}) {
    const absl::Status status = metric.deserialize(other);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.ToString(),
                HasSubstr("the checkpoint of 'VersionedMetric' has the "
                          "fields "));
    EXPECT_EQ(metric.serialize(), before);
  }
}

class CheckpointProcessTest : public ::testing::Test {
 protected:
  static RanksOptions ranks_options() {
    RanksOptions options;
    options.connect = false;
    return options;
  }
};

RANKS_TEST_F(CheckpointProcessTest, AFullDiskKeepsTheOldFile, 1) {
  // A disk of 2 MB, where this system lets a process have one.
  const std::string user = "0 " + std::to_string(getuid()) + " 1";
  const std::string group = "0 " + std::to_string(getgid()) + " 1";
  const char* const kNone = "no disk of its own for a process here";
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) GTEST_SKIP() << kNone;
  std::ofstream("/proc/self/uid_map") << user;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/gid_map") << group;
  if (mount("none", self.folder().c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << kNone;
  }
  const std::string path = self.folder() + "/metric";
  ASSERT_TRUE(metric_of(1).save(path).ok());
  const absl::Status status = metric_of(2).save(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.ToString(), HasSubstr(path));
  expect_saved(path, 1);
}

RANKS_TEST_F(CheckpointProcessTest, AProcessKilledInASaveLeavesAWholeFile, 7) {
  const auto file_of = [&](int rank) {
    return self.folder() + "/metric" + std::to_string(rank);
  };
  if (self.rank() > 0) {
    // Saves one after the other until a timer kills it.
    const SampleTensorSum metrics[] = {metric_of(1), metric_of(2)};
    ASSERT_TRUE(metrics[0].save(file_of(self.rank())).ok());
    std::thread timer([&] {
      std::this_thread::sleep_for(microseconds(12'700 + 7'300 * self.rank()));
      self.die();
    });
    for (int i = 1;; ++i) {
      ASSERT_TRUE(metrics[i % 2].save(file_of(self.rank())).ok());
    }
  }
  for (int rank = 1; rank < self.size(); ++rank) {
    self.wait_for_end(rank);
    SampleTensorSum metric;
    ASSERT_TRUE(metric.load(file_of(rank)).ok());
    const at::Tensor value = metric.compute();
    const double first = value[0].item<double>();
    EXPECT_TRUE(first == 1 || first == 2);
    EXPECT_TRUE(value.eq(first).all().item<bool>());
  }
}

}  // namespace
}  // namespace tally
