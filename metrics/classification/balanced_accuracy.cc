#include "tally/metrics/classification/balanced_accuracy.h"

#include <limits>

namespace tally {

namespace classification = internal::classification;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class MeanRecall {
 public:
  void add(double found, double targets) {
    if (targets == 0) return;
    sum_ += found / targets;
    ++classes_;
  }
  double value(bool adjusted) const {
    const double mean = classes_ > 0 ? sum_ / classes_ : kNaN;
    if (!adjusted) return mean;
    return classes_ > 1 ? (mean * classes_ - 1) / (classes_ - 1) : kNaN;
  }

 private:
  double sum_ = 0;
  double classes_ = 0;
};

}  // namespace

at::Tensor BinaryBalancedAccuracy::evaluate(const State& state) const {
  const auto value = [this](const classification::ClassCounts& c) {
    MeanRecall mean;
    mean.add(c.tp, c.target);
    mean.add(c.tn(), c.total - c.target);
    return mean.value(options().adjusted());
  };
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value);
}

at::Tensor MulticlassBalancedAccuracy::evaluate(const State& state) const {
  return classification::rows_of(state, options())
      .values([this](const auto& row) {
        if (row.classes.front().nans > 0) return kNaN;
        MeanRecall mean;
        for (const auto& c : row.classes) mean.add(c.tp, c.target);
        return mean.value(options().adjusted());
      });
}

}  // namespace tally
