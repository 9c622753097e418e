#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/progress.h"
#include "tally/cli/source.h"
#include "tally/metrics/registry/collection_config.h"
#include "tally/sync/communicator.h"

namespace tally::cli {

/// What there is to evaluate, checked as far as it can be without evaluating.
struct Job {
  std::vector<std::int64_t> split;  ///< rows of each rank
  std::int64_t batch_size = 0;
  std::unique_ptr<Source> source;
  MetricCollection metrics;
};

/// Throws c10::ValueError for what is wrong with arguments and files.
Job prepare(const Arguments& arguments, int ranks);

struct Report {
  int ranks = 1;
  std::int64_t rows = 0;
  Results results;
};

/// Evaluates this rank's rows, and the metrics of all ranks' rows together.
/// Collective. What is wrong on one rank is a c10::ValueError on all of them.
Report evaluate(const Arguments& arguments,
                const std::shared_ptr<sync::Communicator>& ranks,
                Progress& progress);

}  // namespace tally::cli
