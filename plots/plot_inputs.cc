#include "tally/plots/plot_inputs.h"

#include <c10/util/Exception.h>

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

}  // namespace tally::internal
