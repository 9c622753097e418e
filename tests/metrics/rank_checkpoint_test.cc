// Checkpoints of what several ranks have accumulated.

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/wrappers/running.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/message_of.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testkit::message_of;
using testkit::run_thread_ranks;
using testkit::SampleCat;
using testkit::SampleTensorSum;

at::Tensor number(double value) { return at::full({}, value, at::kDouble); }

double value_of(const at::Tensor& tensor) { return tensor.item<double>(); }

// Row i holds i.
at::Tensor rows_of(std::int64_t begin, std::int64_t end) {
  return at::arange(begin, end, at::kDouble).reshape({end - begin, 1});
}

MetricCollection collection() {
  MetricCollection metrics;
  metrics.add("rows", SampleCat());
  metrics.add("extent", testkit::SampleExtent());
  return metrics;
}

// Rank r of n has every n-th batch of two rows, so that ranks differ in their
// number, and some have none.
void update(MetricCollection& metrics, std::int64_t begin, std::int64_t end,
            const sync::Communicator& ranks) {
  for (std::int64_t i = begin + ranks.rank(); i < end; i += ranks.size()) {
    metrics.update(rows_of(2 * i, 2 * i + 2));
  }
}

void expect_batches(MetricCollection& metrics, std::int64_t batches) {
  const Results results = metrics.compute();
  const at::Tensor rows = std::get<0>(results["rows"].sort(0));
  EXPECT_TRUE(rows.equal(rows_of(0, 2 * batches)));
  EXPECT_EQ(value_of(results["extent.low"]), 0);
  EXPECT_EQ(value_of(results["extent.high"]), 2 * batches - 1);
  const SyncScope scope(metrics);
  EXPECT_EQ(metrics.update_count(), batches);
}

class RankCheckpointTest : public ::testing::Test {
 protected:
  RankCheckpointTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                "rank_checkpoint") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~RankCheckpointTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "metric") const {
    return folder_ / name;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      names.push_back(file.path().filename());
    }
    return names;
  }
  /// Of four batches.
  void save(int ranks, CheckpointRanks as) const {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      MetricCollection metrics = collection();
      update(metrics, 0, 4, *communicator);
      ASSERT_TRUE(metrics.save(path(), as).ok());
    });
  }
  /// What load, or another call, says on every rank.
  template <class Call>
  void expect_refused(int ranks, absl::StatusCode code, const std::string& text,
                      const Call& call) const {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      MetricCollection metrics = collection();
      update(metrics, 0, 3, *communicator);
      const std::string before = metrics.serialize();
      const absl::Status status = call(metrics);
      EXPECT_EQ(status.code(), code) << message_of(status);
      EXPECT_THAT(message_of(status), HasSubstr(text));
      EXPECT_EQ(metrics.serialize(), before);
      expect_batches(metrics, 3);
    });
  }

 private:
  std::filesystem::path folder_;
};

class RanksBeforeAndAfter : public RankCheckpointTest,
                            public ::testing::WithParamInterface<
                                std::tuple<int, int, CheckpointRanks>> {};

TEST_P(RanksBeforeAndAfter, CountEveryBatchOnce) {
  const int before = std::get<0>(GetParam());
  const int after = std::get<1>(GetParam());
  const CheckpointRanks as = std::get<2>(GetParam());
  run_thread_ranks(before, [&](const auto& communicator) {
    MetricCollection metrics = collection();
    update(metrics, 0, 4, *communicator);
    const std::string local = metrics.serialize();
    ASSERT_TRUE(metrics.save(path(), as).ok());
    EXPECT_EQ(metrics.serialize(), local);
    // What comes after the save is lost.
    metrics.update(rows_of(70, 80));
  });
  run_thread_ranks(after, [&](const auto& communicator) {
    MetricCollection metrics = collection();
    metrics.update(rows_of(70, 80));
    ASSERT_TRUE(metrics.load(path(), as).ok());
    expect_batches(metrics, 4);
    update(metrics, 4, 9, *communicator);
    expect_batches(metrics, 9);
    // And from there once more.
    ASSERT_TRUE(metrics.save(path(), as).ok());
    MetricCollection again = collection();
    ASSERT_TRUE(again.load(path(), as).ok());
    expect_batches(again, 9);
  });
  EXPECT_EQ(files().size(), as == CheckpointRanks::kOneFile
                                ? 1u
                                : 1u + static_cast<std::size_t>(after));
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoints, RanksBeforeAndAfter,
    ::testing::Combine(::testing::Values(1, 2, 3, 5),
                       ::testing::Values(1, 2, 3, 5),
                       ::testing::Values(CheckpointRanks::kOneFile,
                                         CheckpointRanks::kFilePerRank)),
    [](const auto& param) {
      const bool one_file =
          std::get<2>(param.param) == CheckpointRanks::kOneFile;
      return c10::str(one_file ? "OneFile" : "FilePerRank",
                      std::get<0>(param.param), "To", std::get<1>(param.param));
    });

