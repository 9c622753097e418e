#include <algorithm>

#include "tally/sync/exchange/exchange.h"
#include "tally/testing/internal/gradient_law.h"
#include "tally/testing/internal/law_check.h"

namespace tally::testkit::internal {
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

void LawCheck::check_splits() {
  for (const int ranks : options().ranks()) {
    for (const Split& split : splits(ranks)) {
      const Findings::Within within(
          findings_,
          c10::str("over ", ranks, " ranks, split \"", split.name, '"'));
      check_split(split);
    }
  }
}

void LawCheck::check_split(const Split& split) {
  const int ranks = static_cast<int>(split.ranks.size());
  std::int64_t updates = 0;
  for (const auto& own : split.ranks) {
    updates += static_cast<std::int64_t>(own.size());
  }
  const auto reports = on_ranks<SplitReport>(
      ranks, findings_, [&](const sync::Communicator& communicator) {
        SplitReport report;
        const auto metric = made_of(split.ranks[communicator.rank()]);
        report.bytes = static_cast<std::int64_t>(metric->serialize().size());
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
  const bool eager = bytes <= sync::internal::Exchange::eager_bytes(ranks);
  const std::int64_t most = ranks == 1 ? 0 : eager ? 1 : 2;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const SplitReport& report = reports[r];
    const Findings::Within where(findings_, "on rank " + std::to_string(r));
    findings_.expect(near(report.value, whole(), near_),
                     "the value is not that of one process");
    findings_.expect(same_bits(report.value, reports[0].value),
                     "the value differs from rank 0's");
    findings_.expect(same_bits(report.value_synced, report.value),
                     "after sync() compute() gives a different value");
    findings_.expect_equal(report.count_synced, updates,
                           "the update count after sync()");
    findings_.expect(report.restored, "unsync() does not restore the state");
    findings_.expect(report.collectives <= most,
                     "compute() takes more collectives than it should");
  }
}

void LawCheck::check_synced_forward() {
  if (!subject_.cut_rows) return;
  const Batch rows = joined(batches());
  for (const int ranks : few_ranks()) {
    if (rows.front().rows() < 2 * ranks && !options().takes_empty_batches()) {
      continue;
    }
    const Findings::Within within(findings_,
                                  c10::str("over ", ranks, " ranks"));
    const std::vector<Batch> parts =
        step_of(rows, ranks, options().takes_empty_batches());
    const auto reports = on_ranks<StepReport>(
        ranks, findings_, [&](const sync::Communicator& communicator) {
          const int rank = communicator.rank();
          const auto metric =
              make(MetricOptions(metric_options()).dist_sync_on_step(true));
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
    for (std::size_t r = 0; r < reports.size(); ++r) {
      const Findings::Within where(findings_, "on rank " + std::to_string(r));
      findings_.expect(near(reports[r].first, whole(), near_),
                       "a synced forward() is not the value of one process");
      findings_.expect(near(reports[r].second, second, near_),
                       "a second synced forward() is not the value of one "
                       "process");
      findings_.expect(near(reports[r].total, whole(), near_),
                       "after synced forward() the value is not that of one "
                       "process");
      findings_.expect(same_bits(reports[r].first, reports[0].first),
                       "a synced forward() differs from rank 0's");
    }
  }
}

void LawCheck::check_gradients() {
  if (batches().empty()) return;
  GradientSubject subject;
  subject.make = subject_.make;
  subject.metric_options = metric_options();
  subject.rows = subject_.cut_rows ? joined(batches()) : batches().front();
  if (subject_.cut_rows) {
    for (const int ranks : few_ranks()) {
      subject.steps.push_back(
          step_of(subject.rows, ranks, options().takes_empty_batches()));
    }
  }
  subject.inputs = options().differentiable_inputs();
  subject.compare = subject_.compare_gradients;
  internal::check_gradients(subject, findings_);
}

}  // namespace tally::testkit::internal
