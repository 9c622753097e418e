#include "tally/plots/svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tally/plots/thin.h"

namespace tally::internal {
namespace {

double distance(const PlotPoint& p, const PlotPoint& a, const PlotPoint& b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double square = dx * dx + dy * dy;
  const double along =
      square == 0 ? 0 : ((p.x - a.x) * dx + (p.y - a.y) * dy) / square;
  const double t = std::clamp(along, 0.0, 1.0);
  const double x = p.x - a.x - t * dx, y = p.y - a.y - t * dy;
  // Pixels do not overflow, and hypot would need glibc 2.35 of the wheel.
  return std::sqrt(x * x + y * y);
}

}  // namespace

std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points,
                               double tolerance) {
  if (points.size() < 3) return points;
  std::vector<bool> stays(points.size());
  stays.front() = stays.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, points.size() - 1}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    double furthest = tolerance;
    std::size_t found = first;
    for (std::size_t i = first + 1; i < last; ++i) {
      const double far = distance(points[i], points[first], points[last]);
      if (far > furthest) {
        furthest = far;
        found = i;
      }
    }
    if (found == first) continue;
    stays[found] = true;
    open.emplace_back(first, found);
    open.emplace_back(found, last);
  }
  std::vector<PlotPoint> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (stays[i]) kept.push_back(points[i]);
  }
  return kept;
}

namespace {

constexpr double kTolerance = 0.5;
constexpr PlotStyle kStyles[] = {{"#0072b2", ""},        {"#d55e00", "8 3"},
                                 {"#009e73", "2 3"},     {"#cc79a7", "8 3 2 3"},
                                 {"#000000", ""},        {"#0072b2", "2 3"},
                                 {"#d55e00", "8 3 2 3"}, {"#009e73", "12 4"}};

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + plot_number(value) + "\"";
}

}  // namespace

const PlotStyle& plot_style(std::size_t i) {
  return kStyles[i % (sizeof kStyles / sizeof kStyles[0])];
}

std::string plot_number(double value) {
  // A locale may have a comma; two digits are written as integers.
  const long long hundredths = std::llround(value * 100);
  const long long size = std::llabs(hundredths);
  std::string text = hundredths < 0 ? "-" : "";
  text += std::to_string(size / 100);
  if (size % 100 != 0) {
    text += size % 100 < 10 ? ".0" : ".";
    text += std::to_string(size % 100);
    if (text.back() == '0') text.pop_back();
  }
  return text;
}

std::string plot_rounded(double value, int digits) {
  if (value == 0) return "0";  // not -0
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  std::string number = text;
  std::replace(number.begin(), number.end(), ',', '.');  // of some locales
  return number;
}

std::string plot_label(double value) {
  return std::abs(value) >= 1000 && std::abs(value) < 1e7
             ? std::to_string(std::llround(value))
             : plot_rounded(value, 3);
}

namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Of the character that begins with this byte, in 12 pixels of a sans-serif:
/// rather too much.
double char_width(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (continues(c)) return 0;
  if (byte >= 0xE0) return 12;  // beyond Latin, Greek, Cyrillic and the like
  if (std::strchr("ijlI.,:;!|' ()[]tf", c) != nullptr) return 4.5;
  if (std::strchr("mwMW@%", c) != nullptr) return 11;
  return byte >= 'A' && byte <= 'Z' ? 8.5 : 7.5;
}

}  // namespace

double text_width(const std::string& text) {
  double width = 0;
  for (const char c : text) width += char_width(c);
  return width;
}

std::string shortened(const std::string& text, double width) {
  if (text_width(text) <= width) return text;
  double left = width - text_width("...");
  std::size_t end = 0;
  while (end < text.size() && left >= char_width(text[end])) {
    left -= char_width(text[end++]);
  }
  while (end < text.size() && end > 0 && continues(text[end])) --end;
  return text.substr(0, end) + "...";
}

std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

Svg::Svg(double width, double height, const std::string& title,
         const std::string& description) {
  body_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"" +
          attribute("width", width) + attribute("height", height) +
          " viewBox=\"0 0 " + plot_number(width) + " " + plot_number(height) +
          "\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" +
          xml_text(title) + "</title>\n<desc>" + xml_text(description) +
          "</desc>\n";
  rectangle({0, 0}, width, height, "#ffffff");
}

