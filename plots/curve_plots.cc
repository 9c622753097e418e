#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tally/plots/axes.h"
#include "tally/plots/calibration_bins.h"
#include "tally/plots/plot_inputs.h"
#include "tally/plots/plots.h"

namespace tally::internal {
namespace {

constexpr double kZ = 1.959963984540054;  // of 95 %

/// Wilson's interval of k successes of n.
CalibrationBin bin_of(double sum, double k, double n) {
  const double p = k / n, z2 = kZ * kZ;
  const double center = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      kZ / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {sum / n, p, std::max(0.0, center - half),
          std::min(1.0, center + half), n};
}

}  // namespace

std::vector<CalibrationBin> calibration_bins(const std::vector<double>& preds,
                                             const std::vector<double>& target,
                                             std::int64_t count) {
  std::vector<std::size_t> order(preds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return preds[a] < preds[b]; });
  std::vector<CalibrationBin> bins;
  std::size_t begin = 0;
  for (std::int64_t bin = 1; bin <= count; ++bin) {
    std::size_t end = order.size() * static_cast<std::size_t>(bin) /
                      static_cast<std::size_t>(count);
    // Equal predictions share a bin, or it would depend on their order.
    while (end > begin && end < order.size() &&
           preds[order[end]] == preds[order[end - 1]]) {
      ++end;
    }
    if (end <= begin) continue;
    double sum = 0, positives = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += preds[order[i]];
      positives += target[order[i]];
    }
    bins.push_back(bin_of(sum, positives, static_cast<double>(end - begin)));
    begin = end;
  }
  return bins;
}

}  // namespace tally::internal

namespace tally {
namespace {

using internal::Axes;
using internal::kFaint;
using internal::kLeft;
using internal::kRight;
using internal::kTop;
using internal::PlotArea;
using internal::PlotRange;
using internal::PlottedCurve;
using internal::Svg;
using internal::title_of;

constexpr double kBelow = 52;  // numbers and a name

using Names = std::vector<std::string>;

/// A plot of curves with a legend below.
template <class Draw>
std::string drawn(const PlotOptions& options, const std::string& title,
                  const Names& legend, double ratio, const Draw& draw) {
  const double width = options.width() - kLeft - kRight;
  const PlotArea area{kLeft, kTop, width, width * ratio};
  const double below = kTop + area.height + kBelow;
  const double height =
      below + internal::kLegendLine * static_cast<double>(legend.size());
  Svg svg(options.width(), height, title,
          title + ". " + c10::Join("; ", legend));
  internal::draw_title(svg, options, title);
  draw(svg, area);
  internal::draw_legend(svg, {kLeft, below}, width, legend);
  return svg.str();
}

/// By trapezoids.
double area_under(const PlottedCurve& curve) {
  double area = 0;
  for (std::size_t i = 1; i < curve.x.size(); ++i) {
    area += (curve.x[i] - curve.x[i - 1]) * (curve.y[i] + curve.y[i - 1]) / 2;
  }
  return std::abs(area);
}

/// The curve as steps: each y lasts from its x to the next smaller one.
PlottedCurve as_steps(const PlottedCurve& curve) {
  PlottedCurve steps{curve.name, {}, {}, {}, {}};
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (i > 0) {
      const bool falls = curve.x[i] < curve.x[i - 1];
      steps.x.push_back(falls ? curve.x[i] : curve.x[i - 1]);
      steps.y.push_back(falls ? curve.y[i - 1] : curve.y[i]);
    }
    steps.x.push_back(curve.x[i]);
    steps.y.push_back(curve.y[i]);
  }
  return steps;
}

std::string with_number(const std::string& name, const char* what,
                        double value) {
  return name + (name.empty() ? "" : ": ") + what + " " +
         internal::plot_label(value);
}

/// Bands first, which hide no curve.
void draw_curves(Axes& axes, const std::vector<PlottedCurve>& curves) {
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (curves[i].low.empty()) continue;
    axes.band(curves[i].x, curves[i].low, curves[i].high,
              internal::plot_style(i));
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    axes.curve(curves[i].x, curves[i].y, internal::plot_style(i));
  }
}

}  // namespace

