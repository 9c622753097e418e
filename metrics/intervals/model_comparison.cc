#include "tally/metrics/intervals/model_comparison.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include "tally/metrics/intervals/comparison_engine.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/row_accumulator.h"
#include "tally/state/outside_inference.h"

namespace tally {

namespace intervals = internal::intervals;

ModelComparison::ModelComparison(OwnedMetric metric, Options options)
    : engine_(intervals::make_comparison_engine(metric.take(kName), options)),
      accumulated_(std::make_unique<intervals::RowAccumulator>(
          intervals::RowAccumulator::Rules{
              kName, engine_->uses_ids(), options.grouped(),
              engine_->identity(), engine_->key()})) {}

ModelComparison::ModelComparison(ModelComparison&&) noexcept = default;
ModelComparison& ModelComparison::operator=(ModelComparison&&) noexcept =
    default;
ModelComparison::~ModelComparison() = default;

const ModelComparisonOptions& ModelComparison::options() const {
  return engine_->options();
}
const Metric& ModelComparison::metric() const { return engine_->metric(); }
ComparisonMethod ModelComparison::method() const { return engine_->method(); }
bool ModelComparison::uses_ids() const { return engine_->uses_ids(); }
std::int64_t ModelComparison::rows() const { return accumulated_->rows(); }

void ModelComparison::reset() { accumulated_->reset(); }

void ModelComparison::update_rows(const SampleIds* ids, Inputs inputs) {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  TORCH_CHECK_VALUE(inputs.size() >= 2, kName, ": expected the first input of ",
                    metric().name(), " twice, once for each model, got ",
                    inputs.size(), " inputs");
  const std::int64_t rows = intervals::rows_of_inputs(inputs);
  std::vector<InputRef> first = {inputs[0]};
  std::vector<InputRef> second = {inputs[1]};
  for (std::vector<InputRef>* own : {&first, &second}) {
    own->insert(own->end(), inputs.begin() + 2, inputs.end());
  }
  accumulated_->update(metric(), ids, rows,
                       [&](const std::vector<std::int64_t>& own) {
                         return engine_->observe(first, second, own);
                       });
}

Comparisons ModelComparison::compute() {
  const internal::OutsideInference outside;
  const at::NoGradGuard no_grad;
  const auto all = accumulated_->merged(metric());
  return engine_->compare(all.state, all.rows);
}

}  // namespace tally
