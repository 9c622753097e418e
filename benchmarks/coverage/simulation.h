#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tally/metrics/intervals/intervals.h"

/// Draws samples whose truth is known, and counts how often results hold it.
namespace tally::coverage {

/// Of the program's seed; every run of a program draws the same.
at::Tensor uniform(at::IntArrayRef sizes);
at::Tensor normal(at::IntArrayRef sizes);
/// Indices of cells with these probabilities: int64 [n].
at::Tensor cells(const std::vector<double>& probabilities, std::int64_t n);
/// Numbers of Beta(a, b), float64 [n]. REQUIRES: b is 1/2 or 1.
at::Tensor beta(double a, double b, std::int64_t n);

struct Rows {
  at::Tensor preds;
  at::Tensor target;
  at::Tensor other = {};   ///< a third input
  at::Tensor groups = {};  ///< int64: that of each row
};

/// Normal scores of classes whose areas under the ROC curve are `area`;
/// positives spread `spread` times as much.
Rows scores(std::int64_t positives, std::int64_t negatives, double area,
            double spread = 1);

/// A situation: how its rows are drawn, and what is true.
struct Situation {
  std::string name;
  double truth = 0;
  std::function<OwnedMetric()> metric;
  std::function<Rows()> draw;
};

/// The arguments of a program: how many runs, and a part of the names of the
/// situations to simulate.
struct Choice {
  std::int64_t runs = 4000;
  std::string part;

  static Choice of(int argc, char** argv);
  bool includes(const std::string& name) const {
    return name.find(part) != std::string::npos;
  }
};

/// Prints a line for each method: how often its intervals, where there are
/// any, hold the truth, with twice the Monte Carlo error; their mean width; how
/// many samples have none, and how many a flag.
void measure_intervals(const Choice& choice, const Situation& situation,
                       const std::vector<IntervalMethod>& methods = {});
void print_interval_head();

/// The rows of two models: preds, other and target.
struct PairedSituation {
  std::string name;
  double difference = 0;
  std::function<OwnedMetric()> metric;
  std::function<Rows()> draw;
};

/// Prints a line for each method: how often intervals hold the difference, and
/// how often p is below 0.05: the error of the first kind where there is no
/// difference, and otherwise the power.
void measure_comparisons(const Choice& choice, const PairedSituation& situation,
                         const std::vector<ComparisonMethod>& methods = {});
void print_comparison_head();

}  // namespace tally::coverage
