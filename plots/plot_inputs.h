#pragma once

#include <string>
#include <vector>

#include "tally/plots/plots.h"

namespace tally::internal {

/// The elements of a tensor of real numbers of `dim` dimensions, row by row.
std::vector<double> plotted(const char* plot, const char* what,
                            const at::Tensor& tensor, std::int64_t dim);

/// A curve's numbers.
struct PlottedCurve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low;  ///< of y, or empty
  std::vector<double> high;
};
std::vector<PlottedCurve> plotted(const char* plot,
                                  const std::vector<PlotCurve>& curves);

/// `labels`, or numbers from 0. Throws c10::ValueError for another count.
std::vector<std::string> plotted_labels(const char* plot,
                                        const std::vector<std::string>& labels,
                                        std::size_t count);

}  // namespace tally::internal