std::string roc_plot(const std::vector<PlotCurve>& curves,
                     const PlotOptions& options) {
  const auto numbers = internal::plotted("roc_plot", curves);
  Names legend;
  for (const PlottedCurve& curve : numbers) {
    legend.push_back(with_number(curve.name, "area", area_under(curve)));
  }
  return drawn(options, title_of(options, "ROC"), legend, 1,
               [&](Svg& svg, const PlotArea& area) {
                 Axes axes(svg, area, {0, 1}, {0, 1});
                 axes.draw("false positive rate", "true positive rate");
                 axes.line({0, 0}, {1, 1}, kFaint, 1, "4 4");
                 draw_curves(axes, numbers);
               });
}

std::string precision_recall_plot(const std::vector<PlotCurve>& curves,
                                  double prevalence,
                                  const PlotOptions& options) {
  auto numbers = internal::plotted("precision_recall_plot", curves);
  Names legend;
  for (PlottedCurve& curve : numbers) {
    curve = as_steps(curve);
    legend.push_back(
        with_number(curve.name, "average precision", area_under(curve)));
  }
  return drawn(
      options, title_of(options, "Precision and recall"), legend, 1,
      [&](Svg& svg, const PlotArea& area) {
        Axes axes(svg, area, {0, 1}, {0, 1});
        axes.draw("recall", "precision");
        for (const double f1 : {0.2, 0.4, 0.6, 0.8}) {
          std::vector<double> recall, precision;
          for (double r = f1 / (2 - f1); r < 1; r += 0.01) {
            recall.push_back(r);
            precision.push_back(f1 * r / (2 * r - f1));
          }
          recall.push_back(1);
          precision.push_back(f1 / (2 - f1));
          axes.curve(recall, precision, {"#b0b0b0", "1 3"});
          const internal::PlotPoint end = axes.at(1, f1 / (2 - f1));
          svg.text({end.x - 2, end.y - 3}, "F1 " + internal::plot_label(f1),
                   internal::Anchor::kEnd, "#595959");
        }
        if (std::isfinite(prevalence)) {
          axes.line({0, prevalence}, {1, prevalence}, kFaint, 1, "4 4");
        }
        draw_curves(axes, numbers);
      });
}

namespace {

constexpr double kRatio = 0.6;

/// Curves, with marks where they have few points.
void draw_marked(Svg& svg, Axes& axes,
                 const std::vector<PlottedCurve>& curves) {
  constexpr std::size_t kMostMarkers = 20;
  draw_curves(axes, curves);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const PlottedCurve& curve = curves[i];
    if (curve.x.size() > kMostMarkers) continue;
    for (std::size_t k = 0; k < curve.x.size(); ++k) {
      if (std::isfinite(curve.x[k]) && std::isfinite(curve.y[k])) {
        svg.marker(axes.at(curve.x[k], curve.y[k]), i);
      }
    }
  }
}

Names legend_of(const std::vector<PlottedCurve>& curves) {
  Names legend;
  for (const PlottedCurve& curve : curves) {
    legend.push_back(curve.y.empty()
                         ? curve.name
                         : with_number(curve.name, "last", curve.y.back()));
  }
  return legend;
}

}  // namespace

std::string steps_plot(const std::vector<PlotCurve>& curves,
                       const PlotOptions& options) {
  const auto numbers = internal::plotted("steps_plot", curves);
  std::vector<double> all_x, all_y;
  for (const PlottedCurve& curve : numbers) {
    all_x.insert(all_x.end(), curve.x.begin(), curve.x.end());
    for (const auto* values : {&curve.y, &curve.low, &curve.high}) {
      all_y.insert(all_y.end(), values->begin(), values->end());
    }
  }
  return drawn(options, title_of(options, "Values over steps"),
               legend_of(numbers), kRatio, [&](Svg& svg, const PlotArea& area) {
                 Axes axes(svg, area, internal::range_of(all_x),
                           internal::range_of(all_y));
                 axes.draw("step", "value");
                 draw_marked(svg, axes, numbers);
               });
}

