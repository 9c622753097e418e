#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/plots/axes.h"
#include "tally/plots/calibration_bins.h"
#include "tally/plots/plot_inputs.h"
#include "tally/plots/plots.h"

namespace tally {
namespace {

constexpr const char* kName = "calibration_plot";
constexpr int kBars = 20;

}  // namespace

std::string calibration_plot(const at::Tensor& preds, const at::Tensor& target,
                             std::int64_t bins, const PlotOptions& options) {
  const std::vector<double> p = internal::plotted(kName, "preds", preds, 1);
  const std::vector<double> t = internal::plotted(kName, "target", target, 1);
  TORCH_CHECK_VALUE(bins > 0, kName, ": expected at least 1 bin, got ", bins);
  TORCH_CHECK_VALUE(p.size() == t.size(), kName,
                    ": expected as many preds as targets, got ", p.size(),
                    " and ", t.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    TORCH_CHECK_VALUE(p[i] >= 0 && p[i] <= 1, kName,
                      ": expected preds in [0, 1], got ", p[i]);
    TORCH_CHECK_VALUE(t[i] == 0 || t[i] == 1, kName,
                      ": expected targets of 0 and 1, got ", t[i]);
  }
  const auto found = internal::calibration_bins(p, t, bins);
  const std::string title =
      options.title().empty() ? "Calibration" : options.title();
  const double side = options.width() - 80;
  internal::Svg svg(options.width(), side + 190, title,
                    title + " of " + std::to_string(p.size()) +
                        " predictions in " + std::to_string(found.size()) +
                        " bins, with 95 % Wilson intervals");
  svg.text({options.width() / 2, 20},
           internal::shortened(title, options.width() - 16),
           internal::Anchor::kMiddle);
  internal::Axes axes(svg, {64, 36, side, side}, {0, 1}, {0, 1});
  axes.draw("", "positives");
  axes.line({0, 0}, {1, 1}, "#767676", 1, "4 4");
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
  internal::Axes below(svg, {64, side + 66, side, 70}, {0, 1},
                       {0, std::max(most, 1.0)});
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
