#include <ATen/ops/stack.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/core/metric_traits.h"
#include "tally/metrics/results_table.h"
#include "tally/metrics/wrappers/classwise_wrapper.h"
#include "tally/metrics/wrappers/multioutput_wrapper.h"
#include "tally/metrics/wrappers/stacked_results.h"
#include "tally/state/fresh_tensor.h"
#include "tally/state/state_parts.h"

namespace tally {
namespace internal {

Results stacked(const std::vector<Results>& several, const char* owner,
                Dimension what) {
  Results all;
  for (const auto& [name, first] : several.front()) {
    std::vector<at::Tensor> values;
    for (const Results& results : several) {
      TORCH_CHECK_VALUE(
          results.contains(name) && results.size() == several.front().size(),
          owner, ": expected the same results of every ", to_string(what));
      const at::Tensor& value = results.at(name);
      TORCH_CHECK_VALUE(value.sizes() == first.sizes(), owner,
                        ": expected results of the same sizes of every ",
                        to_string(what), ", got ", first.sizes(), " and ",
                        value.sizes());
      values.push_back(value);
    }
    Dimensions dimensions = several.front().dimensions(name);
    dimensions.insert(dimensions.begin(), what);
    all.add(name, at::stack(values), std::move(dimensions));
  }
  return all;
}

}  // namespace internal

namespace {

std::vector<at::Tensor> tensors_of(Inputs inputs,
                                   c10::ArrayRef<InputInfo> declared) {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* tensor = inputs[i].as<at::Tensor>();
    if (!tensor) {
      internal::refuse_input_type(MultioutputWrapper::kName, i, declared,
                                  typeid(at::Tensor), inputs[i].type());
    }
    TORCH_CHECK_VALUE(tensor->defined(), MultioutputWrapper::kName,
                      ": expected a tensor as input ", i,
                      ", got an undefined one");
    tensors.push_back(*tensor);
  }
  TORCH_CHECK_VALUE(!tensors.empty(), MultioutputWrapper::kName,
                    ": expected at least 1 input, got 0");
  return tensors;
}

// Leaves out the rows in which any input has NaN.
void remove_nans(std::vector<at::Tensor>& inputs) {
  at::Tensor nan;
  for (const at::Tensor& input : inputs) {
    if (input.dim() == 0 || !at::isFloatingType(input.scalar_type())) continue;
    const at::Tensor rows = input.detach().isnan().flatten(1 - input.dim());
    const at::Tensor here = rows.dim() > 1 ? rows.any(1) : rows;
    nan = nan.defined() ? nan.logical_or(here) : here;
  }
  if (!nan.defined() || !nan.any().item<bool>()) return;
  const at::Tensor kept = nan.logical_not().nonzero().squeeze(1);
  for (at::Tensor& input : inputs) {
    if (input.dim() > 0) input = input.index_select(0, kept);
  }
}

// Each row as a tensor; where there is no graph, as part of one copy, and not
// as a view, which knows whose.
std::vector<at::Tensor> apart(const at::Tensor& values) {
  if (!internal::is_plain(values)) return values.unbind(0);
  const at::Tensor copy = internal::fresh_copy(values);
  const at::IntArrayRef sizes = values.sizes().slice(1);
  const std::int64_t numel = c10::multiply_integers(sizes);
  std::vector<at::Tensor> rows;
  rows.reserve(static_cast<std::size_t>(values.size(0)));
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    rows.push_back(at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(copy.storage()),
        c10::DispatchKeySet(c10::DispatchKey::CPU), copy.dtype()));
    c10::TensorImpl* const row = rows.back().unsafeGetTensorImpl();
    row->set_sizes_contiguous(sizes);
    row->set_storage_offset(i * numel);
  }
  return rows;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

void MultioutputWrapperOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(num_outputs_ > 0, metric,
                    ": expected num_outputs to be at least 1, got ",
                    num_outputs_);
}

MultioutputWrapper::MultioutputWrapper(OwnedMetric metric, Options options)
    : MetricWrapper(kName, std::move(metric)), options_(options) {
  options_.validate(kName);
  std::vector<std::pair<std::string, AnyState>> parts;
  for (std::int64_t i = 0; i < options_.num_outputs(); ++i) {
    parts.emplace_back(std::to_string(i), this->metric().make_state());
  }
  set_state(AnyState::of(StateParts(std::move(parts))));
}

StateKey MultioutputWrapper::key() const {
  return std::string(kName) + "(" + options_state_key(options_) + "; " +
         metric().state_key() + ")";
}

std::int64_t MultioutputWrapper::dims_with_outputs(
    const std::vector<at::Tensor>& inputs) const {
  const std::int64_t dims = inputs.front().dim();
  if (inputs.size() < 2) return dims;
  // Of labels beside scores, which have a dimension of classes more.
  const at::Tensor& target = inputs[1];
  const std::int64_t dim = options_.output_dim();
  const bool has_outputs = target.dim() == dims - 1 && dims > 2 &&
                           dim < target.dim() && dim >= -target.dim() &&
                           target.size(dim) == options_.num_outputs();
  return has_outputs ? dims - 1 : dims;
}

at::Tensor MultioutputWrapper::output_of(const at::Tensor& input,
                                         std::int64_t output) const {
  const std::int64_t dim = options_.output_dim();
  const at::Tensor one = input.narrow(dim, output, 1);
  return options_.squeeze_outputs() ? one.squeeze(dim) : one;
}

