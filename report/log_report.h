#pragma once

#include <string>
#include <vector>

#include "tally/report/report_page.h"
#include "tally/sinks/metric_log.h"

namespace tally {

/// Adds sections on a log: the last step's results (see add_results), and
/// charts over the steps of all single numbers and of vectors of up to 8
/// elements. `class_names` name classes. Results of the names `name`,
/// `name.low` and `name.high` are a value and the ends of its interval.
///
/// Example:
///     absl::StatusOr<MetricLog> log = read_metric_log("runs/first/log.jsonl");
///     ReportPage page("First run");
///     if (log.ok()) add_log(page, *log);
void add_log(ReportPage& page, const MetricLog& log,
             const std::vector<std::string>& class_names = {});

/// A log, and what its run is called in tables and charts.
struct NamedLog {
  std::string name;
  MetricLog log;
};

/// Adds sections that compare runs: for each single number the last value that
/// each run has logged, as a table and as charts with intervals where there are
/// any, and the values over the steps, a curve for each run.
///
/// Throws c10::ValueError without a log, for more than 8, and for a name that
/// occurs twice.
///
/// Example:
///     std::vector<NamedLog> logs;
///     for (const char* run : {"first", "second"}) {
///       auto log = read_metric_log(std::string("runs/") + run + "/log.jsonl");
///       if (log.ok()) logs.push_back({run, *std::move(log)});
///     }
///     ReportPage page("Runs");
///     if (!logs.empty()) add_logs(page, logs);
void add_logs(ReportPage& page, const std::vector<NamedLog>& logs);

}  // namespace tally
