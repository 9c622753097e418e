#include <limits>

#include "tally/metrics/metric_of.h"
#include "tally/tests/metrics/same_name.h"

namespace tally {
namespace {

struct LargestSeen {
  static constexpr const char* kName = "Seen";
  struct State {
    std::int64_t updates = 0;
    Number largest = -std::numeric_limits<double>::infinity();
    void fields(Fields& f) {
      f("updates", updates)("largest", largest, Merge::kMax);
    }
  };

  State observe(const at::Tensor& input) const {
    return {1, Number(input.max())};
  }
};

struct SquaresSeen {
  static constexpr const char* kName = "Seen";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };

  State observe(const at::Tensor& input) const {
    return {Number(input.square().sum())};
  }
};

struct LargestMetric final : MetricOf<LargestMetric, LargestSeen, at::Tensor> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SeenMetric";
  at::Tensor evaluate(const State& state) const {
    return state.largest.tensor();
  }
};

struct SquaresMetric final : MetricOf<SquaresMetric, SquaresSeen, at::Tensor> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SeenMetric";
  at::Tensor evaluate(const State& state) const { return state.sum.tensor(); }
};

}  // namespace

std::unique_ptr<Metric> make_largest_seen() {
  return std::make_unique<LargestMetric>();
}

std::unique_ptr<Metric> make_squares_of_seen() {
  return std::make_unique<SquaresMetric>();
}

}  // namespace tally
