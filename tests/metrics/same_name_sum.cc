#include "tally/metrics/metric_of.h"
#include "tally/tests/metrics/same_name.h"

namespace tally {
namespace {

struct SumSeen {
  static constexpr const char* kName = "Seen";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };

  State observe(const at::Tensor& input) const { return {Number(input.sum())}; }
};

struct SumMetric final : MetricOf<SumMetric, SumSeen, at::Tensor> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SeenMetric";
  at::Tensor evaluate(const State& state) const { return state.sum.tensor(); }
};

}  // namespace

std::unique_ptr<Metric> make_sum_of_seen() {
  return std::make_unique<SumMetric>();
}

}  // namespace tally
