#include "tally/cli/report_pages.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "tally/cli/compared_output.h"
#include "tally/cli/curves.h"
#include "tally/cli/evaluate.h"
#include "tally/cli/flags_text.h"
#include "tally/cli/output.h"
#include "tally/cli/regression_rows.h"
#include "tally/cli/render.h"
#include "tally/report/log_report.h"
#include "tally/report/results_report.h"

namespace tally::cli {
namespace {

std::string title_of(const Arguments& arguments, const std::string& other) {
  return arguments.title.empty() ? other : arguments.title;
}

std::string rows_text(std::int64_t rows, int ranks) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows") + " on " +
         std::to_string(ranks) + (ranks == 1 ? " rank." : " ranks.");
}

/// Whether the metrics asked for have a confusion matrix, or a curve.
bool has_matrix(const Results& results) {
  const Dimensions matrix{Dimension::kClass, Dimension::kClass};
  for (const auto& [name, value] : results) {
    if (results.dimensions(name) == matrix) return true;
  }
  return false;
}
bool has_part(const Results& results, std::string_view part) {
  for (const auto& [name, value] : results) {
    if (name.size() > part.size() &&
        name.compare(name.size() - part.size(), part.size(), part) == 0) {
      return true;
    }
  }
  return false;
}

void add_curves(ReportPage& page, const Results& results,
                const CurvesShown& shown,
                const std::vector<std::string>& labels) {
  const bool has_confusion = shown.confusion.defined() && !has_matrix(results);
  const bool has_roc = !shown.roc.empty() && !has_part(results, ".fpr");
  const bool has_pr =
      !shown.precision_recall.empty() && !has_part(results, ".recall");
  if (!has_confusion && !has_roc && !has_pr && shown.calibration.empty() &&
      shown.remark.empty()) {
    return;
  }
  page.section("Classification");
  if (!shown.remark.empty()) {
    page.text("There are no curves: " + shown.remark);
  }
  if (has_confusion) {
    const auto classes = static_cast<std::size_t>(shown.confusion.size(0));
    add_confusion_matrix(
        page, shown.confusion,
        labels.size() == classes ? labels : std::vector<std::string>());
  }
  if (has_roc) add_roc(page, shown.roc);
  if (has_pr) {
    add_precision_recall(page, shown.precision_recall, shown.prevalence);
  }
  if (!shown.calibration.empty()) {
    add_calibration(page, shown.preds, shown.target, shown.calibration);
  }
}

ReportIntervals intervals_of(const Report& report) {
  ReportIntervals intervals;
  for (const auto& [name, interval] : report.intervals) {
    intervals[name] = {interval.low, interval.high};
  }
  return intervals;
}

void add_regression(ReportPage& page, const RegressionRows::Shown& shown) {
  if (!shown.preds.defined()) return;
  page.section("Regression");
  if (shown.preds.size(0) < shown.rows) {
    page.text("Of " + std::to_string(shown.rows) + " rows, " +
              std::to_string(shown.preds.size(0)) +
              " equally spaced ones are shown.");
  }
  add_predicted(page, shown.preds, shown.target);
  add_residuals(page, shown.preds, shown.target);
}

void add_worst_slices(ReportPage& page, const Report& report) {
  if (report.compared.empty()) return;
  page.section("Worst slices");
  page.text(
      "Each slice against all other rows. Effect: the difference in standard "
      "deviations of a row. Among slices with a q of at most 0.05, about 5% "
      "are there by chance.");
  for (const MetricSlices& each : report.compared) {
    if (each.slices.empty()) {
      page.text(no_slices_words(each));
      continue;
    }
    add_compared_slices(page, each.metric, each.slices, each.unit);
    page.text(compared_words(each, count_slices(report)));
    for (const std::string& line : flag_lines(each.slices)) page.text(line);
  }
}

/// Shows what is read to several.
class Watchers final : public Watcher {
 public:
  explicit Watchers(std::vector<Watcher*> all) : all_(std::move(all)) {}

