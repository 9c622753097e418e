#include "tally/plots/plots.h"

#include <c10/util/Exception.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/python/csrc/library.h"
#include "tally/python/csrc/values.h"

namespace tally::python {
namespace {

using at::Tensor;

std::vector<PlotCurve> curves_of(const Strings& names,
                                 const std::vector<Tensor>& x,
                                 const std::vector<Tensor>& y) {
  TORCH_CHECK_VALUE(names.size() == x.size() && x.size() == y.size(),
                    "expected as many names as curves, got ", names.size(),
                    ", ", x.size(), " and ", y.size());
  std::vector<PlotCurve> curves;
  for (std::size_t i = 0; i < names.size(); ++i) {
    curves.push_back({names[i], x[i], y[i]});
  }
  return curves;
}

PlotOptions plot_options(std::string title, double width) {
  return PlotOptions().title(std::move(title)).width(width);
}

struct Plots final : torch::CustomClassHolder {};

}  // namespace

void define_plots(torch::Library& m) {
  m.class_<Plots>("Plots")
      .def_static(
          "roc",
          [](const Strings& names, const std::vector<Tensor>& x,
             const std::vector<Tensor>& y, std::string title, double width) {
            return roc_plot(curves_of(names, x, y),
                            plot_options(std::move(title), width));
          })
      .def_static("precision_recall",
                  [](const Strings& names, const std::vector<Tensor>& x,
                     const std::vector<Tensor>& y, double prevalence,
                     std::string title, double width) {
                    return precision_recall_plot(
                        curves_of(names, x, y), prevalence,
                        plot_options(std::move(title), width));
                  })
      .def_static(
          "steps",
          [](const Strings& names, const std::vector<Tensor>& x,
             const std::vector<Tensor>& y, std::string title, double width) {
            return steps_plot(curves_of(names, x, y),
                              plot_options(std::move(title), width));
          })
      .def_static("calibration",
                  [](const Tensor& preds, const Tensor& target,
                     std::int64_t bins, std::string title, double width) {
                    return calibration_plot(
                        preds, target, bins,
                        plot_options(std::move(title), width));
                  })
      .def_static("confusion_matrix",
                  [](const Tensor& matrix, const Strings& labels,
                     std::string title, double width) {
                    return confusion_matrix_plot(
                        matrix, labels, plot_options(std::move(title), width));
                  })
      .def_static("bars",
                  [](const Tensor& values, const Strings& labels,
                     const std::optional<Tensor>& low,
                     const std::optional<Tensor>& high, std::string title,
                     double width) {
                    return bar_plot(
                        values, labels, plot_options(std::move(title), width),
                        low.value_or(Tensor()), high.value_or(Tensor()));
                  })
      .def_static(
          "runs",
          [](const Strings& names, const std::vector<double>& values,
             const std::vector<double>& lows, const std::vector<double>& highs,
             std::string title, double width) {
            TORCH_CHECK_VALUE(values.size() == names.size() &&
                                  lows.size() == names.size() &&
                                  highs.size() == names.size(),
                              "expected a value and bounds for each run");
            std::vector<PlotRun> runs;
            for (std::size_t i = 0; i < names.size(); ++i) {
              runs.push_back({names[i], values[i], lows[i], highs[i]});
            }
            return runs_plot(runs, plot_options(std::move(title), width));
          });
}

}  // namespace tally::python
