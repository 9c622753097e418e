#include "tally/report/log_report.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <map>

#include "tally/report/results_report.h"

namespace tally {
namespace {

constexpr std::int64_t kMostCurves = 8;

/// The steps of a result that is a number, or of a vector's element.
struct Track {
  std::string name;
  std::vector<double> steps;
  std::vector<double> values;

  void add(std::int64_t step, const at::Tensor& value) {
    steps.push_back(static_cast<double>(step));
    values.push_back(value.to(at::kDouble).item<double>());
  }
  PlotCurve curve() const {
    return {name, at::tensor(steps, at::kDouble),
            at::tensor(values, at::kDouble)};
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

void add_step(std::vector<Tracks>& all, const MetricLog::Step& step,
              const std::vector<std::string>& labels) {
  for (const auto& [name, value] : step.results) {
    if (!value.defined() || value.is_complex() || value.dim() > 1) continue;
    if (value.dim() == 0) {
      auto& tracks = tracks_of(all, name).tracks;
      if (tracks.empty()) tracks.push_back({name, {}, {}});
      tracks[0].add(step.step, value);
      continue;
    }
    if (value.size(0) < 1 || value.size(0) > kMostCurves) continue;
    auto& tracks = tracks_of(all, name).tracks;
    const auto count = static_cast<std::size_t>(value.size(0));
    for (std::size_t i = 0; i < count; ++i) {
      if (i == tracks.size()) {
        tracks.push_back(
            {labels.size() == count ? labels[i] : std::to_string(i), {}, {}});
      }
      tracks[i].add(step.step, value[static_cast<std::int64_t>(i)]);
    }
  }
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
  add_results(page, last.results, labels);

  std::vector<Tracks> all;
  for (const MetricLog::Step& step : log.steps) add_step(all, step, labels);
  if (all.empty()) return;
  page.section("Over " + std::to_string(log.steps.size()) + " steps");
  for (const Tracks& each : all) {
    std::vector<PlotCurve> curves;
    for (const Track& track : each.tracks) curves.push_back(track.curve());
    add_steps(page, curves, each.title);
  }
}

}  // namespace tally
