// Checkpoints of several ranks that die: real processes over Gloo.

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tally/metrics/collection.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using sync::Communicator;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::Fault;
using testkit::run_thread_ranks;
using testkit::sync_error_of;

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

class SaveDeathTest : public ::testing::TestWithParam<Death> {};

// The run goes on from the last checkpoint, whatever it died in, on any number
// of ranks.
RANKS_TEST_P(SaveDeathTest, LeavesAWholeCheckpointToStartAgainFrom, 3) {
  const Death death = GetParam();
  const std::string path = self.folder() + "/metric";
  MetricCollection metrics = metrics_of(self.group());
  update(metrics, 0, kSaved, *self.group());
  ASSERT_TRUE(metrics.save(path, death.as).ok());
  update(metrics, kSaved, kSaved + 1, *self.group());
  const std::string before = metrics.serialize();
  self.inject(Fault::kill(), death.rank, death.collective);
  const auto error = sync_error_of([&] {
    const absl::Status status = metrics.save(path, death.as);
    ADD_FAILURE() << "saved without a rank: " << status;
  });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kPeerLost);
  EXPECT_THAT(error->details().metric, HasSubstr("rows"));
  EXPECT_EQ(metrics.serialize(), before);

  // One of those that are left.
  self.barrier();
  if (self.rank() != (death.rank == 0 ? 1 : 0)) return;
  const auto run_on = [&](int again, int begin, int end) {
    run_thread_ranks(again, [&](const auto& communicator) {
      MetricCollection of_new_run = metrics_of(communicator);
      ASSERT_TRUE(of_new_run.load(path, death.as).ok());
      expect_batches(of_new_run, begin);
      update(of_new_run, begin, end, *communicator);
      expect_batches(of_new_run, end);
      // In the place of what was left of the one before.
      ASSERT_TRUE(of_new_run.save(path, death.as).ok());
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
RANKS_TEST(EvaluationAloneTest, IsAnErrorThatSaysHowItIsDone, 2) {
  MetricCollection metrics = metrics_of(self.group());
  update(metrics, 0, 2, *self.group());
  if (self.rank() == 1) return;  // the program's end
  const std::string ways =
      "; this rank was in compute() of rows, extent after 4 updates; to "
      "evaluate on one rank only, use MetricOptions().sync_on_compute(false), "
      "or a CommunicatorGuard with single_process_communicator()";
  const auto error = sync_error_of([&] { metrics.compute(); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), SyncErrorCode::kPeerLost);
  EXPECT_THAT(error->message(), HasSubstr(ways));
  metrics.set_metric_options(MetricOptions().sync_on_compute(false));
  EXPECT_EQ(metrics.compute()["rows"].size(0), 4);
  metrics.set_metric_options(MetricOptions());
  const sync::CommunicatorGuard alone(sync::single_process_communicator());
  EXPECT_EQ(metrics.compute()["rows"].size(0), 4);
}

}  // namespace
}  // namespace tally
