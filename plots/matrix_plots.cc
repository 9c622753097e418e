#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/common/cividis.h"
#include "tally/plots/axes.h"
#include "tally/plots/plot_inputs.h"
#include "tally/plots/plots.h"

namespace tally {
namespace {

constexpr double kNameLine = 13;  // between names

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

/// WCAG's relative luminance.
double luminance(const internal::Color& color) {
  return 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) +
         0.0722 * linear(color[2]);
}

std::string hex(const internal::Color& color) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "#";
  for (const std::uint8_t channel : color) {
    text += kDigits[channel >> 4];
    text += kDigits[channel & 15];
  }
  return text;
}

/// The width that labels have beside a plot, which leaves three quarters.
double label_width(const std::vector<std::string>& labels, double all) {
  double widest = 0;
  for (const std::string& label : labels) {
    widest = std::max(widest, internal::text_width(label));
  }
  return std::min(widest, all / 4);
}

/// Whether every count fits into its cell.
bool fits(const std::vector<double>& counts, double cell) {
  constexpr double kLine = 12;
  return cell >= kLine &&
         std::all_of(counts.begin(), counts.end(), [&](double count) {
           return internal::text_width(internal::plot_label(count)) <= cell;
         });
}

}  // namespace

std::string confusion_matrix_plot(const at::Tensor& matrix,
                                  const std::vector<std::string>& labels,
                                  const PlotOptions& options) {
  constexpr const char* kName = "confusion_matrix_plot";
  const auto counts = internal::plotted(kName, "a matrix", matrix, 2);
  TORCH_CHECK_VALUE(matrix.size(0) == matrix.size(1) && matrix.size(0) > 0,
                    kName, ": expected a matrix [C, C], got sizes ",
                    matrix.sizes());
  const auto classes = static_cast<std::size_t>(matrix.size(0));
  const auto names = internal::plotted_labels(kName, labels, classes);
  const std::string title = internal::title_of(options, "Confusion matrix");
  const double label = label_width(names, options.width());
  const double left = 48 + label;
  const double side = options.width() - left - 16;
  const double cell = side / static_cast<double>(classes);
  const double top = 36;
  const bool is_upright = label > cell;  // of the names below
  const double below = top + side + (is_upright ? label + 10 : 16);
  internal::Svg svg(options.width(), below + 40, title,
                    title + " of " + std::to_string(classes) +
                        " classes: rows are true, columns predicted; colors "
                        "are parts of rows");
  internal::draw_title(svg, options, title);
  const bool has_numbers = fits(counts, cell);
  const auto every =
      static_cast<std::size_t>(std::ceil(std::max(1.0, kNameLine / cell)));
  for (std::size_t i = 0; i < classes; ++i) {
    const double y = top + cell * static_cast<double>(i);
    const auto row = counts.begin() + static_cast<std::ptrdiff_t>(i * classes);
    double sum = 0;
    for (std::size_t j = 0; j < classes; ++j) sum += row[j];
    for (std::size_t j = 0; j < classes; ++j) {
      const double x = left + cell * static_cast<double>(j);
      const double part = row[j] > 0 ? std::min(row[j] / sum, 1.0) : 0;
      const auto color =
          internal::cividis(static_cast<int>(std::lround(255 * part)));
      svg.rectangle({x, y}, cell, cell, hex(color));
      if (!has_numbers) continue;
      svg.text({x + cell / 2, y + cell / 2 + 4}, internal::plot_label(row[j]),
               internal::Anchor::kMiddle,
               luminance(color) > 0.18 ? "#000000" : "#ffffff");
    }
    if (i % every != 0) continue;
    const std::string name = internal::shortened(names[i], label);
    const double x = left + cell * (static_cast<double>(i) + 0.5);
    svg.text({left - 6, y + cell / 2 + 4}, name, internal::Anchor::kEnd);
    if (is_upright) {
      svg.text({x + 4, top + side + 6}, name, internal::Anchor::kEnd, "#161616",
               /*upward=*/true);
    } else {
      svg.text({x, below}, name, internal::Anchor::kMiddle);
    }
  }
  svg.text({left + side / 2, below + 24}, "predicted",
           internal::Anchor::kMiddle);
  svg.text({16, top + side / 2}, "true", internal::Anchor::kMiddle, "#161616",
           /*upward=*/true);
  return svg.str();
}

std::string bar_plot(const at::Tensor& values,
                     const std::vector<std::string>& labels,
                     const PlotOptions& options, const at::Tensor& low,
                     const at::Tensor& high) {
  constexpr const char* kName = "bar_plot";
  constexpr double kBar = 22;
  const auto numbers = internal::plotted(kName, "values", values, 1);
  TORCH_CHECK_VALUE(!numbers.empty(), kName,
                    ": expected at least 1 value, got 0");
  const auto names = internal::plotted_labels(kName, labels, numbers.size());
  const std::string title = internal::title_of(options, "Values");
  TORCH_CHECK_VALUE(low.defined() == high.defined(), kName,
                    ": expected both bounds or none, got one");
  std::vector<double> lower, upper;
  if (low.defined()) {
    lower = internal::plotted(kName, "low", low, 1);
    upper = internal::plotted(kName, "high", high, 1);
    TORCH_CHECK_VALUE(
        lower.size() == numbers.size() && upper.size() == numbers.size(), kName,
        ": expected bounds for each of ", numbers.size(), " values, got ",
        lower.size(), " and ", upper.size());
  }
  std::vector<double> all = numbers;
  all.push_back(0);
  all.insert(all.end(), lower.begin(), lower.end());
  all.insert(all.end(), upper.begin(), upper.end());
  const internal::PlotRange range = internal::range_of(all);
  const double label = label_width(names, options.width());
  const double left = 24 + label;
  const double width = options.width() - left - 64;
  const double height = kBar * static_cast<double>(numbers.size());
  internal::Svg svg(
      options.width(), 36 + height + 40, title,
      title + " of " + std::to_string(numbers.size()) + " classes");
  internal::draw_title(svg, options, title);
  internal::Axes axes(svg, {left, 36, width, height}, range, {0, 1});
  axes.draw("", "", 5, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double y = 36 + kBar * static_cast<double>(i);
    svg.text({left - 6, y + 15}, internal::shortened(names[i], label),
             internal::Anchor::kEnd);
    if (!std::isfinite(numbers[i])) {
      svg.text({axes.at(0, 0).x + 4, y + 15}, "undefined",
               internal::Anchor::kStart);
      continue;
    }
    const double zero = axes.at(0, 0).x, end = axes.at(numbers[i], 0).x;
    svg.rectangle({std::min(zero, end), y + 3}, std::abs(end - zero), kBar - 6,
                  internal::plot_style(0).color);
    double last = std::max(zero, end);
    if (!lower.empty() && std::isfinite(lower[i]) && std::isfinite(upper[i])) {
      const double from = axes.at(lower[i], 0).x, to = axes.at(upper[i], 0).x;
      const double middle = y + kBar / 2;
      svg.line({from, middle}, {to, middle}, "#161616", 2);
      for (const double x : {from, to}) {
        svg.line({x, middle - 4}, {x, middle + 4}, "#161616", 2);
      }
      last = std::max(last, to);
    }
    svg.text({last + 4, y + 15}, internal::plot_label(numbers[i]),
             internal::Anchor::kStart);
  }
  return svg.str();
}

}  // namespace tally