TEST_F(RankCheckpointTest, WithAFileForEachRankEachGoesOnWhereItWas) {
  std::vector<std::string> states(3);
  run_thread_ranks(3, [&](const auto& communicator) {
    MetricCollection metrics = collection();
    update(metrics, 0, 4, *communicator);
    states[communicator->rank()] = metrics.serialize();
    ASSERT_TRUE(metrics.save(path(), CheckpointRanks::kFilePerRank).ok());
  });
  run_thread_ranks(3, [&](const auto& communicator) {
    MetricCollection metrics = collection();
    ASSERT_TRUE(metrics.load(path(), CheckpointRanks::kFilePerRank).ok());
    EXPECT_EQ(metrics.serialize(), states[communicator->rank()]);
  });
}

TEST_F(RankCheckpointTest, AMetricMayBeSyncedMeanwhile) {
  run_thread_ranks(3, [&](const auto& communicator) {
    SampleTensorSum metric;
    metric.update(number(1));
    {
      const SyncScope scope(metric);
      for (const auto as :
           {CheckpointRanks::kOneFile, CheckpointRanks::kFilePerRank}) {
        ASSERT_TRUE(metric.save(path(), as).ok());
        SampleTensorSum loaded;
        ASSERT_TRUE(loaded.load(path(), as).ok());
        EXPECT_EQ(value_of(loaded.compute()), 3);
      }
      EXPECT_EQ(value_of(metric.compute()), 3);
    }
    EXPECT_EQ(value_of(metric.compute()), communicator->size());
  });
}

// A window's batches have places, which follow from how many there were.
TEST_F(RankCheckpointTest, AWindowGoesOnAsIfNothingHadHappened) {
  const auto step = [](Metric& metric, int k, int rank) {
    metric.update(number(100 * rank + k));
  };
  for (const auto as :
       {CheckpointRanks::kOneFile, CheckpointRanks::kFilePerRank}) {
    run_thread_ranks(2, [&](const auto& communicator) {
      Running window(SumMetric(), 3);
      for (int k = 0; k < 5; ++k) step(window, k, communicator->rank());
      ASSERT_TRUE(window.save(path(), as).ok());
    });
    for (const int ranks : {1, 2, 3}) {
      run_thread_ranks(ranks, [&](const auto& communicator) {
        Running window(SumMetric(), 3);
        ASSERT_TRUE(window.load(path(), as).ok());
        EXPECT_EQ(value_of(window.compute().value()), 2 * (2 + 3 + 4) + 300);
        if (communicator->rank() < 2) step(window, 5, communicator->rank());
        const double newest = ranks == 1 ? 5 : 2 * 5 + 100;
        EXPECT_EQ(value_of(window.compute().value()),
                  2 * (3 + 4) + 200 + newest);
        // The offset is part of a checkpoint of its own.
        Running copy(SumMetric(), 3);
        ASSERT_TRUE(copy.deserialize(window.serialize()).ok());
        window.update(number(1));
        copy.update(number(1));
        EXPECT_EQ(copy.serialize(), window.serialize());
        window.reset();
        window.update(number(1));
        EXPECT_EQ(window.update_count(), 1);
      });
    }
  }
}

// --- Loaded the wrong way

TEST_F(RankCheckpointTest, OneFileIsNotLoadedByEachRank) {
  save(3, CheckpointRanks::kOneFile);
  const auto load = [&](MetricCollection& m) { return m.load(path()); };
  const auto load_parts = [&](MetricCollection& m) {
    return m.load_parts(path()).status();
  };
  const std::string text =
      "the checkpoint holds the state of all ranks, which would be counted 2 "
      "times; use load with CheckpointRanks::kOneFile";
  expect_refused(2, absl::StatusCode::kFailedPrecondition, text, load);
  expect_refused(2, absl::StatusCode::kFailedPrecondition, text, load_parts);
  expect_refused(
      2, absl::StatusCode::kFailedPrecondition,
      "the checkpoint is a single file for all ranks; use load with "
      "CheckpointRanks::kOneFile",
      [&](auto& m) { return m.load(path(), CheckpointRanks::kFilePerRank); });
  MetricCollection alone = collection();
  ASSERT_TRUE(alone.load(path()).ok());
  expect_batches(alone, 4);
}

