#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "tally/metrics/aggregation/cat_metric.h"
#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/collection.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/three_metrics.h"

namespace tally {
namespace {

using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::batch;
using testkit::joined;
using testkit::near;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using testkit::same_bits;
using testkit::Samples;
using testkit::three_metrics;
using testkit::update;

TEST(MetricCollectionSyncTest, SyncsEverythingAtOnce) {
  for (int ranks : {2, 3, 5}) {
    SCOPED_TRACE(ranks);
    std::vector<Samples> all;
    // The last rank is idle.
    for (int rank = 0; rank + 1 < ranks; ++rank) {
      all.push_back(batch(3 + rank, rank));
    }
    MetricCollection whole = three_metrics();
    update(whole, joined(all));
    const Results expected = whole.compute();
    run_thread_ranks(ranks, [&](const auto& communicator) {
      MetricCollection metrics = three_metrics();
      metrics.add("values", MeanMetric());
      const auto rank = static_cast<std::size_t>(communicator->rank());
      if (rank < all.size()) {
        metrics.update({{"preds", all[rank].preds},
                        {"target", all[rank].target},
                        {"value", all[rank].preds}});
      }
      const std::int64_t before = communicator->collectives();
      const Results results = metrics.compute();
      EXPECT_EQ(communicator->collectives(), before + 1);
      for (const auto& [name, value] : expected) {
        EXPECT_TRUE(near(results[name], value, {1e-12, 0})) << name;
      }
      // Every rank has a cached value: they agree to use it.
      EXPECT_TRUE(same_bits(metrics.compute(), results));
      EXPECT_EQ(communicator->collectives(), before + 2);
    });
  }
}

THREAD_RANKS_TEST(MetricCollectionSyncTest, SyncsLargeStatesInTwoCollectives,
                  3) {
  MetricCollection metrics;
  metrics.add("mean", MeanMetric());
  metrics.add("all", CatMetric());
  metrics.update(at::full({5000}, double(self.rank()), at::kDouble));
  const std::int64_t before = self.group()->collectives();
  const Results results = metrics.compute();
  EXPECT_EQ(self.group()->collectives(), before + 2);
  EXPECT_EQ(results["mean"].item<double>(), 1);
  EXPECT_EQ(results["all"].size(0), 15000);
}

THREAD_RANKS_TEST(MetricCollectionSyncTest, SyncAndUnsync, 2) {
  MetricCollection metrics = three_metrics();
  update(metrics, batch(4, self.rank()));
  if (self.rank() == 1) update(metrics, batch(2, 7));
  const Results local = metrics.state();
  const Results global = metrics.compute();
  metrics.sync();
  EXPECT_TRUE(metrics.is_synced());
  EXPECT_EQ(metrics.status(), MetricStatus::kSynced);
  EXPECT_EQ(metrics.update_count(), 3);
  const std::int64_t collectives = self.group()->collectives();
  EXPECT_TRUE(same_bits(metrics.compute(), global));
  EXPECT_EQ(self.group()->collectives(), collectives);
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { update(metrics, batch(2, 1)); },
           [&] { metrics.forward(batch(2, 1).preds, batch(2, 1).target); },
           [&] { metrics.sync(); },
           [&] { metrics.merge_state(three_metrics()); }}) {
    EXPECT_THAT(refusal_of<c10::Error>(call), HasSubstr("unsync()"));
  }
  metrics.unsync();
  EXPECT_TRUE(same_bits(metrics.state(), local));
  EXPECT_EQ(metrics.update_count(), self.rank() + 1);
  EXPECT_THAT(refusal_of<c10::Error>([&] { metrics.unsync(); }),
              HasSubstr("unsync() without sync()"));
}

THREAD_RANKS_TEST(MetricCollectionSyncTest, SyncScopeEndsWithAnException, 2) {
  MetricCollection metrics = three_metrics();
  update(metrics, batch(4, 1));
  try {
    const SyncScope scope(metrics);
    EXPECT_TRUE(metrics.is_synced());
    throw std::runtime_error("while synced");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(metrics.is_synced());
}

TEST(MetricCollectionSyncTest, SyncsOnStepIfAsked) {
  const std::vector<Samples> all = {batch(4, 0), batch(1, 1), batch(0, 2)};
  MetricCollection whole = three_metrics();
  update(whole, joined(all));
  const Results expected = whole.compute();
  run_thread_ranks(3, [&](const auto& communicator) {
    MetricCollection metrics =
        three_metrics(MetricOptions().dist_sync_on_step(true));
    const Samples& mine = all[communicator->rank()];
    const std::int64_t before = communicator->collectives();
    EXPECT_TRUE(
        near(metrics.forward(mine.preds, mine.target), expected, {1e-12, 0}));
    EXPECT_EQ(communicator->collectives(), before + 1);
    // What is accumulated is this rank's own.
    MetricCollection own = three_metrics();
    update(own, mine);
    EXPECT_TRUE(same_bits(metrics.state(), own.state()));
  });
}

THREAD_RANKS_TEST(MetricCollectionSyncTest, ComputesLocallyIfAsked, 2) {
  MetricCollection metrics =
      three_metrics(MetricOptions().sync_on_compute(false));
  const Samples mine = batch(4, self.rank());
  update(metrics, mine);
  MeanSquaredError mse({}, MetricOptions().sync_on_compute(false));
  update(mse, mine);
  EXPECT_TRUE(same_bits(metrics.compute()["mse"], mse.compute()));
  EXPECT_EQ(self.group()->collectives(), 0);
}

THREAD_RANKS_TEST(MetricCollectionSyncTest, RanksWithOtherMetricsAreAMismatch,
                  2) {
  MetricCollection metrics = three_metrics();
  if (self.rank() == 1) metrics.add("mean", MeanMetric());
  try {
    metrics.compute();
    ADD_FAILURE() << "no error";
  } catch (const SyncError& error) {
    EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  }
  // The group stays usable.
  MetricCollection same = three_metrics();
  update(same, batch(3, 1));
  EXPECT_EQ(same.compute().size(), 3);
}

}  // namespace
}  // namespace tally
