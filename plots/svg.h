#pragma once

#include <string>
#include <vector>

#include "tally/plots/thin.h"

namespace tally::internal {

/// How a series is told apart: by color, dashes and marker at once.
struct PlotStyle {
  const char* color;
  const char* dashes;  ///< of stroke-dasharray; empty for a solid line
};
/// Of the i-th series; they repeat after 8. The colors are those of Okabe and
/// Ito that reach a contrast of 3:1 on white.
const PlotStyle& plot_style(std::size_t i);

/// Where a text is anchored.
enum class Anchor { kStart, kMiddle, kEnd };

/// A drawing, written as one SVG element with a title and a description.
class Svg {
 public:
  Svg(double width, double height, const std::string& title,
      const std::string& description);

  void line(PlotPoint from, PlotPoint to, const char* color, double width = 1,
            const char* dashes = "");
  /// Thinned to half a pixel.
  void curve(const std::vector<PlotPoint>& points, const PlotStyle& style);
  void rectangle(PlotPoint corner, double width, double height,
                 const std::string& fill);
  /// The area between two curves, from which others shine through.
  void band(const std::vector<PlotPoint>& upper,
            const std::vector<PlotPoint>& lower, const char* color);
  /// A small mark of many.
  void dot(PlotPoint center, const char* color);
  /// A mark of the i-th series: circle, square, triangle, diamond.
  void marker(PlotPoint center, std::size_t series);
  void text(PlotPoint at, const std::string& text, Anchor anchor,
            const char* color = "#161616", bool upward = false);

  /// The finished drawing.
  std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

/// A number in a drawing: "12.5".
std::string plot_number(double value);
/// A number for readers: "0.973", "12000".
std::string plot_label(double value);
/// With so many digits that count, and a point in any locale.
std::string plot_rounded(double value, int digits);
/// About the width of a text, in pixels.
double text_width(const std::string& text);
/// Cut to a width, with "..." at its end, if it is wider.
std::string shortened(const std::string& text, double width);
/// With XML's characters escaped, and without those it cannot hold.
std::string xml_text(const std::string& text);

}  // namespace tally::internal
