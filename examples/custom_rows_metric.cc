// A metric of one's own that needs every sample: its state is rows, to which
// batches and ranks append.
//
//   ./tools/bazel run //examples:custom_rows_metric
//
// runs on three processes, the last of which gets no data, and prints
//
//   no data yet: nan
//   first batch: 5
//   ErrorQuantile(quantile=0.9): 20
#include <ATen/ops/arange.h>
#include <ATen/ops/kthvalue.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <tuple>

#include "tally/metrics/metric_of.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"
#include "tally/sync/shard.h"

/// How a batch becomes a state. The rows of batches and ranks are put one after
/// the other.
struct KeepErrors {
  // By these names update() takes them, too.
  static constexpr tally::InputInfo kInputs[] = {
      {"preds", tally::InputKind::kReal, "real [N, ...]"},
      {"target", tally::InputKind::kReal, "real [N, ...]"}};
  struct State {
    tally::Rows errors;
    void fields(tally::Fields& f) { f("errors", errors); }
  };

  State observe(const at::Tensor& preds, const at::Tensor& target) const {
    TORCH_CHECK_VALUE(preds.sizes() == target.sizes(),
                      "expected preds and target of the same shape, got ",
                      preds.sizes(), " and ", target.sizes());
    // Rows that are merged have one dtype, whatever batches come in.
    const at::Tensor errors = preds.to(at::kDouble).sub(target).abs();
    return {tally::Rows(errors.reshape(-1))};
  }
};

struct QuantileOptions {
  /// In [0, 1]. Default: 0.9.
  TORCH_ARG(double, quantile) = 0.9;

 public:
  // kValue: metrics of other quantiles can share the state.
  void visit(tally::OptionVisitor& v) {
    v("quantile", quantile_, tally::OptionRole::kValue);
  }
  void validate(const char* metric) const {
    TORCH_CHECK_VALUE(quantile_ >= 0 && quantile_ <= 1, metric,
                      ": expected a quantile in [0, 1], got ", quantile_);
  }
};

/// The smallest error that this fraction of all errors does not exceed.
struct ErrorQuantile final
    : tally::MetricOf<ErrorQuantile, KeepErrors, at::Tensor, QuantileOptions> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ErrorQuantile";
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const {
    const std::int64_t count = state.errors.size();
    // Of no data there is no tensor.
    if (count == 0) {
      return at::scalar_tensor(std::numeric_limits<double>::quiet_NaN(),
                               at::kDouble);
    }
    const double place = std::ceil(options().quantile() * count);
    const auto k = std::max<std::int64_t>(static_cast<std::int64_t>(place), 1);
    return std::get<0>(at::kthvalue(state.errors.tensor(), k));
  }
};

int main(int argc, char** argv) {
  if (auto status = tally::sync::launch_local(3, argc, argv)) return *status;
  const auto ranks = tally::sync::init_from_env();
  const auto say = [&](const std::string& what, const at::Tensor& value) {
    if (ranks->rank() == 0) {
      std::cout << what << ": " << value.item<double>() << '\n';
    }
  };

  ErrorQuantile metric;
  say("no data yet", metric.compute());

  // Two batches on three ranks, of 6 and 4 rows.
  for (std::int64_t batch : tally::sync::shard_indices(2, *ranks)) {
    const at::Tensor preds = batch == 0 ? at::arange(6) : at::arange(0, 40, 10);
    say("first batch", metric.forward(preds, at::zeros_like(preds)));
  }
  say(metric.repr(), metric.compute());  // of all ranks
}