  void begin(const Job& job) override {
    for (Watcher* each : all_) each->begin(job);
  }
  void batch(std::int64_t first, const std::vector<InputValue>& values,
             const SliceKeys* keys) override {
    for (Watcher* each : all_) each->batch(first, values, keys);
  }

 private:
  std::vector<Watcher*> all_;
};

/// By what the runs are called, if each has a name of its own, or by files,
/// which are mostly folder/log.jsonl.
void name_runs(std::vector<NamedLog>& logs) {
  std::set<std::string> names;
  for (const NamedLog& each : logs) names.insert(each.log.run);
  const bool are_named = names.size() == logs.size() && names.count("") == 0;
  constexpr std::string_view kFile = "/log.jsonl";
  for (NamedLog& each : logs) {
    if (are_named) {
      each.name = each.log.run;
    } else if (each.name.size() > kFile.size() &&
               each.name.compare(each.name.size() - kFile.size(), kFile.size(),
                                 kFile) == 0) {
      each.name.resize(each.name.size() - kFile.size());
    }
  }
}

/// Those that wrote the logs, as far as they are known.
void add_commands(ReportPage& page, const std::vector<NamedLog>& logs) {
  bool is_first = true;
  for (const NamedLog& each : logs) {
    if (each.log.command.empty()) continue;
    if (is_first) page.section("Logged by");
    is_first = false;
    if (logs.size() > 1) page.text(each.name);
    page.code(each.log.command);
  }
}

void write_page(const Arguments& arguments, ReportPage& page,
                const std::string& command) {
  page.section("Command");
  page.code(command);
  write_output(arguments.output, page.html());
}

}  // namespace

void report_evaluation(const Arguments& arguments, const std::string& command,
                       const std::shared_ptr<sync::Communicator>& ranks,
                       Progress& progress) {
  const std::vector<std::string>& labels = arguments.csv_options.labels;
  Curves curves(labels);
  RegressionRows points;
  Watchers watchers({&curves, &points});
  const Report report =
      evaluate(arguments, ranks, progress, kSpareBytes, &watchers);
  const CurvesShown shown = curves.compute(ranks);
  const RegressionRows::Shown rows = points.compute(ranks);
  if (ranks->rank() != 0) return;
  print_remarks(report);
  ReportPage page(title_of(arguments, "Evaluation"));
  page.section("Results");
  page.text(rows_text(report.rows, report.ranks));
  if (!report.intervals.empty()) {
    page.text(intervals_text(report.intervals) + ".");
    std::istringstream flags(flags_text(report.intervals));
    for (std::string line; std::getline(flags, line);) page.text(line + ".");
  }
  add_results(page, report.results, labels, intervals_of(report));
  add_curves(page, report.results, shown, labels);
  add_regression(page, rows);
  if (!report.slices.empty()) {
    page.section("Slices");
    add_slices(page, report.by, report.slices);
    add_worst_slices(page, report);
  }
  write_page(arguments, page, command);
}

void report_logs(const Arguments& arguments, const std::string& command) {
  std::vector<NamedLog> logs;
  for (const std::string& path : arguments.logs) {
    absl::StatusOr<MetricLog> log = read_metric_log(path);
    TORCH_CHECK_VALUE(log.ok(), std::string(log.status().message().data(),
                                            log.status().message().size()));
    logs.push_back({path, *std::move(log)});
  }
  const MetricLog& first = logs.front().log;
  const bool is_one = logs.size() == 1;
  const std::string run = is_one ? first.run : "Runs";
  ReportPage page(title_of(arguments, run.empty() ? "Log" : run));
  if (is_one) {
    add_log(page, first, arguments.csv_options.labels);
  } else {
    name_runs(logs);
    add_logs(page, logs);
  }
  add_commands(page, logs);
  write_page(arguments, page, command);
}

std::string command_text(int argc, char** argv) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./"
      "-";
  std::string command = "tally";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    command += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) {
      command += word;
      continue;
    }
    command += '\'';
    for (const char c : word) {
      if (c == '\'') {
        command += "'\\''";
      } else {
        command += c;
      }
    }
    command += '\'';
  }
  return command;
}

}  // namespace tally::cli
