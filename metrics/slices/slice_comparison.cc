#include "tally/metrics/slices/slice_comparison.h"

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "tally/metrics/intervals/make_engine.h"
#include "tally/metrics/keys.h"
#include "tally/metrics/slices/compared_parts.h"
#include "tally/metrics/slices/slice_units.h"

namespace tally {

namespace slices = internal::slices;

std::string ComparedSlice::name() const { return internal::slice_words(key); }

namespace {

SliceComparisonOptions checked(SliceComparisonOptions options) {
  constexpr const char* kName = SliceComparison::kName;
  TORCH_CHECK_VALUE(options.min_rows() >= 2, kName,
                    ": expected min_rows to be at least 2, got ",
                    options.min_rows());
  TORCH_CHECK_VALUE(options.largest() >= 1 && options.max_slices() >= 1, kName,
                    ": expected largest and max_slices to be at least "
                    "1, got ",
                    options.largest(), " and ", options.max_slices());
  TORCH_CHECK_VALUE(options.level() > 0 && options.level() < 1, kName,
                    ": expected a level in (0, 1), got ", options.level());
  return options;
}

/// An input by name, or at its place among those of the metric; null if it is
/// not given.
std::optional<InputRef> input_at(const Metric&, Inputs inputs,
                                 std::size_t place) {
  if (place >= inputs.size() || inputs[place].is_none()) return {};
  return inputs[place];
}
std::optional<InputRef> input_at(const Metric& metric, NamedInputs inputs,
                                 std::size_t place) {
  if (place >= metric.inputs().size()) return {};
  const std::string_view name = metric.inputs()[place].name;
  for (const NamedInput& input : inputs) {
    if (input.name() == name && !input.value().is_none()) return input.value();
  }
  return {};
}

/// Whether rows have weights or several trials, so that none of them is one of
/// a proportion.
template <class AnyInputs>
bool are_dependent(const Metric& metric, const RateSampling& rate,
                   AnyInputs inputs) {
  const auto target = input_at(metric, inputs, 1);
  const auto* tensor = target ? target->template as<at::Tensor>() : nullptr;
  return input_at(metric, inputs, 2).has_value() ||
         (tensor != nullptr && tensor->dim() > rate.target_dims);
}

/// Whether the weight of each row is not 0; empty without weights.
template <class AnyInputs>
std::vector<bool> counting_rows(const Metric& metric, AnyInputs inputs,
                                std::int64_t rows) {
  const auto place = internal::place_of(metric.inputs(), "weight");
  const auto input = place ? input_at(metric, inputs, *place) : std::nullopt;
  const auto* tensor = input ? input->template as<at::Tensor>() : nullptr;
  if (tensor == nullptr || tensor->dim() != 1 || tensor->size(0) != rows) {
    return {};
  }
  const at::Tensor counts = tensor->ne(0).cpu().contiguous();
  const auto* const begin = counts.const_data_ptr<bool>();
  return std::vector<bool>(begin, begin + rows);
}

/// Of the units that an input says; what is not one is left to the metric to
/// refuse.
SampleIds ids_in(const std::optional<InputRef>& input, std::int64_t rows) {
  const auto keys = input ? internal::InputConversion<Keys>::of(*input)
                          : std::optional<Keys>();
  const at::Tensor tensor = keys ? keys->tensor() : at::Tensor();
  const bool fits = tensor.defined() && tensor.dim() == 1 &&
                    tensor.size(0) == rows &&
                    at::isIntegralType(tensor.scalar_type(), false);
  return SampleIds(fits ? tensor : at::zeros({rows}, at::kLong));
}

}  // namespace

SliceComparison::SliceComparison(Options options)
    : SlicedRows(internal::slice_rules(kName, checked(options).max_slices(), {},
                                       slices::kBlocks),
                 {}),
      options_(std::move(options)) {}

SliceComparison::SliceComparison(OwnedMetric owned, Options options)
    : SliceComparison(std::move(options)) {
  std::unique_ptr<Metric> metric = owned.take(kName);
  TORCH_CHECK_VALUE(metric->higher_is_better().has_value(), kName,
                    ": expected a metric for which higher or lower values are "
                    "better, got ",
                    metric->repr());
  higher_is_better_ = *metric->higher_is_better();
  Results results;
  metric->evaluate_into(metric->make_state(), "", results);
  TORCH_CHECK_VALUE(results.size() == 1 && results.value().dim() == 0, kName,
                    ": expected a metric whose result is one number, got ",
                    metric->repr());
  // A slice has fewer rows than the rest: a bias is a difference.
  const std::string reason = internal::intervals::no_interval(*metric);
  TORCH_CHECK_VALUE(reason.empty(), kName, ": ", reason);
  sampling_ = std::make_shared<const MetricSampling>(metric->sampling());
  TORCH_CHECK_VALUE(!sampling_->order, kName, ": ", metric->name(),
                    " is not compared: the jackknife does not hold for "
                    "quantiles; use a mean");
  add_metric("", std::move(metric));
  const std::string key = std::string(kName) + "(" + unit() + ")";
  accumulation_.add_column({"ids of rows",
                            StateKey(key, typeid(slices::SliceUnits)),
                            AnyState::of(slices::SliceUnits()),
                            /*on_cpu=*/true});
}

const Metric& SliceComparison::metric() const {
  return *metrics_.members_[0].metric;
}

const char* SliceComparison::unit() const {
  if (options_.grouped()) return "group";
  return takes_ids() ? "row" : sampling_->unit;
}

void SliceComparison::check_ids(const SliceKeys& keys,
                                const SampleIds* ids) const {
  if (!takes_ids()) {
    TORCH_CHECK_VALUE(ids == nullptr, kName, ": expected no ids, as ",
                      metric().name(), " draws each ", unit(),
                      " as a whole, by its input ",
                      metric().inputs()[*sampling_->unit_input].name,
                      "; for groups of them use grouped");
    return;
  }
  TORCH_CHECK_VALUE(ids != nullptr, kName, ": expected ids, one for each ",
                    unit());
  TORCH_CHECK_VALUE(ids->size() == keys.size(), kName,
                    ": expected an id for each of ", keys.size(), " keys, got ",
                    ids->size());
}

template <class AnyInputs>
void SliceComparison::update_with(const SliceKeys& keys, const SampleIds* given,
                                  AnyInputs inputs) {
  check_ids(keys, given);
  const SampleIds ids =
      takes_ids() ? *given
                  : ids_in(input_at(metric(), inputs, *sampling_->unit_input),
                           keys.size());
  const bool are_distinct = takes_ids() && !options_.grouped();
  const std::vector<bool> counting =
      counting_rows(metric(), inputs, ids.size());
  const bool is_dependent =
      sampling_->rate && are_dependent(metric(), *sampling_->rate, inputs);
  const SliceKeys blocks = keys.crossed_with(slices::block_keys(ids));
  update_rows(blocks, inputs, [&](std::vector<internal::RowBatch>& batch) {
    slices::add_units(blocks, ids, {are_distinct, is_dependent, counting},
                      batch);
  });
}

void SliceComparison::update_inputs(const SliceKeys& keys, Inputs inputs) {
  update_with(keys, nullptr, inputs);
}
void SliceComparison::update_inputs(const SliceKeys& keys, NamedInputs inputs) {
  update_with(keys, nullptr, inputs);
}
void SliceComparison::update_inputs(const SliceKeys& keys, const SampleIds& ids,
                                    Inputs inputs) {
  update_with(keys, &ids, inputs);
}
void SliceComparison::update_inputs(const SliceKeys& keys, const SampleIds& ids,
                                    NamedInputs inputs) {
  update_with(keys, &ids, inputs);
}

std::vector<ComparedSlice> SliceComparison::values_of(
    const internal::StateRows& states) const {
  using Kind = slices::UnitKind;
  const Kind kind = options_.grouped() ? Kind::kGroups
                    : takes_ids()      ? Kind::kRows
                                       : Kind::kWhole;
  return slices::compare_parts(slices::parts_of(states, kind, kName, unit()),
                               {metric(), *sampling_, higher_is_better_, kind},
                               options_);
}

std::vector<ComparedSlice> SliceComparison::compute() {
  return compute_by(
      value_, [&](internal::StateRows& rows) { return values_of(rows); },
      [](std::vector<ComparedSlice>&) {});
}

PendingValue<std::vector<ComparedSlice>> SliceComparison::sync_async() {
  return sync_async_by<std::vector<ComparedSlice>>([&] {
    SliceComparison copy(options_);
    copy_metrics_into(copy);
    copy.higher_is_better_ = higher_is_better_;
    copy.sampling_ = sampling_;
    return
        [snapshot = std::make_shared<const SliceComparison>(std::move(copy))](
            internal::StateRows& rows) { return snapshot->values_of(rows); };
  });
}

SliceComparison SliceComparison::clone() const {
  SliceComparison copy(options_);
  copy.higher_is_better_ = higher_is_better_;
  copy.sampling_ = sampling_;
  copy_into(copy);
  return copy;
}

std::string SliceComparison::spec() const {
  return std::string(kName) + "(metric=" + metric().spec() + ", " +
         options_repr(options_) + ")";
}

std::string SliceComparison::repr() const {
  return std::string(kName) + "(metric=" + metric().repr() +
         (options_.grouped() ? ", grouped=true)" : ")");
}

}  // namespace tally
