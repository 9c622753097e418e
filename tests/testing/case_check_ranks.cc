#include <algorithm>

#include "tally/sync/exchange/exchange.h"
#include "tally/tests/testing/case_check.h"
#include "tally/tests/testing/drive.h"
#include "tally/tests/testing/gradient_checks.h"

namespace tally::testkit {
namespace {

struct SplitReport {
  Results value;
  Results value_synced;
  std::int64_t collectives = 0;
  std::int64_t bytes = 0;
  std::int64_t count_synced = 0;
  bool restored = false;
};

struct StepReport {
  Results first, second, total;
};

}  // namespace

std::vector<Batch> CaseCheck::step(const Batch& rows, int ranks) const {
  std::vector<std::int64_t> weights(ranks, 1);
  weights.back() = 3;
  if (ranks > 2 && options_.takes_empty_batches) weights[1] = 0;
  const auto at = cuts(rows.front().rows(), weights);
  std::vector<Batch> parts;
  for (int r = 0; r < ranks; ++r) {
    parts.push_back(rows_of(rows, at[r], at[r + 1]));
  }
  return parts;
}

void CaseCheck::check_splits(int ranks) {
  for (const Split& split : splits_of(fixture_, ranks, split_options())) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "split " + split.name);
    std::int64_t updates = 0;
    for (const auto& batches : split.ranks) updates += batches.size();
    const auto reports = on_ranks<SplitReport>(
        ranks, [&](const sync::Communicator& communicator) {
          SplitReport report;
          const auto metric = made_of(split.ranks[communicator.rank()]);
          report.bytes = metric->serialize().size();
          report.collectives = -communicator.collectives();
          report.value = metric->compute_results();
          report.collectives += communicator.collectives();
          const std::string before = metric->serialize();
          metric->sync();
          report.value_synced = metric->compute_results();
          report.count_synced = metric->update_count();
          metric->unsync();
          report.restored = metric->serialize() == before;
          return report;
        });
    std::int64_t bytes = 0;
    for (const auto& report : reports) bytes = std::max(bytes, report.bytes);
    for (size_t r = 0; r < reports.size(); ++r) {
      const SplitReport& report = reports[r];
      const std::string where = "on rank " + std::to_string(r);
      EXPECT_TRUE(near(report.value, whole_, near_)) << where;
      EXPECT_TRUE(same_bits(report.value, reports[0].value)) << where;
      EXPECT_TRUE(same_bits(report.value_synced, report.value)) << where;
      EXPECT_EQ(report.count_synced, updates) << where;
      EXPECT_TRUE(report.restored)
          << "unsync() did not restore the state " << where;
      const bool eager = bytes <= sync::internal::Exchange::eager_bytes(ranks);
      EXPECT_LE(report.collectives, ranks == 1 ? 0 : eager ? 1 : 2) << where;
    }
  }
}

void CaseCheck::check_steps(int ranks) {
  if (!fixture_.row_split) return;
  const Batch rows = joined(batches_);
  if (rows.front().rows() < 2 * ranks && !options_.takes_empty_batches) {
    return;
  }
  const std::vector<Batch> parts = step(rows, ranks);
  const auto reports =
      on_ranks<StepReport>(ranks, [&](const sync::Communicator& communicator) {
        const int rank = communicator.rank();
        const auto metric = make(metric_options().dist_sync_on_step(true));
        StepReport report;
        report.first = forward(*metric, parts[rank]);
        report.second = forward(*metric, parts[(rank + 1) % ranks]);
        metric->reset();
        update(*metric, parts[rank]);
        report.total = metric->compute_results();
        return report;
      });
  std::vector<Batch> turned = parts;
  std::rotate(turned.begin(), turned.begin() + 1, turned.end());
  const Results second = made_of({joined(turned)})->compute_results();
  for (size_t r = 0; r < reports.size(); ++r) {
    const std::string where = "on rank " + std::to_string(r);
    EXPECT_TRUE(near(reports[r].first, whole_, near_)) << where;
    EXPECT_TRUE(near(reports[r].second, second, near_)) << where;
    EXPECT_TRUE(near(reports[r].total, whole_, near_)) << where;
    EXPECT_TRUE(same_bits(reports[r].first, reports[0].first)) << where;
  }
}

void CaseCheck::check_gradients() {
  GradientSubject subject;
  subject.make = [&](const MetricOptions& o) { return make(o); };
  subject.metric_options = metric_options();
  subject.rows = fixture_.row_split ? joined(batches_) : batches_.front();
  if (fixture_.row_split) {
    for (const int ranks : {2, 3}) {
      subject.steps.push_back(step(subject.rows, ranks));
    }
  }
  subject.inputs = options_.differentiable_inputs;
  subject.compare = options_.skip_gradients.count(fixture_.name) == 0;
  testkit::check_gradients(subject);
}

}  // namespace tally::testkit
