#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tally/plots/plots.h"
#include "tally/plots/svg.h"

namespace tally::internal {

/// Beside axes, and of lines behind others.
inline constexpr double kLeft = 64;
inline constexpr double kTop = 36;
inline constexpr double kRight = 16;
inline constexpr const char* kFaint = "#767676";

/// A range of values.
struct PlotRange {
  double low = 0;
  double high = 1;
};
/// The range of finite numbers, widened if they are one or none.
PlotRange range_of(const std::vector<double>& values);
/// Round numbers in a range, about `count`.
std::vector<double> ticks_in(const PlotRange& range, int count);
/// plot_label() of each, or with as many digits as tell them apart.
std::vector<std::string> tick_labels(const std::vector<double>& ticks);

/// Where things are in a drawing, in pixels.
struct PlotArea {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

/// A pair of axes: maps values to pixels, and draws grid, numbers and names.
class Axes {
 public:
  Axes(Svg& svg, const PlotArea& area, const PlotRange& x, const PlotRange& y)
      : svg_(svg), area_(area), x_(x), y_(y) {}

  void draw(const std::string& x_name, const std::string& y_name,
            int x_ticks = 5, int y_ticks = 5);
  PlotPoint at(double x, double y) const;
  /// A curve through the finite points; others interrupt it.
  void curve(const std::vector<double>& x, const std::vector<double>& y,
             const PlotStyle& style);
  /// The area between two curves over the same x, through the finite points.
  void band(const std::vector<double>& x, const std::vector<double>& low,
            const std::vector<double>& high, const PlotStyle& style);
  void line(PlotPoint from, PlotPoint to, const char* color, double width = 1,
            const char* dashes = "");

 private:
  Svg& svg_;
  PlotArea area_;
  PlotRange x_;
  PlotRange y_;
};

/// The options' title, or another if they have none.
std::string title_of(const PlotOptions& options, const char* other);
/// Above a drawing.
void draw_title(Svg& svg, const PlotOptions& options, const std::string& title);

/// A line for each series, below a drawing: its style and its name.
void draw_legend(Svg& svg, PlotPoint corner, double width,
                 const std::vector<std::string>& names);
inline constexpr double kLegendLine = 18;

}  // namespace tally::internal
