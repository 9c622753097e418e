#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/cli/first_failure.h"
#include "tally/cli/regression_rows.h"
#include "tally/metrics/registry/registry.h"
#include "tally/metrics/registry/spec.h"
#include "tally/sync/gather.h"

namespace tally::cli {
namespace {

constexpr std::int64_t kMostRows = 1000;

/// [N], or undefined.
at::Tensor vector_of(const InputValue& value) {
  const auto* tensor = value.ref().as<at::Tensor>();
  const bool fits =
      tensor != nullptr && tensor->defined() && tensor->dim() == 1;
  return fits ? *tensor : at::Tensor();
}

}  // namespace

void RegressionRows::begin(const Job& job) {
  failure_ = failure_of([&] {
    rows_ = job.source->rows();
    stride_ = std::max<std::int64_t>(1, (rows_ + kMostRows - 1) / kMostRows);
    for (const CollectionConfig::Member& member : job.config.members) {
      const MetricSpec spec = parse_metric_spec(member.text);
      if (builtin_registry().at(spec.name).domain != "regression") continue;
      std::vector<std::string> names = job.source->names();
      if (names.empty()) {
        for (const InputInfo& input : builtin_registry().inputs(member.text)) {
          names.push_back(input.name);
        }
      }
      const auto place = [&](const char* name) {
        return static_cast<std::size_t>(
            std::find(names.begin(), names.end(), name) - names.begin());
      };
      preds_ = place("preds");
      target_ = place("target");
      if (rows_ == 0 || preds_ == names.size() || target_ == names.size()) {
        continue;
      }
      const auto values = job.source->read(0, 1);
      is_regression_ = std::max(preds_, target_) < values.size() &&
                       vector_of(values[preds_]).defined() &&
                       vector_of(values[target_]).defined();
      return;
    }
  });
}

void RegressionRows::batch(std::int64_t first,
                           const std::vector<InputValue>& values,
                           const SliceKeys* /*keys*/) {
  if (!is_regression_ || !failure_.empty()) return;
  failure_ = failure_of([&] {
    const at::Tensor preds = vector_of(values[preds_]);
    const at::Tensor target = vector_of(values[target_]);
    // The first row of the batch whose number is a multiple.
    const std::int64_t begin = (stride_ - first % stride_) % stride_;
    if (begin >= preds.size(0)) return;
    const at::Tensor places = at::arange(begin, preds.size(0), stride_);
    pairs_.push_back(
        at::stack({preds.index_select(0, places).to(at::kDouble),
                   target.index_select(0, places).to(at::kDouble)}));
  });
}

RegressionRows::Shown RegressionRows::compute(
    const std::shared_ptr<sync::Communicator>& ranks) {
  Shown shown;
  if (!first_failure(failure_, ranks).empty() || !is_regression_) return shown;
  const at::Tensor own =
      pairs_.empty() ? at::empty({2, 0}, at::kDouble) : at::cat(pairs_, 1);
  const at::Tensor all = at::cat(
      sync::gather_all_tensors(own, sync::GradientFlow::kDetached, ranks), 1);
  shown.preds = all[0];
  shown.target = all[1];
  shown.rows = rows_;
  return shown;
}

}  // namespace tally::cli