std::string retrieval_plot(const std::vector<PlotCurve>& curves,
                           const PlotOptions& options) {
  const auto numbers = internal::plotted("retrieval_plot", curves);
  std::vector<double> all_x;
  for (const PlottedCurve& curve : numbers) {
    all_x.insert(all_x.end(), curve.x.begin(), curve.x.end());
  }
  return drawn(options, title_of(options, "Retrieval"), legend_of(numbers),
               kRatio, [&](Svg& svg, const PlotArea& area) {
                 Axes axes(svg, area, internal::range_of(all_x), {0, 1});
                 axes.draw("documents", "value");
                 draw_marked(svg, axes, numbers);
               });
}

namespace {

constexpr const char* kCalibrationPlot = "calibration_plot";
constexpr int kBars = 20;

}  // namespace

std::string calibration_plot(const at::Tensor& preds, const at::Tensor& target,
                             std::int64_t bins, const PlotOptions& options) {
  const std::vector<double> p =
      internal::plotted(kCalibrationPlot, "preds", preds, 1);
  const std::vector<double> t =
      internal::plotted(kCalibrationPlot, "target", target, 1);
  TORCH_CHECK_VALUE(bins > 0, kCalibrationPlot,
                    ": expected at least 1 bin, got ", bins);
  TORCH_CHECK_VALUE(p.size() == t.size(), kCalibrationPlot,
                    ": expected as many preds as targets, got ", p.size(),
                    " and ", t.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    TORCH_CHECK_VALUE(p[i] >= 0 && p[i] <= 1, kCalibrationPlot,
                      ": expected preds in [0, 1], got ", p[i]);
    TORCH_CHECK_VALUE(t[i] == 0 || t[i] == 1, kCalibrationPlot,
                      ": expected targets of 0 and 1, got ", t[i]);
  }
  const auto found = internal::calibration_bins(p, t, bins);
  const std::string title = title_of(options, "Calibration");
  const double side = options.width() - 80;
  Svg svg(options.width(), side + 190, title,
          title + " of " + std::to_string(p.size()) + " predictions in " +
              std::to_string(found.size()) +
              " bins, with 95% Wilson intervals");
  internal::draw_title(svg, options, title);
  Axes axes(svg, {64, 36, side, side}, {0, 1}, {0, 1});
  axes.draw("", "positives");
  axes.line({0, 0}, {1, 1}, kFaint, 1, "4 4");
  const auto& style = internal::plot_style(0);
  std::vector<double> means, ratios;
  for (const internal::CalibrationBin& bin : found) {
    axes.line({bin.mean, bin.low}, {bin.mean, bin.high}, style.color, 2);
    svg.marker(axes.at(bin.mean, bin.ratio), 0);
    means.push_back(bin.mean);
    ratios.push_back(bin.ratio);
  }
  axes.curve(means, ratios, style);

  std::vector<double> counts(kBars);
  for (const double value : p) {
    const auto bar = static_cast<std::size_t>(value * kBars);
    ++counts[std::min<std::size_t>(bar, kBars - 1)];
  }
  const double most = *std::max_element(counts.begin(), counts.end());
  Axes below(svg, {64, side + 66, side, 70}, {0, 1}, {0, std::max(most, 1.0)});
  below.draw("predicted probability", "rows", 5, 2);
  for (int i = 0; i < kBars; ++i) {
    const auto corner =
        below.at(double(i) / kBars, counts[static_cast<std::size_t>(i)]);
    const auto foot = below.at(double(i + 1) / kBars, 0);
    svg.rectangle({corner.x + 0.5, corner.y}, foot.x - corner.x - 1,
                  foot.y - corner.y, style.color);
  }
  return svg.str();
}

}  // namespace tally
