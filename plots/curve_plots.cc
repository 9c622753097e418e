#include <algorithm>
#include <cmath>

#include "tally/plots/axes.h"
#include "tally/plots/plot_inputs.h"
#include "tally/plots/plots.h"

namespace tally {
namespace {

using internal::Axes;
using internal::PlotArea;
using internal::PlotRange;
using internal::PlottedCurve;
using internal::Svg;

constexpr double kLeft = 64;
constexpr double kTop = 36;
constexpr double kRight = 16;
constexpr double kBelow = 52;  // numbers and a name
constexpr const char* kFaint = "#767676";

using Names = std::vector<std::string>;

std::string title_of(const PlotOptions& options, const char* other) {
  return options.title().empty() ? other : options.title();
}

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : "; ") + name;
  }
  return text;
}

/// A plot of curves with a legend below.
template <class Draw>
std::string drawn(const PlotOptions& options, const std::string& title,
                  const Names& legend, double ratio, const Draw& draw) {
  const double width = options.width() - kLeft - kRight;
  const PlotArea area{kLeft, kTop, width, width * ratio};
  const double below = kTop + area.height + kBelow;
  const double height =
      below + internal::kLegendLine * static_cast<double>(legend.size());
  Svg svg(options.width(), height, title, title + ". " + listed(legend));
  svg.text({options.width() / 2, 20},
           internal::shortened(title, options.width() - 16),
           internal::Anchor::kMiddle);
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

}  // namespace tally