TEST_F(RankCheckpointTest, AFileForEachRankIsLoadedByAllOfThem) {
  save(3, CheckpointRanks::kFilePerRank);
  const std::string text =
      "the checkpoint consists of 3 files, one per rank; use load with "
      "CheckpointRanks::kFilePerRank";
  for (const int ranks : {1, 2, 3}) {
    expect_refused(ranks, absl::StatusCode::kFailedPrecondition, text,
                   [&](auto& m) { return m.load(path()); });
    expect_refused(
        ranks, absl::StatusCode::kFailedPrecondition, text,
        [&](auto& m) { return m.load(path(), CheckpointRanks::kOneFile); });
  }
  expect_refused(2, absl::StatusCode::kFailedPrecondition,
                 "rank 0: the checkpoint holds only the state of rank 0 of 3; "
                 "expected that of all ranks",
                 [&](auto& m) {
                   return m.load(path("metric.a.rank0"),
                                 CheckpointRanks::kOneFile);
                 });
}

// What used to count three times, silently.
TEST_F(RankCheckpointTest, ARanksOwnFileIsNotLoadedByTheOthers) {
  run_thread_ranks(3, [&](const auto& communicator) {
    const int rank = communicator->rank();
    MetricCollection metrics = collection();
    update(metrics, 0, 4, *communicator);
    ASSERT_TRUE(metrics.save(path(std::to_string(rank))).ok());
    MetricCollection loaded = collection();
    ASSERT_TRUE(loaded.load(path(std::to_string(rank))).ok());
    expect_batches(loaded, 4);
    const absl::Status status =
        loaded.load(path(std::to_string((rank + 1) % 3)));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message_of(status),
                StartsWith(c10::str("the checkpoint holds the state of rank ",
                                    (rank + 1) % 3, " of 3, but this is rank ",
                                    rank, " of 3")));
    expect_batches(loaded, 4);
  });
  expect_refused(5, absl::StatusCode::kFailedPrecondition,
                 "the checkpoint holds the state of rank 0 of 3, but",
                 [&](auto& m) { return m.load(path("0")); });
  expect_refused(2, absl::StatusCode::kFailedPrecondition,
                 "the checkpoint does not consist of one file per rank",
                 [&](auto& m) {
                   return m.load(path("0"), CheckpointRanks::kFilePerRank);
                 });
  // Shards may be merged by one process.
  MetricCollection all = collection();
  for (const char* rank : {"0", "1", "2"}) {
    MetricCollection shard = collection();
    ASSERT_TRUE(shard.load(path(rank)).ok());
    all.merge_state(shard);
  }
  expect_batches(all, 4);
}

TEST_F(RankCheckpointTest, WhatEvaluatesAloneIsItsProcessesOwn) {
  run_thread_ranks(3, [&](const auto& communicator) {
    if (communicator->rank() != 0) return;
    SampleTensorSum metric(NoOptions(), MetricOptions().sync_on_compute(false));
    metric.update(number(4));
    ASSERT_TRUE(metric.save(path()).ok());
  });
  run_thread_ranks(2, [&](const auto&) {
    SampleTensorSum metric;
    ASSERT_TRUE(metric.load(path(), CheckpointRanks::kOneFile).ok());
    EXPECT_EQ(value_of(metric.compute()), 4);
  });
}

TEST_F(RankCheckpointTest, AFileOfOneProcessCountsOnceOnSeveral) {
  MetricCollection alone = collection();
  alone.update(rows_of(0, 2));
  ASSERT_TRUE(alone.save(path()).ok());
  run_thread_ranks(3, [&](const auto& communicator) {
    MetricCollection metrics = collection();
    ASSERT_TRUE(metrics.load(path(), CheckpointRanks::kOneFile).ok());
    EXPECT_EQ(metrics.update_count(), communicator->rank() == 0 ? 1 : 0);
    expect_batches(metrics, 1);
  });
}

// --- Failures

