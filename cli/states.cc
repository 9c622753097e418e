#include "tally/cli/states.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "tally/cli/compare_runs.h"
#include "tally/cli/render.h"
#include "tally/files/file_list.h"
#include "tally/metrics/common/status_text.h"
#include "tally/metrics/metric_spec.h"
#include "tally/metrics/portable/state_files.h"

namespace tally::cli {
namespace {

using tally::internal::message_of;
using Json = nlohmann::ordered_json;

StateFile checked(absl::StatusOr<StateFile> file) {
  // What people have beside states.
  const std::string text = message_of(file.status());
  const bool is_other = text.find("expected a Tally checkpoint") != text.npos;
  TORCH_CHECK_VALUE(file.ok(), text,
                    is_other ? "; results, as CSV or JSON, are no states, and "
                               "cannot be merged: evaluate writes states with "
                               "--save"
                             : "");
  return *std::move(file);
}

/// What a file is of, and its values.
struct Shown {
  std::int64_t rows = -1;  // not known
  Report report;
  std::optional<ComparedRuns> runs;
};

void add_columns(std::size_t count, Report& report) {
  for (std::size_t i = 0; i < count; ++i) {
    report.by.push_back(count == 1 ? "slice" : "slice" + std::to_string(i + 1));
  }
}

/// With a name for the part that has none.
Results named(const std::string& name, const Results& results) {
  Results all;
  for (const auto& [part, value] : results) {
    all.add(part.empty() ? name : part, value, results.dimensions(part));
  }
  return all;
}

void show(std::unique_ptr<Metric>& metric, Shown& shown) {
  shown.report.results = named(metric->name(), metric->compute_results());
}

void show(MetricCollection& metrics, Shown& shown) {
  shown.report.results = metrics.compute();
}

/// Of the metric in "SlicedMetric(metric=BinaryAccuracy(...))".
std::string inner_name(const MetricBase& metric) {
  const MetricSpec spec = parse_metric_spec(metric.spec());
  const auto inner = spec.options.find("metric");
  return inner == spec.options.end() ? ""
                                     : parse_metric_spec(inner->second).name;
}

void show(SlicedMetric& metrics, Shown& shown) {
  shown.report.slices = metrics.compute();
  shown.rows = 0;
  const std::string name = inner_name(metrics);
  for (SliceResult& slice : shown.report.slices) {
    shown.rows += slice.rows;
    slice.results = named(name, slice.results);
  }
  add_columns(
      shown.report.slices.empty() ? 1 : shown.report.slices.front().key.size(),
      shown.report);
}

void show(SliceComparison& metric, Shown& shown) {
  MetricSlices slices;
  slices.metric = inner_name(metric);
  slices.unit = metric.unit();
  slices.options = metric.options();
  slices.slices = metric.compute();
  add_columns(slices.slices.empty() ? 1 : slices.slices.front().key.size(),
              shown.report);
  shown.report.compared.push_back(std::move(slices));
}

void show(IntervalMetric& metric, Shown& shown) {
  shown.rows = metric.rows();
  for (const auto& [part, interval] : metric.compute()) {
    const std::string name = part.empty() ? metric.metric().name() : part;
    shown.report.results.add(name, interval.value);
    shown.report.intervals.add(name, interval);
  }
}

void show(MetricTracker& metrics, Shown& shown) {
  if (metrics.n_steps() > 0) shown.report.results = metrics.compute_all();
}

void show(NamedSets& sets, Shown& shown) {
  shown.report.results = sets.compute();
  shown.rows = 0;
  for (const std::string& set : sets.sets()) shown.rows += sets.rows(set);
}

void show(ModelComparison& metric, Shown& shown) {
  shown.rows = metric.rows();
  ComparedRuns runs;
  runs.level = metric.options().level();
  for (const auto& [part, comparison] : metric.compute()) {
    runs.comparisons.add(part.empty() ? metric.metric().name() : part,
                         comparison);
  }
  shown.runs = std::move(runs);
}

/// "parts 0, 1, 3 of 5".
std::string parts_text(const StateFile& file) {
  return (file.parts.size() == 1 ? "part " : "parts ") + part_list(file.parts) +
         " of " + std::to_string(file.part_count);
}

std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string as_json(const StateFile& file, const Shown& shown,
                    const std::string& values) {
  Json all;
  all["spec"] = base_of(file.metric).spec();
  all["updates"] = base_of(file.metric).update_count();
  all["rows"] = shown.rows < 0 ? Json() : Json(shown.rows);
  all["sources"] = file.sources;
  if (file.part_count > 0) {
    all["parts"] = {{"count", file.part_count},
                    {"held", file.parts},
                    {"missing", file.missing_parts()}};
  }
  Json found = Json::parse(values);
  for (const char* name : {"ranks", "rows", "first", "second", "level",
                           "only_first", "only_second"}) {
    found.erase(name);
  }
  all.update(found);
  return all.dump() + "\n";
}

/// What is above the values in a table.
std::string head_text(const StateFile& file, const Shown& shown) {
  const std::int64_t updates = base_of(file.metric).update_count();
  std::string text = base_of(file.metric).spec() + "\n";
  if (shown.rows >= 0) text += counted(shown.rows, "row") + ", ";
  text += counted(updates, "update") + " of " +
          (file.sources.empty()
               ? "an unrecorded number of accumulations"
               : counted(static_cast<std::int64_t>(file.sources.size()),
                         "accumulation"));
  if (file.part_count > 0) text += ", " + parts_text(file);
  return text + "\n\n";
}

}  // namespace

std::string merge_states(const Arguments& arguments) {
  const std::vector<std::string> paths = files::list_files(arguments.states);
  const StateFile whole =
      checked(merge_state_files(paths, arguments.is_partial));
  const absl::Status saved = base_of(whole.metric).save(arguments.output);
  TORCH_CHECK_VALUE(saved.ok(), message_of(saved));
  std::string text = arguments.output + ": " +
                     counted(static_cast<std::int64_t>(paths.size()), "file") +
                     ", " +
                     counted(base_of(whole.metric).update_count(), "update");
  if (whole.part_count > 0) {
    const std::size_t missing = whole.missing_parts().size();
    text += ", " + std::to_string(whole.parts.size()) + " of " +
            counted(whole.part_count, "part") +
            (missing > 0 ? ": partial" : "");
  }
  return text + "\n";
}

std::string show_states(const Arguments& arguments) {
  StateFile file = checked(read_state_file(arguments.states.front()));
  Shown shown;
  std::visit([&](auto& metric) { show(metric, shown); }, file.metric);
  shown.report.rows = std::max<std::int64_t>(0, shown.rows);
  const auto& labels = arguments.csv_options.labels;
  const std::string values =
      shown.runs ? render(*shown.runs, arguments.format)
                 : render(shown.report, arguments.format, labels);
  switch (arguments.format) {
    case Format::kCsv:
      return values;
    case Format::kJson:
      return as_json(file, shown, values);
    case Format::kTable:
      break;
  }
  return head_text(file, shown) + values;
}

}  // namespace tally::cli