void Svg::line(PlotPoint from, PlotPoint to, const char* color, double width,
               const char* dashes) {
  body_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) +
           attribute("x2", to.x) + attribute("y2", to.y) + " stroke=\"" +
           color + "\"" + attribute("stroke-width", width);
  if (*dashes != '\0') {
    body_ += std::string(" stroke-dasharray=\"") + dashes + "\"";
  }
  body_ += "/>\n";
}

void Svg::curve(const std::vector<PlotPoint>& points, const PlotStyle& style) {
  body_ += std::string("<polyline fill=\"none\" stroke=\"") + style.color +
           "\" stroke-width=\"2\"";
  if (*style.dashes != '\0') {
    body_ += std::string(" stroke-dasharray=\"") + style.dashes + "\"";
  }
  body_ += " points=\"";
  const char* blank = "";
  for (const PlotPoint& point : thinned(points, kTolerance)) {
    body_ += blank + plot_number(point.x) + "," + plot_number(point.y);
    blank = " ";
  }
  body_ += "\"/>\n";
}

void Svg::band(const std::vector<PlotPoint>& upper,
               const std::vector<PlotPoint>& lower, const char* color) {
  std::vector<PlotPoint> outline = thinned(upper, kTolerance);
  const std::vector<PlotPoint> back = thinned(lower, kTolerance);
  outline.insert(outline.end(), back.rbegin(), back.rend());
  body_ += std::string("<polygon fill=\"") + color +
           "\" fill-opacity=\"0.25\" points=\"";
  const char* blank = "";
  for (const PlotPoint& point : outline) {
    body_ += blank + plot_number(point.x) + "," + plot_number(point.y);
    blank = " ";
  }
  body_ += "\"/>\n";
}

void Svg::dot(PlotPoint center, const char* color) {
  body_ += "<circle" + attribute("cx", center.x) + attribute("cy", center.y) +
           attribute("r", 2) + " fill=\"" + color + "\"/>\n";
}

void Svg::rectangle(PlotPoint corner, double width, double height,
                    const std::string& fill) {
  body_ += "<rect" + attribute("x", corner.x) + attribute("y", corner.y) +
           attribute("width", width) + attribute("height", height) +
           " fill=\"" + fill + "\"/>\n";
}

void Svg::marker(PlotPoint center, std::size_t series) {
  constexpr double kSize = 4;
  const std::string fill =
      std::string(" fill=\"") + plot_style(series).color + "\"/>\n";
  const auto corner = [&](double x, double y) {
    return plot_number(center.x + kSize * x) + "," +
           plot_number(center.y + kSize * y);
  };
  const std::string polygon = "<polygon points=\"";
  switch (series % 4) {
    case 0:
      body_ += "<circle" + attribute("cx", center.x) +
               attribute("cy", center.y) + attribute("r", kSize) + fill;
      return;
    case 1:
      body_ += polygon + corner(-1, -1) + " " + corner(1, -1) + " " +
               corner(1, 1) + " " + corner(-1, 1) + "\"" + fill;
      return;
    case 2:
      body_ += polygon + corner(-1, 1) + " " + corner(1, 1) + " " +
               corner(0, -1) + "\"" + fill;
      return;
    default:
      body_ += polygon + corner(-1, 0) + " " + corner(0, -1) + " " +
               corner(1, 0) + " " + corner(0, 1) + "\"" + fill;
  }
}

void Svg::text(PlotPoint at, const std::string& text, Anchor anchor,
               const char* color, bool upward) {
  if (text.empty()) return;
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  body_ += "<text" + attribute("x", at.x) + attribute("y", at.y) +
           " text-anchor=\"" + kAnchors[static_cast<int>(anchor)] +
           "\" fill=\"" + color + "\"";
  if (upward) {
    body_ += " transform=\"rotate(-90 " + plot_number(at.x) + " " +
             plot_number(at.y) + ")\"";
  }
  body_ += ">" + xml_text(text) + "</text>\n";
}

}  // namespace tally::internal
