#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

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

namespace {

struct BadBatch {
  std::string name;
  Batch inputs;
  bool must_be_refused = false;
};

// The last value is another one.
Batch spoiled(Batch batch, std::size_t input, double value) {
  const at::Tensor tensor = batch[input].tensor().clone();
  tensor.reshape({-1})[-1].fill_(value);
  batch[input] = tensor;
  return batch;
}

// What update() may well refuse: each of the rows' inputs spoiled in some way.
std::vector<BadBatch> suspects(const Batch& rows) {
  std::vector<BadBatch> result;
  const auto add = [&](std::string name, Batch inputs) {
    result.push_back({std::move(name), std::move(inputs)});
  };
  add("no inputs", {});
  Batch more = rows;
  for (int i = 0; i < 8; ++i) more.push_back(at::zeros({1}));
  add("eight inputs more", more);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::string input = " input " + std::to_string(k);
    Batch changed = rows;
    if (rows[k].is_tensor()) {
      changed[k] = BatchInput::Texts{"a text"};
    } else {
      changed[k] = at::zeros({1});
    }
    add("another type of" + input, changed);
    if (rows.size() > 1 && rows[k].rows() > 0) {
      changed = rows;
      changed[k] = rows[k].slice(1, rows[k].rows()).copy();
      add("a row less in" + input, changed);
    }
    if (!rows[k].is_tensor()) continue;
    changed = rows;
    changed[k] = rows[k].tensor().unsqueeze(-1).unsqueeze(-1);
    add("two dimensions more in" + input, changed);
    if (rows[k].tensor().numel() == 0 || rows[k].tensor().is_complex()) {
      continue;
    }
    if (rows[k].is_floating()) {
      add("NaN in" + input,
          spoiled(rows, k, std::numeric_limits<double>::quiet_NaN()));
    } else if (rows[k].tensor().scalar_type() != at::kBool) {
      add("a label out of range in" + input,
          spoiled(rows, k,
                  rows[k].tensor().scalar_type() == at::kByte ? 250 : -100));
    }
  }
  return result;
}

// What the call throws; empty if nothing.
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return "refused: " + sync::describe(error);
  }
  return "";
}

struct BadReport {
  bool threw = false;
  bool group_usable = true;
  bool unchanged = true;
  Results value;
};

}  // namespace

void LawCheck::check_bad_input() {
  if (batches().empty()) return;
  std::vector<BadBatch> bad = suspects(batches().back());
  for (std::size_t i = 0; i < options().bad_inputs().size(); ++i) {
    bad.push_back({"bad_inputs[" + std::to_string(i) + "]",
                   options().bad_inputs()[i](subject_.seed, 4), true});
  }
  const Batch* refused = nullptr;
  for (const BadBatch& one : bad) {
    const Findings::Within within(findings_, one.name);
    const auto metric = make();
    bool taken = false;
    // Before the first batch, and behind each one.
    for (std::size_t i = 0; i <= batches().size(); ++i) {
      if (i > 0) update(*metric, batches()[i - 1]);
      const std::string before = metric->serialize();
      const auto count = metric->update_count();
      const bool by_forward = i % 2 == 1;
      const std::string why = refusal_of([&] {
        by_forward ? static_cast<void>(forward(*metric, one.inputs))
                   : update(*metric, one.inputs);
      });
      taken = why.empty();
      if (taken) break;
      findings_.expect(metric->serialize() == before,
                       "a rejected batch changes the state");
      findings_.expect_equal(metric->update_count(), count,
                             "the update count after a rejected batch");
    }
    if (taken) {
      findings_.expect(!one.must_be_refused, "a bad batch is accepted");
      continue;
    }
    refused = &one.inputs;
    findings_.expect(same_bits(metric->compute_results(), whole()),
                     "a rejected batch affects later ones");
  }
  if (refused && !few_ranks().empty()) {
    check_bad_input_over_ranks(*refused, few_ranks().front());
  }
}

void LawCheck::check_bad_input_over_ranks(const Batch& bad, int ranks) {
  const Findings::Within within(
      findings_, c10::str("over ", ranks,
                          " ranks, of which the last has a bad ", "batch"));
  const Split split = splits(ranks).front();
  const auto reports = on_ranks<BadReport>(
      ranks, findings_, [&](const sync::Communicator& communicator) {
        BadReport report;
        const int rank = communicator.rank();
        const auto metric =
            make(MetricOptions(metric_options()).dist_sync_on_step(true));
        update(*metric, split.ranks[rank]);
        const std::string before = metric->serialize();
        const bool is_last = rank + 1 == ranks;
        try {
          forward(*metric, is_last ? bad : batches().back());
        } catch (const sync::SyncError& error) {
          report.threw = true;
          report.group_usable =
              error.code() == sync::SyncErrorCode::kPeerFailed;
        } catch (const std::exception&) {
          report.threw = true;
        }
        report.unchanged = metric->serialize() == before;
        if (report.group_usable && report.threw) {
          report.value = metric->compute_results();
        }
        return report;
      });
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const Findings::Within where(findings_, "on rank " + std::to_string(r));
    findings_.expect(reports[r].threw,
                     "another rank's bad batch is not an error here");
    findings_.expect(reports[r].group_usable,
                     "a bad batch ends the group of ranks");
    findings_.expect(reports[r].unchanged,
                     "a bad batch on one rank changes a state");
    if (reports[r].threw && reports[r].group_usable) {
      findings_.expect(near(reports[r].value, whole(), near_),
                       "after a bad batch on one rank the value is not that "
                       "of one process");
    }
  }
}

}  // namespace tally::testkit::internal
