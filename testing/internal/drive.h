#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/testing/batch.h"
#include "tally/testing/internal/findings.h"
#include "tally/testing/thread_ranks.h"

/// Type-erased metrics, and the ranks that use them.
namespace tally::testkit::internal {

void update(Metric& metric, const Batch& batch);
void update(Metric& metric, const std::vector<Batch>& batches);
Results forward(Metric& metric, const Batch& batch);

/// In float64, with a separate graph for every listed input that may have one.
Batch with_graph(const Batch& rows, const std::vector<std::size_t>& inputs);

/// Adds a finding for each rank that threw, except those that only lost a peer
/// as a result; returns whether there was any.
bool find_throws(const std::vector<std::exception_ptr>& errors,
                 Findings& findings);

/// The results of `function(communicator)` on each rank; empty, with a finding
/// that states the reason, if a rank threw.
template <class Report, class Function>
std::vector<Report> on_ranks(int ranks, Findings& findings,
                             const Function& function) {
  std::vector<Report> reports(ranks);
  const auto errors = collect_thread_ranks(
      ranks, [&](const std::shared_ptr<sync::Communicator>& communicator) {
        reports[communicator->rank()] = function(*communicator);
      });
  if (find_throws(errors, findings)) reports.clear();
  return reports;
}

}  // namespace tally::testkit::internal
