#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/limits.h"
#include "tally/cli/source.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/registry/collection_config.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/sinks/progress.h"
#include "tally/sync/communicator.h"

namespace tally::cli {

/// Of one metric.
struct NamedInterval {
  std::string name;
  IntervalMetric metric;
};

/// An evaluation, validated as far as possible without running it.
struct Job {
  std::unique_ptr<TensorLimit> memory;
  std::vector<std::int64_t> split;  ///< rows of each rank
  std::int64_t batch_size = 0;
  CollectionConfig config;
  std::unique_ptr<Source> source;
  MetricCollection metrics;
  std::vector<std::string> by;         ///< columns of the slices' keys
  std::optional<SlicedMetric> slices;  ///< if there are such columns
  /// Of each of the columns, the numbers with fractions so far.
  std::vector<std::set<std::string>> fractions;
  bool has_ids = false;  ///< that --ids names
  /// Of each row of this rank its id, and 1, or 0 if its weight is 0.
  std::vector<std::int64_t> ids;
  std::vector<NamedInterval>
      intervals;  ///< if they or replicates are asked for
};

/// Size allowed for a tensor regardless of the files' size: enough for a
/// confusion matrix of 8000 classes.
inline constexpr std::int64_t kSpareBytes = 512 << 20;

/// Throws c10::ValueError for invalid arguments and files. While the job
/// exists, tensors are limited to `spare_bytes` or a multiple of the files'
/// size.
Job prepare(const Arguments& arguments, int ranks,
            std::int64_t spare_bytes = kSpareBytes);

/// How a metric's slices compare with all other rows.
struct MetricSlices {
  std::string metric;
  std::string unit;    ///< "row", "group", "query"
  std::string remark;  ///< why there are none; empty otherwise
  SliceComparisonOptions options;
  std::vector<ComparedSlice> slices;
};

struct Report {
  int ranks = 1;
  std::int64_t rows = 0;
  Results results;
  std::string remarks;          ///< of the source, and warnings; one per line
  std::string table;            ///< instead of the usual one, unless empty
  std::vector<std::string> by;  ///< columns, of whose values there are slices
  std::vector<SliceResult> slices;
  std::vector<MetricSlices> compared;  ///< if asked for
  Intervals intervals;                 ///< named as the results
  NamedReplicates replicates;          ///< if asked for
};

/// Sees what an evaluation reads, beside its metrics. Neither throws.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// Before the first batch.
  virtual void begin(const Job& job) = 0;
  /// The inputs of rows from `first` on; `keys` if there are slices.
  virtual void batch(std::int64_t first, const std::vector<InputValue>& values,
                     const SliceKeys* keys) = 0;
};

/// Updates the metrics with this rank's rows and computes them over all ranks.
/// Collective. An error on one rank is a c10::ValueError on all of them.
Report evaluate(const Arguments& arguments,
                const std::shared_ptr<sync::Communicator>& ranks,
                Progress& progress, std::int64_t spare_bytes = kSpareBytes,
                Watcher* watcher = nullptr);

}  // namespace tally::cli
