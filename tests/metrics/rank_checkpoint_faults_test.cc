// Checkpoints of several ranks that die: real processes over Gloo.

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tally/metrics/collection.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/deadlines.h"
#include "tally/tests/testing/process_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using sync::Communicator;
using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::FaultyCommunicator;
using testkit::kLongTimeout;
using testkit::ProcessRank;
using testkit::ProcessRanks;
using testkit::run_thread_ranks;

constexpr int kBatches = 9;
constexpr int kSaved = 5;

at::Tensor rows_of(std::int64_t batch) {
  return at::arange(3 * batch, 3 * batch + 3, at::kDouble).reshape({3, 1});
}

MetricCollection metrics_of(const std::shared_ptr<Communicator>& ranks) {
  MetricCollection metrics(MetricOptions().communicator(ranks));
  metrics.add("rows", testkit::SampleCat());
  metrics.add("extent", testkit::SampleExtent());
  return metrics;
}

/// The rows of each batch are dealt to the ranks.
void update(MetricCollection& metrics, int begin, int end,
            const Communicator& ranks) {
  for (int batch = begin; batch < end; ++batch) {
    for (int row = ranks.rank(); row < 3; row += ranks.size()) {
      metrics.update(rows_of(batch).narrow(0, row, 1));
    }
  }
}

void expect_batches(MetricCollection& metrics, int batches) {
  const Results results = metrics.compute();
  const at::Tensor rows = std::get<0>(results["rows"].sort(0));
  EXPECT_TRUE(rows.equal(
      at::arange(3 * batches, at::kDouble).reshape({3 * batches, 1})));
  EXPECT_EQ(results["extent.high"].item<double>(), 3 * batches - 1);
}

struct Death {
  CheckpointRanks as;
  int rank;
  std::int64_t collective;  // of a second save
  int saved;                // batches in the checkpoint afterwards
};

class SaveDeathTest : public ::testing::TestWithParam<Death> {
 protected:
  SaveDeathTest()
      : folder_(
            std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~SaveDeathTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "metric"; }

 private:
  std::filesystem::path folder_;
};

// The run goes on from the last checkpoint, whatever it died in, on any number
// of ranks.
TEST_P(SaveDeathTest, LeavesAWholeCheckpointToStartAgainFrom) {
  const Death death = GetParam();
  ProcessRanks ranks(3, [&](const ProcessRank& self) {
    std::shared_ptr<Communicator> group = self.connect(kLongTimeout);
    std::int64_t left = -1;  // collectives
    if (self.rank() == death.rank) {
      group = std::make_shared<FaultyCommunicator>(group, [&](std::int64_t) {
        if (left-- == 0) ::raise(SIGKILL);
      });
    }
    MetricCollection metrics = metrics_of(group);
    update(metrics, 0, kSaved, *group);
    ASSERT_TRUE(metrics.save(path(), death.as).ok());
    update(metrics, kSaved, kSaved + 1, *group);
    const std::string before = metrics.serialize();
    left = death.collective;
    try {
      const absl::Status status = metrics.save(path(), death.as);
      ADD_FAILURE() << "saved without a rank: " << status;
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
      EXPECT_THAT(error.details().metric, HasSubstr("rows"));
    }
    EXPECT_EQ(metrics.serialize(), before);
  });
  const auto results = ranks.join();
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(results[r].exit_code,
              r == death.rank ? 128 + SIGKILL : int{ProcessRanks::kOk});
  }
  const auto run_on = [&](int again, int begin, int end) {
    run_thread_ranks(again, [&](const auto& communicator) {
      MetricCollection metrics = metrics_of(communicator);
      ASSERT_TRUE(metrics.load(path(), death.as).ok());
      expect_batches(metrics, begin);
      update(metrics, begin, end, *communicator);
      expect_batches(metrics, end);
      // In the place of what was left of the one before.
      ASSERT_TRUE(metrics.save(path(), death.as).ok());
    });
  };
  run_on(5, death.saved, 7);
  run_on(2, 7, 8);
  run_on(1, 8, kBatches);
}

// What is agreed on last, rank 0 has written before.
INSTANTIATE_TEST_SUITE_P(
    Deaths, SaveDeathTest,
    ::testing::Values(Death{CheckpointRanks::kOneFile, 0, 0, kSaved},
                      Death{CheckpointRanks::kOneFile, 2, 1, kSaved},
                      Death{CheckpointRanks::kOneFile, 0, 1, kSaved},
                      Death{CheckpointRanks::kOneFile, 0, 2, kSaved + 1},
                      Death{CheckpointRanks::kFilePerRank, 0, 0, kSaved},
                      Death{CheckpointRanks::kFilePerRank, 1, 1, kSaved},
                      Death{CheckpointRanks::kFilePerRank, 0, 1, kSaved},
                      Death{CheckpointRanks::kFilePerRank, 0, 2, kSaved + 1}),
    [](const auto& param) {
      const Death& death = param.param;
      return c10::str(
          death.as == CheckpointRanks::kOneFile ? "OneFile" : "FilePerRank",
          "Rank", death.rank, "Collective", death.collective);
    });

// Two ranks over Gloo are not alone, whatever one of them has in mind.
TEST(EvaluationAloneTest, IsAnErrorThatSaysHowItIsDone) {
  ProcessRanks ranks(2, [](const ProcessRank& self) {
    auto group = self.connect(kLongTimeout);
    MetricCollection metrics = metrics_of(group);
    update(metrics, 0, 2, *group);
    if (self.rank() == 1) return;  // the program's end
    const std::string ways =
        "; this rank was in compute() of rows, extent after 4 updates; a rank "
        "that evaluates alone takes MetricOptions().sync_on_compute(false), or "
        "a CommunicatorGuard of single_process_communicator()";
    try {
      metrics.compute();
      ADD_FAILURE() << "computed without a rank";
    } catch (const SyncError& error) {
      EXPECT_EQ(error.code(), SyncErrorCode::kPeerLost);
      EXPECT_THAT(error.message(), HasSubstr(ways));
    }
    metrics.set_metric_options(MetricOptions().sync_on_compute(false));
    EXPECT_EQ(metrics.compute()["rows"].size(0), 4);
    metrics.set_metric_options(MetricOptions());
    const sync::CommunicatorGuard alone(sync::single_process_communicator());
    EXPECT_EQ(metrics.compute()["rows"].size(0), 4);
  });
  for (const auto& result : ranks.join()) {
    EXPECT_EQ(result.exit_code, ProcessRanks::kOk);
  }
}

}  // namespace
}  // namespace tally
