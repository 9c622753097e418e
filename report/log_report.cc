#include "tally/report/log_report.h"

#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tally/metrics/results_table.h"
#include "tally/report/results_report.h"

namespace tally {
namespace {

constexpr std::int64_t kMostTracks = 8;  // in a chart
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// The steps of a result that is a number, or of a vector's element.
struct Track {
  std::string name;
  std::vector<double> steps;
  std::vector<double> values;
  std::vector<double> lows;  // of intervals; NaN without one
  std::vector<double> highs;

  void add(std::int64_t step, double value, double low = kNone,
           double high = kNone) {
    steps.push_back(static_cast<double>(step));
    values.push_back(value);
    lows.push_back(low);
    highs.push_back(high);
  }
  PlotCurve curve() const {
    PlotCurve drawn{name, at::tensor(steps, at::kDouble),
                    at::tensor(values, at::kDouble)};
    const auto is_number = [](double each) { return !std::isnan(each); };
    if (std::any_of(lows.begin(), lows.end(), is_number)) {
      drawn.low = at::tensor(lows, at::kDouble);
      drawn.high = at::tensor(highs, at::kDouble);
    }
    return drawn;
  }
};

/// A chart: of one number, or of a vector.
struct Tracks {
  std::string title;
  std::vector<Track> tracks;
};

Tracks& tracks_of(std::vector<Tracks>& all, const std::string& title) {
  const auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const Tracks& each) { return each.title == title; });
  if (found != all.end()) return *found;
  all.push_back({title, {}});
  return all.back();
}

bool is_number(const at::Tensor& value) {
  return value.defined() && !value.is_complex() && value.dim() == 0;
}

double number_of(const at::Tensor& value) {
  return value.to(at::kDouble).item<double>();
}

/// Whether `name` is a value with the ends of its interval beside it.
bool has_interval(const Results& results, const std::string& name) {
  const std::string low = name + ".low", high = name + ".high";
  return results.contains(low) && results.contains(high) &&
         results[name].defined() && results[low].defined() &&
         results[high].defined() &&
         results[low].sizes().equals(results[name].sizes()) &&
         results[high].sizes().equals(results[name].sizes());
}

/// Whether `name` is an end of another result's interval.
bool is_end(const Results& results, const std::string& name) {
  for (const std::string end : {".low", ".high"}) {
    if (name.size() <= end.size()) continue;
    const std::size_t stem = name.size() - end.size();
    const std::string value = name.substr(0, stem);
    if (name.compare(stem, end.size(), end) == 0 && results.contains(value) &&
        has_interval(results, value)) {
      return true;
    }
  }
  return false;
}

void add_number(Track& track, const MetricLog::Step& step,
                const std::string& name) {
  const double value = number_of(step.results[name]);
  if (has_interval(step.results, name)) {
    track.add(step.step, value, number_of(step.results[name + ".low"]),
              number_of(step.results[name + ".high"]));
  } else {
    track.add(step.step, value);
  }
}

void add_step(std::vector<Tracks>& all, const MetricLog::Step& step,
              const std::vector<std::string>& labels) {
  for (const auto& [name, value] : step.results) {
    if (is_end(step.results, name)) continue;
    if (is_number(value)) {
      auto& tracks = tracks_of(all, name).tracks;
      if (tracks.empty()) tracks.push_back({name, {}, {}, {}, {}});
      add_number(tracks[0], step, name);
      continue;
    }
    if (!value.defined() || value.is_complex() || value.dim() != 1 ||
        value.size(0) < 1 || value.size(0) > kMostTracks) {
      continue;
    }
    auto& tracks = tracks_of(all, name).tracks;
    const auto elements =
        internal::elements_of(step.results, name, 0, labels).names;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i == tracks.size()) tracks.push_back({elements[i], {}, {}, {}, {}});
      tracks[i].add(step.step, number_of(value[static_cast<std::int64_t>(i)]));
    }
  }
}

void add_charts(ReportPage& page, const std::vector<Tracks>& all) {
  for (const Tracks& each : all) {
    std::vector<PlotCurve> curves;
    for (const Track& track : each.tracks) curves.push_back(track.curve());
    add_steps(page, curves, each.title);
  }
}

/// Each number, with a track for each run that has logged it.
std::vector<Tracks> tracks_by_run(const std::vector<NamedLog>& logs) {
  std::vector<Tracks> all;
  for (const NamedLog& run : logs) {
    for (const MetricLog::Step& step : run.log.steps) {
      for (const auto& [name, value] : step.results) {
        if (!is_number(value) || is_end(step.results, name)) continue;
        auto& tracks = tracks_of(all, name).tracks;
        if (tracks.empty() || tracks.back().name != run.name) {
          tracks.push_back({run.name, {}, {}, {}, {}});
        }
        add_number(tracks.back(), step, name);
      }
    }
  }
  return all;
}

ReportTable last_values(const std::vector<NamedLog>& logs,
                        const std::vector<Tracks>& all) {
  ReportTable table{"Last values", {"run", "steps", "last step"}, {}};
  for (const Tracks& each : all) table.columns.push_back(each.title);
  for (const NamedLog& run : logs) {
    const auto& steps = run.log.steps;
    table.rows.push_back(
        {run.name, static_cast<std::int64_t>(steps.size()),
         steps.empty() ? ReportCell("") : ReportCell(steps.back().step)});
    for (const Tracks& each : all) {
      ReportCell cell("");
      for (const Track& track : each.tracks) {
        if (track.name == run.name) cell = track.values.back();
      }
      table.rows.back().push_back(std::move(cell));
    }
  }
  return table;
}

}  // namespace

void add_log(ReportPage& page, const MetricLog& log,
             const std::vector<std::string>& labels) {
  if (log.steps.empty()) {
    page.section("Results");
    page.text("No step has been logged yet.");
    return;
  }
  const MetricLog::Step& last = log.steps.back();
  page.section("Results of step " + std::to_string(last.step));
  Results values;
  ReportIntervals intervals;
  for (const auto& [name, value] : last.results) {
    if (is_end(last.results, name)) continue;
    values.add(name, value, last.results.dimensions(name));
    if (has_interval(last.results, name)) {
      intervals[name] = {last.results[name + ".low"],
                         last.results[name + ".high"]};
    }
  }
  add_results(page, values, labels, intervals);

  std::vector<Tracks> all;
  for (const MetricLog::Step& step : log.steps) add_step(all, step, labels);
  if (all.empty()) return;
  page.section("Over " + std::to_string(log.steps.size()) + " steps");
  add_charts(page, all);
}

void add_logs(ReportPage& page, const std::vector<NamedLog>& logs) {
  TORCH_CHECK_VALUE(!logs.empty() && logs.size() <= kMostTracks,
                    "expected from 1 to ", kMostTracks, " logs, got ",
                    logs.size());
  std::set<std::string> names;
  for (const NamedLog& run : logs) {
    TORCH_CHECK_VALUE(names.insert(run.name).second,
                      "expected logs of different names, got '", run.name,
                      "' twice");
  }
  const std::vector<Tracks> all = tracks_by_run(logs);
  page.section("Runs");
  page.table(last_values(logs, all));
  for (const Tracks& each : all) {
    std::vector<PlotRun> runs;
    for (const Track& track : each.tracks) {
      runs.push_back({track.name, track.values.back(), track.lows.back(),
                      track.highs.back()});
    }
    add_runs(page, runs, each.title);
  }
  if (all.empty()) return;
  page.section("Over the steps");
  add_charts(page, all);
}

}  // namespace tally
