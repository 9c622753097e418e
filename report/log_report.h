#pragma once

#include <string>
#include <vector>

#include "tally/report/report_page.h"
#include "tally/sinks/metric_log.h"

namespace tally {

/// Adds sections on a log: the last step's results (see add_results), and
/// charts over the steps of all single numbers and of vectors of up to 8
/// elements. `labels` name classes.
///
/// Example:
///     absl::StatusOr<MetricLog> log = read_metric_log("runs/first/log.jsonl");
///     ReportPage page("First run");
///     if (log.ok()) add_log(page, *log);
void add_log(ReportPage& page, const MetricLog& log,
             const std::vector<std::string>& labels = {});

}  // namespace tally
