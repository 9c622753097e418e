#include "tally/cli/saved_states.h"

#include <c10/util/Exception.h>

#include "tally/metrics/common/status_text.h"

namespace tally::cli {

void check_saved(const Job& job, const Arguments& arguments) {
  if (arguments.save.empty() || job.intervals.empty()) return;
  TORCH_CHECK_VALUE(job.intervals.size() == 1,
                    "--save: expected one metric with --interval, got ",
                    job.intervals.size(), ": a file holds one");
  const IntervalMetric& metric = job.intervals.front().metric;
  const bool has_ids = !arguments.ids.empty() || !arguments.groups.empty();
  TORCH_CHECK_VALUE(
      has_ids || !metric.uses_ids() || metric.metric().sampling().unit_input,
      "--save: requires --ids or --groups with the interval of ",
      job.intervals.front().name,
      ": the numbers of rows are the same in other files");
}

void save_states(Job& job, const Arguments& arguments) {
  if (arguments.save.empty()) return;
  MetricBase* saved = &job.metrics;
  if (job.slices) saved = &*job.slices;
  if (!job.intervals.empty()) saved = &job.intervals.front().metric;
  const absl::Status status =
      saved->save(arguments.save, CheckpointRanks::kOneFile, arguments.part);
  TORCH_CHECK_VALUE(status.ok(),
                    "--save: ", tally::internal::message_of(status));
}

}  // namespace tally::cli
