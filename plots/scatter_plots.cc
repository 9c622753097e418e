#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tally/plots/axes.h"
#include "tally/plots/plot_inputs.h"
#include "tally/plots/plots.h"

namespace tally {
namespace {

using internal::Anchor;
using internal::Axes;
using internal::draw_title;
using internal::kFaint;
using internal::kLeft;
using internal::kRight;
using internal::kTop;
using internal::PlotRange;
using internal::Svg;
using internal::title_of;

struct Pairs {
  std::vector<double> preds;
  std::vector<double> target;
};

Pairs pairs_of(const char* plot, const at::Tensor& preds,
               const at::Tensor& target) {
  Pairs pairs{internal::plotted(plot, "preds", preds, 1),
              internal::plotted(plot, "target", target, 1)};
  TORCH_CHECK_VALUE(pairs.preds.size() == pairs.target.size(), plot,
                    ": expected as many preds as targets, got ",
                    pairs.preds.size(), " and ", pairs.target.size());
  return pairs;
}

/// A mark for each finite point; of those that would hide each other, one.
void draw_points(Svg& svg, const Axes& axes, const std::vector<double>& x,
                 const std::vector<double>& y) {
  constexpr double kCell = 3;
  std::set<std::pair<long, long>> taken;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    const internal::PlotPoint at = axes.at(x[i], y[i]);
    const std::pair cell{std::lround(at.x / kCell), std::lround(at.y / kCell)};
    if (taken.insert(cell).second) svg.dot(at, internal::plot_style(0).color);
  }
}

std::string rows_text(std::size_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

}  // namespace

std::string residuals_plot(const at::Tensor& preds, const at::Tensor& target,
                           const PlotOptions& options) {
  constexpr double kFlat = 0.6;
  const Pairs pairs = pairs_of("residuals_plot", preds, target);
  std::vector<double> residuals, all{0};
  for (std::size_t i = 0; i < pairs.preds.size(); ++i) {
    residuals.push_back(pairs.target[i] - pairs.preds[i]);
    if (std::isfinite(pairs.preds[i])) all.push_back(residuals.back());
  }
  const std::string title = title_of(options, "Residuals");
  const double width = options.width() - kLeft - kRight;
  Svg svg(options.width(), kTop + width * kFlat + 44, title,
          title + " of " + rows_text(residuals.size()) +
              ": target minus prediction over the prediction");
  draw_title(svg, options, title);
  const PlotRange x = internal::range_of(pairs.preds);
  Axes axes(svg, {kLeft, kTop, width, width * kFlat}, x,
            internal::range_of(all));
  axes.draw("prediction", "residual");
  draw_points(svg, axes, pairs.preds, residuals);
  axes.line({x.low, 0}, {x.high, 0}, kFaint, 1, "4 4");
  return svg.str();
}

std::string predicted_plot(const at::Tensor& preds, const at::Tensor& target,
                           const PlotOptions& options) {
  const Pairs pairs = pairs_of("predicted_plot", preds, target);
  std::vector<double> all = pairs.preds;
  all.insert(all.end(), pairs.target.begin(), pairs.target.end());
  const PlotRange range = internal::range_of(all);
  const std::string title = title_of(options, "Predicted and true");
  const double side = options.width() - kLeft - kRight;
  Svg svg(options.width(), kTop + side + 44, title,
          title + " values of " + rows_text(pairs.preds.size()) +
              ", with the diagonal");
  draw_title(svg, options, title);
  Axes axes(svg, {kLeft, kTop, side, side}, range, range);
  axes.draw("true", "predicted");
  draw_points(svg, axes, pairs.target, pairs.preds);
  axes.line({range.low, range.low}, {range.high, range.high}, kFaint, 1, "4 4");
  return svg.str();
}

std::string runs_plot(const std::vector<PlotRun>& runs,
                      const PlotOptions& options) {
  constexpr const char* kName = "runs_plot";
  constexpr double kLine = 24;
  TORCH_CHECK_VALUE(!runs.empty(), kName, ": expected at least 1 run, got 0");
  std::vector<double> all;
  double label = 0;
  for (const PlotRun& run : runs) {
    TORCH_CHECK_VALUE(!(run.low > run.value) && !(run.high < run.value), kName,
                      ": expected an interval around the value of '", run.name,
                      "', got ", run.value, " and ", run.low, " to ", run.high);
    all.insert(all.end(), {run.value, run.low, run.high});
    label = std::max(label, internal::text_width(run.name));
  }
  label = std::min(label, options.width() / 4);
  const std::string title = title_of(options, "Runs");
  const double left = 24 + label, width = options.width() - left - 80;
  const double height = kLine * static_cast<double>(runs.size());
  Svg svg(options.width(), kTop + height + 40, title,
          title + " of " + std::to_string(runs.size()) +
              " runs, with intervals where there are any");
  draw_title(svg, options, title);
  // Markers stay clear of the texts beside.
  PlotRange range = internal::range_of(all);
  const double margin = (range.high - range.low) / 20;
  range = {range.low - margin, range.high + margin};
  Axes axes(svg, {left, kTop, width, height}, range, {0, 1});
  axes.draw("", "", 3, 0);
  const auto& style = internal::plot_style(0);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlotRun& run = runs[i];
    const double place =
        1 - (static_cast<double>(i) + 0.5) / static_cast<double>(runs.size());
    const internal::PlotPoint at = axes.at(run.value, place);
    const double y = axes.at(0, place).y;
    svg.text({left - 6, y + 4}, internal::shortened(run.name, label),
             Anchor::kEnd);
    const bool is_known = std::isfinite(run.value);
    svg.text({left + width + 8, y + 4},
             is_known ? internal::plot_label(run.value) : "undefined",
             Anchor::kStart);
    if (!is_known) continue;
    if (std::isfinite(run.low) && std::isfinite(run.high)) {
      axes.line({run.low, place}, {run.high, place}, style.color, 2);
    }
    svg.marker(at, 0);
  }
  return svg.str();
}

}  // namespace tally