TEST_F(RankCheckpointTest, AFolderThatIsMissingIsTheSameErrorOnAllRanks) {
  for (const auto as :
       {CheckpointRanks::kOneFile, CheckpointRanks::kFilePerRank}) {
    const std::string missing = path("missing/metric");
    expect_refused(3, absl::StatusCode::kNotFound, "rank 0: " + missing,
                   [&](auto& m) { return m.save(missing, as); });
    expect_refused(3, absl::StatusCode::kNotFound,
                   "rank 0: " + missing + ": cannot be read",
                   [&](auto& m) { return m.load(missing, as); });
    expect_refused(1, absl::StatusCode::kNotFound, missing,
                   [&](auto& m) { return m.save(missing, as); });
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(RankCheckpointTest, ARankThatCannotWriteLeavesTheCheckpointBefore) {
  save(3, CheckpointRanks::kFilePerRank);
  std::filesystem::create_directory(path("metric.b.rank1"));
  expect_refused(
      3, absl::StatusCode::kInvalidArgument,
      "rank 1: " + path("metric.b.rank1") + ": expected a file, got a folder",
      [&](auto& m) { return m.save(path(), CheckpointRanks::kFilePerRank); });
  std::filesystem::remove(path("metric.b.rank1"));
  EXPECT_EQ(files().size(), 4u);
  run_thread_ranks(2, [&](const auto&) {
    MetricCollection metrics = collection();
    ASSERT_TRUE(metrics.load(path(), CheckpointRanks::kFilePerRank).ok());
    expect_batches(metrics, 4);
  });
}

TEST_F(RankCheckpointTest, FilesOfTwoSavesAreNotMixed) {
  save(3, CheckpointRanks::kFilePerRank);
  std::filesystem::copy(path("metric.a.rank1"), path("old"));
  save(3, CheckpointRanks::kFilePerRank);
  save(3, CheckpointRanks::kFilePerRank);
  const auto load = [&](auto& m) {
    return m.load(path(), CheckpointRanks::kFilePerRank);
  };
  std::filesystem::remove(path("metric.a.rank1"));
  expect_refused(2, absl::StatusCode::kNotFound,
                 "rank 1: " + path("metric.a.rank1"), load);
  std::filesystem::copy(path("old"), path("metric.a.rank1"));
  expect_refused(3, absl::StatusCode::kFailedPrecondition,
                 "rank 1: " + path("metric.a.rank1") +
                     " belongs to another save than " + path(),
                 load);
  std::filesystem::resize_file(path("metric.a.rank1"), 50);
  expect_refused(5, absl::StatusCode::kDataLoss, "the checkpoint is truncated",
                 load);
}

TEST_F(RankCheckpointTest, OtherMetricsOnSomeRankAreAMismatch) {
  save(2, CheckpointRanks::kOneFile);
  run_thread_ranks(3, [&](const auto& communicator) {
    MetricCollection metrics = collection();
    if (communicator->rank() == 1) metrics.add("more", SampleTensorSum());
    for (const bool saves : {false, true}) {
      for (const auto as :
           {CheckpointRanks::kOneFile, CheckpointRanks::kFilePerRank}) {
        try {
          const absl::Status status =
              saves ? metrics.save(path(), as) : metrics.load(path(), as);
          ADD_FAILURE() << message_of(status);
        } catch (const SyncError& error) {
          EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
          EXPECT_THAT(error.message(),
                      HasSubstr(" of rows, extent, more, rows = "));
        }
      }
    }
    SampleTensorSum sum(
        NoOptions(), MetricOptions().validate_args(communicator->rank() != 1));
    try {
      const absl::Status status = sum.save(path(), CheckpointRanks::kOneFile);
      ADD_FAILURE() << message_of(status);
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
      EXPECT_THAT(
          error.message(),
          HasSubstr(" of SampleTensorSum, SampleTensorSum = SampleTotals("));
    }
    try {
      const absl::Status status =
          communicator->rank() == 2
              ? metrics.save(path(), CheckpointRanks::kFilePerRank)
              : metrics.save(path(), CheckpointRanks::kOneFile);
      ADD_FAILURE() << message_of(status);
    } catch (const SyncError& error) {
      EXPECT_THAT(error.message(),
                  HasSubstr("save(path, CheckpointRanks::kOneFile) of rows"));
    }
  });
  // The checkpoint itself is of other metrics.
  run_thread_ranks(3, [&](const auto&) {
    SampleTensorSum metric;
    metric.update(number(1));
    const absl::Status status = metric.load(path(), CheckpointRanks::kOneFile);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message_of(status),
                StartsWith("rank 0: the checkpoint holds the states of "));
    EXPECT_EQ(value_of(metric.compute()), 3);
  });
}

}  // namespace
}  // namespace tally
