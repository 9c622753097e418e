#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/fixtures.h"

/// Metrics of unknown type, and the ranks that use them.
namespace tally::testkit {

void update(Metric& metric, const Batch& batch);
void update(Metric& metric, const std::vector<Batch>& batches);
Results forward(Metric& metric, const Batch& batch);

/// In float64, with a graph of its own for every input of the list that may
/// have one.
Batch with_graph(const Batch& rows, const std::vector<std::size_t>& inputs);

/// A failure for each rank that threw, but for those that only lost a peer
/// by that; whether there was any.
bool report_throws(const std::vector<std::exception_ptr>& errors);

/// What `function(communicator)` returns on each rank; empty, after a failure
/// that says why, if a rank threw.
template <class Report, class Function>
std::vector<Report> on_ranks(int ranks, const Function& function) {
  std::vector<Report> reports(ranks);
  const auto errors = collect_thread_ranks(
      ranks, [&](const std::shared_ptr<sync::Communicator>& communicator) {
        reports[communicator->rank()] = function(*communicator);
      });
  if (report_throws(errors)) reports.clear();
  return reports;
}

}  // namespace tally::testkit
