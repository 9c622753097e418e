#include "tally/plots/axes.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/plots/plot_inputs.h"

namespace tally::internal {
namespace {

constexpr std::size_t kMostCurves = 8;

}  // namespace

std::vector<double> plotted(const char* plot, const char* what,
                            const at::Tensor& tensor, std::int64_t dim) {
  TORCH_CHECK_VALUE(tensor.defined() && tensor.dim() == dim, plot,
                    ": expected ", what, " of ", dim, " dimensions, got ",
                    tensor.defined() ? c10::str("sizes ", tensor.sizes())
                                     : "an undefined tensor");
  TORCH_CHECK_TYPE(!tensor.is_complex(), plot, ": expected real numbers as ",
                   what, ", got ", tensor.scalar_type());
  const at::Tensor numbers =
      tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* first = static_cast<const double*>(numbers.data_ptr());
  return {first, first + numbers.numel()};
}

std::vector<PlottedCurve> plotted(const char* plot,
                                  const std::vector<PlotCurve>& curves) {
  TORCH_CHECK_VALUE(!curves.empty() && curves.size() <= kMostCurves, plot,
                    ": expected 1 to ", kMostCurves, " curves, got ",
                    curves.size());
  std::vector<PlottedCurve> numbers;
  for (const PlotCurve& curve : curves) {
    numbers.push_back({curve.name,
                       plotted(plot, "x", curve.x, 1),
                       plotted(plot, "y", curve.y, 1),
                       {},
                       {}});
    TORCH_CHECK_VALUE(numbers.back().x.size() == numbers.back().y.size(), plot,
                      ": expected as many x as y of '", curve.name, "', got ",
                      numbers.back().x.size(), " and ",
                      numbers.back().y.size());
    TORCH_CHECK_VALUE(curve.low.defined() == curve.high.defined(), plot,
                      ": expected both bounds of '", curve.name,
                      "' or none, got one");
    if (!curve.low.defined()) continue;
    numbers.back().low = plotted(plot, "low", curve.low, 1);
    numbers.back().high = plotted(plot, "high", curve.high, 1);
    TORCH_CHECK_VALUE(numbers.back().low.size() == numbers.back().x.size() &&
                          numbers.back().high.size() == numbers.back().x.size(),
                      plot, ": expected as many bounds as x of '", curve.name,
                      "', got ", numbers.back().low.size(), " and ",
                      numbers.back().high.size(), " for ",
                      numbers.back().x.size());
  }
  return numbers;
}

std::vector<std::string> plotted_labels(const char* plot,
                                        const std::vector<std::string>& labels,
                                        std::size_t count) {
  TORCH_CHECK_VALUE(labels.empty() || labels.size() == count, plot,
                    ": expected a label for each of ", count, " classes, got ",
                    labels.size());
  std::vector<std::string> names = labels;
  for (std::size_t i = names.size(); i < count; ++i) {
    names.push_back(std::to_string(i));
  }
  return names;
}

namespace {

constexpr const char* kGrid = "#dddddd";

}  // namespace

PlotRange range_of(const std::vector<double>& values) {
  PlotRange range{INFINITY, -INFINITY};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  if (range.low > range.high) return {0, 1};
  if (range.low == range.high) {
    const double half = range.low == 0 ? 0.5 : std::abs(range.low) / 2;
    return {range.low - half, range.high + half};
  }
  return range;
}

std::vector<double> ticks_in(const PlotRange& range, int count) {
  if (count == 0) return {};
  const double rough = (range.high - range.low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * (1 + 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const double first = std::ceil(range.low / step - 1e-9);
  const double last = std::floor(range.high / step + 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
  constexpr int kMostDigits = 12;
  std::vector<std::string> labels;
  for (const double tick : ticks) labels.push_back(plot_label(tick));
  for (int digits = 4; digits <= kMostDigits; ++digits) {
    if (std::adjacent_find(labels.begin(), labels.end()) == labels.end()) break;
    labels.clear();
    for (const double tick : ticks)
      labels.push_back(plot_rounded(tick, digits));
  }
  return labels;
}

void Axes::draw(const std::string& x_name, const std::string& y_name,
                int x_ticks, int y_ticks) {
  const double bottom = area_.top + area_.height;
  std::vector<double> ticks = ticks_in(x_, x_ticks);
  std::vector<std::string> labels = tick_labels(ticks);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = at(ticks[i], y_.low).x;
    svg_.line({x, area_.top}, {x, bottom}, kGrid);
    svg_.text({x, bottom + 16}, labels[i], Anchor::kMiddle);
  }
  ticks = ticks_in(y_, y_ticks);
  labels = tick_labels(ticks);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double y = at(x_.low, ticks[i]).y;
    svg_.line({area_.left, y}, {area_.left + area_.width, y}, kGrid);
    svg_.text({area_.left - 6, y + 4}, labels[i], Anchor::kEnd);
  }
  svg_.line({area_.left, area_.top}, {area_.left, bottom}, kFaint);
  svg_.line({area_.left, bottom}, {area_.left + area_.width, bottom}, kFaint);
  svg_.text({area_.left + area_.width / 2, bottom + 34}, x_name,
            Anchor::kMiddle);
  svg_.text({area_.left - 42, area_.top + area_.height / 2}, y_name,
            Anchor::kMiddle, "#161616", /*upward=*/true);
}

PlotPoint Axes::at(double x, double y) const {
  return {
      area_.left + (x - x_.low) / (x_.high - x_.low) * area_.width,
      area_.top + (y_.high - y) / (y_.high - y_.low) * area_.height,
  };
}

void Axes::curve(const std::vector<double>& x, const std::vector<double>& y,
                 const PlotStyle& style) {
  std::vector<PlotPoint> points;
  for (std::size_t i = 0; i <= x.size(); ++i) {
    if (i < x.size() && std::isfinite(x[i]) && std::isfinite(y[i])) {
      points.push_back(at(x[i], y[i]));
    } else if (!points.empty()) {
      svg_.curve(points, style);
      points.clear();
    }
  }
}

void Axes::band(const std::vector<double>& x, const std::vector<double>& low,
                const std::vector<double>& high, const PlotStyle& style) {
  std::vector<PlotPoint> upper, lower;
  for (std::size_t i = 0; i <= x.size(); ++i) {
    if (i < x.size() && std::isfinite(x[i]) && std::isfinite(low[i]) &&
        std::isfinite(high[i])) {
      upper.push_back(at(x[i], high[i]));
      lower.push_back(at(x[i], low[i]));
    } else if (!upper.empty()) {
      svg_.band(upper, lower, style.color);
      upper.clear();
      lower.clear();
    }
  }
}

void Axes::line(PlotPoint from, PlotPoint to, const char* color, double width,
                const char* dashes) {
  svg_.line(at(from.x, from.y), at(to.x, to.y), color, width, dashes);
}

std::string title_of(const PlotOptions& options, const char* other) {
  return options.title().empty() ? other : options.title();
}

void draw_title(Svg& svg, const PlotOptions& options,
                const std::string& title) {
  svg.text({options.width() / 2, 20}, shortened(title, options.width() - 16),
           Anchor::kMiddle);
}

void draw_legend(Svg& svg, PlotPoint corner, double width,
                 const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double y = corner.y + static_cast<double>(i) * kLegendLine;
    svg.line({corner.x, y}, {corner.x + 28, y}, plot_style(i).color, 2,
             plot_style(i).dashes);
    svg.marker({corner.x + 14, y}, i);
    // What stands behind a name, its area for example, is not cut.
    const std::size_t colon = std::min(names[i].rfind(": "), names[i].size());
    const std::string rest = names[i].substr(colon);
    svg.text(
        {corner.x + 36, y + 4},
        shortened(names[i].substr(0, colon), width - 36 - text_width(rest)) +
            rest,
        Anchor::kStart);
  }
}

}  // namespace tally::internal
