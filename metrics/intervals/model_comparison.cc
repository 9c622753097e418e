#include "tally/metrics/intervals/model_comparison.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include "tally/metrics/intervals/comparison_engine.h"
#include "tally/state/outside_inference.h"

namespace tally {

namespace intervals = internal::intervals;

ModelComparison::ModelComparison(OwnedMetric metric, Options options)
    : ModelComparison(intervals::make_comparison_engine(metric.take(kName),
                                                        std::move(options))) {}

ModelComparison::ModelComparison(
    std::unique_ptr<intervals::ComparisonEngine> engine)
    : RowMetric({kName, engine->uses_ids(), engine->options().grouped(),
                 engine->identity(), engine->key()}),
      engine_(std::move(engine)) {
  const auto declared = metric().inputs();
  if (declared.empty()) return;
  const std::string own = declared[0].name;
  names_ = {"first_" + own, "second_" + own};
  for (const std::string& name : names_) {
    inputs_.push_back(declared[0]);
    inputs_.back().name = name.c_str();
  }
  inputs_.insert(inputs_.end(), declared.begin() + 1, declared.end());
}

ModelComparison::ModelComparison(ModelComparison&&) noexcept = default;
ModelComparison& ModelComparison::operator=(ModelComparison&&) noexcept =
    default;
ModelComparison::~ModelComparison() = default;

const ModelComparisonOptions& ModelComparison::options() const {
  return engine_->options();
}
const Metric& ModelComparison::metric() const { return engine_->metric(); }
ComparisonMethod ModelComparison::method() const { return engine_->method(); }

AnyState ModelComparison::observe(Inputs inputs,
                                  const std::vector<std::int64_t>& ids) const {
  TORCH_CHECK_VALUE(inputs.size() >= 2, kName, ": expected the first input of ",
                    metric().name(), " twice, once for each model, got ",
                    inputs.size(), " inputs");
  std::vector<InputRef> first = {inputs[0]};
  std::vector<InputRef> second = {inputs[1]};
  for (std::vector<InputRef>* own : {&first, &second}) {
    own->insert(own->end(), inputs.begin() + 2, inputs.end());
  }
  return engine_->observe(first, second, ids);
}

Comparisons ModelComparison::compute() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const auto all = merged();
  return engine_->compare(all.state, all.rows);
}

}  // namespace tally