void MultioutputWrapper::observe_into(AnyState& fresh, Inputs inputs,
                                      const BatchOrigin& origin) const {
  const std::vector<at::Tensor> tensors = tensors_of(inputs, metric().inputs());
  const std::int64_t dims = dims_with_outputs(tensors);
  const std::int64_t dim = options_.output_dim();
  for (const at::Tensor& tensor : tensors) {
    if (tensor.dim() < dims) continue;
    TORCH_CHECK_VALUE(dim < tensor.dim() && dim >= -tensor.dim() &&
                          tensor.size(dim) == options_.num_outputs(),
                      kName, ": expected inputs with ", options_.num_outputs(),
                      " outputs in dimension ", dim, ", got sizes ",
                      tensor.sizes());
  }
  auto& parts = fresh.get<StateParts>().parts();
  for (std::int64_t output = 0; output < options_.num_outputs(); ++output) {
    std::vector<at::Tensor> own;
    for (const at::Tensor& tensor : tensors) {
      own.push_back(tensor.dim() < dims ? tensor : output_of(tensor, output));
    }
    const bool had_rows = own.front().dim() > 0 && own.front().size(0) > 0;
    if (options_.remove_nans()) remove_nans(own);
    if (had_rows && own.front().size(0) == 0) continue;
    std::vector<InputRef> given;
    for (const at::Tensor& tensor : own) given.push_back(InputRef::of(tensor));
    metric().observe_into(parts[static_cast<std::size_t>(output)], given,
                          origin);
  }
}

AnyState MultioutputWrapper::make_kept() const {
  const AnyState kept = metric().make_kept();
  if (!kept.defined()) return kept;
  std::vector<std::pair<std::string, AnyState>> parts;
  for (std::int64_t i = 0; i < options_.num_outputs(); ++i) {
    parts.emplace_back(std::to_string(i), kept);
  }
  return AnyState::of(StateParts(std::move(parts)));
}

void MultioutputWrapper::compute_into(const AnyState& state, AnyState& kept,
                                      const std::string& name,
                                      Results& results) const {
  const auto& parts = state.get<StateParts>().parts();
  std::vector<Results> outputs(parts.size());
  AnyState none;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    metric().compute_into(
        parts[i], kept.defined() ? kept.get<StateParts>().parts()[i] : none, "",
        outputs[i]);
  }
  add_results(internal::stacked(outputs, kName, Dimension::kOutput), name,
              results);
}

void ClasswiseWrapperOptions::visit(OptionVisitor& v) {
  v("labels", labels_, OptionRole::kValue,
    "Names of the classes, as [horse, fish]; numbers if [].");
  v("prefix", prefix_, OptionRole::kValue, internal::words::kPrefix);
  v("postfix", postfix_, OptionRole::kValue, internal::words::kPostfix);
}

void ClasswiseWrapperOptions::validate(const char* metric) const {
  std::set<std::string> known;
  for (const std::string& label : labels_) {
    TORCH_CHECK_VALUE(!label.empty(), metric,
                      ": expected labels that are not empty");
    TORCH_CHECK_VALUE(known.insert(label).second, metric,
                      ": expected different labels, got '", label, "' twice");
  }
}

ClasswiseWrapper::ClasswiseWrapper(OwnedMetric metric, Options options)
    : MetricWrapper(kName, std::move(metric)), options_(std::move(options)) {
  options_.validate(kName);
  set_state(this->metric().make_state());
}

void ClasswiseWrapper::observe_into(AnyState& fresh, Inputs inputs,
                                    const BatchOrigin& origin) const {
  metric().observe_into(fresh, inputs, origin);
}

void ClasswiseWrapper::evaluate_into(const AnyState& state,
                                     const std::string& name,
                                     Results& results) const {
  const Results all = results_of(state);
  TORCH_CHECK_VALUE(all.size() == 1 && all.value().dim() > 0, kName,
                    ": expected one value for each class of ", metric().repr(),
                    "; its average should be none");
  at::Tensor values = all.value();
  // Not each row: they share a storage, and would be copied once more.
  finish(values);
  const auto count = static_cast<std::size_t>(values.size(0));
  const std::string& inner = all.begin()->first;
  const auto& labels = options_.labels();
  TORCH_CHECK_VALUE(labels.empty() || labels.size() == count, kName,
                    ": expected a label for each of ", count, " classes, got ",
                    labels.size());
  const bool is_plain = options_.prefix().empty() && options_.postfix().empty();
  const std::string first =
      name + (name.empty() ? "" : ".") +
      (is_plain ? lower(metric().name()) + "_" : options_.prefix());
  const std::vector<std::string> numbers =
      internal::elements_of(all, inner, 0, {}).names;
  const Dimensions dimensions = all.dimensions(inner);
  const Dimensions rest(dimensions.begin() + 1, dimensions.end());
  std::vector<at::Tensor> rows = apart(values);
  results.reserve(results.size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& label = labels.empty() ? numbers[i] : labels[i];
    std::string own;
    own.reserve(first.size() + label.size() + options_.postfix().size());
    own.append(first).append(label).append(options_.postfix());
    results.add(std::move(own), std::move(rows[i]), rest);
  }
}

}  // namespace tally
