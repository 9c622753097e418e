#include "tally/metrics/inputs.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "tally/metrics/common/any_nan.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/core/input_order.h"
#include "tally/state/joined.h"

namespace tally {

InputRef InputRef::none() {
  static const at::Tensor undefined;
  return InputRef::of(undefined);
}

namespace internal {

std::vector<at::Tensor> tensors_of(
    const std::map<std::string, at::Tensor>& tasks) {
  std::vector<at::Tensor> tensors;
  for (const auto& [task, tensor] : tasks) tensors.push_back(tensor);
  return tensors;
}

std::vector<at::Tensor> tensors_of(
    const std::map<std::string, InputValue>& tasks) {
  std::vector<at::Tensor> tensors;
  for (const auto& [task, value] : tasks) {
    value.ref().visit_tensors(
        [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  }
  return tensors;
}

std::optional<std::size_t> place_of(c10::ArrayRef<InputInfo> inputs,
                                    std::string_view name) {
  const auto* const found =
      std::find_if(inputs.begin(), inputs.end(),
                   [&](const InputInfo& input) { return input.name == name; });
  if (found == inputs.end()) return {};
  return static_cast<std::size_t>(found - inputs.begin());
}

void check_defined(const char* input, const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.defined(), "expected a tensor as ", input,
                    ", got an undefined one");
}

void check_floating(const char* input, const at::Tensor& tensor) {
  check_defined(input, tensor);
  TORCH_CHECK_TYPE(at::isFloatingType(tensor.scalar_type()), "expected ", input,
                   " of a floating-point dtype, got ", tensor.scalar_type());
}

void check_integral(const char* input, const at::Tensor& tensor) {
  check_defined(input, tensor);
  TORCH_CHECK_TYPE(
      at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true),
      "expected ", input, " of an integer dtype, got ", tensor.scalar_type(),
      at::isFloatingType(tensor.scalar_type())
          ? c10::str("; for whole numbers pass ", input, ".to(at::kLong)")
          : "");
}

void check_real(const char* input, const at::Tensor& tensor) {
  check_defined(input, tensor);
  const at::ScalarType dtype = tensor.scalar_type();
  TORCH_CHECK_TYPE(at::isFloatingType(dtype) || at::isIntegralType(dtype, true),
                   "expected ", input, " of a real dtype, got ", dtype);
  TORCH_CHECK_TYPE(tensor.layout() == at::kStrided, "expected ", input,
                   " to be a dense tensor, got one of layout ",
                   tensor.layout());
}

void check_same_shape(const char* a_input, const at::Tensor& a,
                      const char* b_input, const at::Tensor& b) {
  check_same_device(a_input, a, b_input, b);
  TORCH_CHECK_VALUE(a.sizes() == b.sizes(), "expected ", a_input, " and ",
                    b_input, " of the same shape, got ", a.sizes(), " and ",
                    b.sizes(),
                    shape_hint(a_input, a.sizes(), b_input, b.sizes()));
}

std::string shape_hint(const char* a_input, at::IntArrayRef a,
                       const char* b_input, at::IntArrayRef b) {
  if (a.empty() || b.empty()) return "";
  if (a[0] != b[0]) {
    return c10::str("; these are ", a[0], " rows and ", b[0]);
  }
  const auto is_column_of = [](at::IntArrayRef column, at::IntArrayRef vector) {
    return vector.size() == 1 && column.size() == 2 && column[1] == 1;
  };
  for (const auto& [name, column, vector] :
       {std::tuple(a_input, a, b), std::tuple(b_input, b, a)}) {
    if (is_column_of(column, vector)) {
      return c10::str("; did you mean ", name, ".squeeze(1)?");
    }
  }
  return "";
}

void check_same_device(const char* a_input, const at::Tensor& a,
                       const char* b_input, const at::Tensor& b) {
  check_defined(a_input, a);
  check_defined(b_input, b);
  TORCH_CHECK_VALUE(a.device() == b.device(), "expected ", a_input, " and ",
                    b_input, " on the same device, got ", a.device(), " and ",
                    b.device());
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided &&
         tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg() &&
         !(tensor.requires_grad() && at::GradMode::is_enabled());
}

bool has_nan(const at::Tensor& tensor) {
  if (!at::isFloatingType(tensor.scalar_type())) return false;
  const at::Tensor values = tensor.requires_grad() ? tensor.detach() : tensor;
  if (!is_plain(values)) return values.isnan().any().item().toBool();
  return values.scalar_type() == at::kFloat
             ? any_nan(values.const_data_ptr<float>(), values.numel())
             : any_nan(values.to(at::kDouble).const_data_ptr<double>(),
                       values.numel());
}

std::int64_t InputTraits<at::Tensor>::rows(const void* tensor) {
  const auto& input = *static_cast<const at::Tensor*>(tensor);
  return input.defined() && input.dim() > 0 ? input.size(0) : -1;
}

InputValue InputTraits<at::Tensor>::select(const void* tensor,
                                           c10::ArrayRef<std::int64_t> places) {
  const auto& input = *static_cast<const at::Tensor*>(tensor);
  return InputValue::of(
      input.index_select(0, at::tensor(places, at::kLong).to(input.device())));
}

namespace {

// "update({{"preds", preds}, {"target", target}})".
std::string call_by_name(c10::ArrayRef<InputInfo> inputs) {
  const auto by_name = [](const InputInfo& input) {
    return c10::str("{\"", input.name, "\", ", input.name, "}");
  };
  return "update({" + joined(", ", inputs, by_name) + "})";
}

std::string names_of(NamedInputs given) {
  const std::string text =
      joined(", ", given, [](const NamedInput& input) { return input.name(); });
  return text.empty() ? "none" : text;
}

}  // namespace

std::string listed(c10::ArrayRef<InputInfo> inputs) {
  if (inputs.empty()) return "none";
  std::string text;
  for (const InputInfo& input : inputs) {
    const std::string name =
        (text.empty() ? "" : ", ") + std::string(input.name);
    text += input.is_optional ? "[" + name + "]" : name;
  }
  return text;
}

void check_positional(const std::string& owner, c10::ArrayRef<InputInfo> inputs,
                      std::size_t positional, std::size_t count) {
  TORCH_CHECK_VALUE(
      count <= positional, owner, ": expected at most ", positional,
      positional == 1 ? " input" : " inputs", " by position, got ", count,
      ": its metrics do not all read the next one, or read it as different "
      "inputs; pass inputs by name: ",
      call_by_name(inputs));
}

bool InputOrder::is_known(NamedInputs given) const {
  if (given.empty() || given.size() != names_.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].name() != names_[i]) return false;
  }
  return true;
}

void InputOrder::find(NamedInputs given, c10::ArrayRef<InputInfo> inputs,
                      c10::function_ref<std::string(std::size_t)> who) {
  std::vector<std::string> names;
  std::vector<int> places(inputs.size(), -1);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string name(given[i].name());
    const auto known_place = internal::place_of(inputs, name);
    if (!known_place) {
      std::vector<std::string> known;
      for (const InputInfo& input : inputs) known.push_back(input.name);
      TORCH_CHECK_VALUE(false, who(inputs.size()), ": expected the inputs ",
                        listed(inputs), ", got '", name,
                        "', which is none of them", did_you_mean(name, known));
    }
    const std::size_t place = *known_place;
    TORCH_CHECK_VALUE(places[place] == -1, who(inputs.size()),
                      ": expected each input once, got '", name, "' twice");
    places[place] = static_cast<int>(i);
    names.push_back(name);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TORCH_CHECK_VALUE(inputs[i].is_optional || places[i] != -1, who(i),
                      ": expected the input '", inputs[i].name, "' (",
                      inputs[i].words, "), got ", names_of(given));
  }
  names_ = std::move(names);
  places_ = std::move(places);
}

void InputOrder::arrange(NamedInputs given, c10::ArrayRef<InputInfo> inputs,
                         c10::function_ref<std::string(std::size_t)> who,
                         OrderedInputs& ordered) {
  if (!is_known(given)) find(given, inputs, who);
  std::size_t count = places_.size();
  while (count > 0 && places_[count - 1] == -1) --count;
  for (std::size_t i = 0; i < count; ++i) {
    ordered.push_back(
        places_[i] == -1 ? InputRef::none()
                         : given[static_cast<std::size_t>(places_[i])].value());
  }
}

InputUnion::InputUnion(std::vector<Reader> readers)
    : readers_(std::move(readers)) {
  std::size_t most = 0;
  for (const Reader& reader : readers_) {
    most = std::max(most, reader.inputs.size());
    if (reader.inputs.empty()) agreed_ = std::min(agreed_, reader.positional);
  }
  // Position by position, so that those on which all agree come first.
  for (std::size_t position = 0; position < most; ++position) {
    const char* common = nullptr;
    for (const Reader& reader : readers_) {
      if (reader.inputs.empty()) continue;
      if (position >= reader.inputs.size()) {
        positional_ = std::min(positional_, position);
        continue;
      }
      const InputInfo& info = reader.inputs[position];
      if (!common) common = info.name;
      if (std::string_view(common) != info.name ||
          position >= reader.positional) {
        agreed_ = std::min(agreed_, position);
      }
      const auto place = internal::place_of(inputs_, info.name);
      if (!place) {
        inputs_.push_back(info);
      } else if (inputs_[*place].is_optional && !info.is_optional) {
        inputs_[*place] = info;
      }
    }
  }
  const bool all_have_names =
      std::none_of(readers_.begin(), readers_.end(),
                   [](const Reader& reader) { return reader.inputs.empty(); });
  if (!all_have_names) {
    positional_ = agreed_;
    inputs_.clear();
    return;
  }
  positional_ = std::min({positional_, agreed_, inputs_.size()});
  for (const Reader& reader : readers_) {
    places_.emplace_back();
    for (const InputInfo& info : reader.inputs) {
      places_.back().push_back(*internal::place_of(inputs_, info.name));
    }
  }
}

std::string InputUnion::reader_of(std::size_t i) const {
  std::string found;
  for (std::size_t r = 0; r < readers_.size(); ++r) {
    for (std::size_t k = 0; k < places_[r].size(); ++k) {
      if (places_[r][k] != i) continue;
      if (!readers_[r].inputs[k].is_optional) return readers_[r].label;
      if (found.empty()) found = readers_[r].label;
    }
  }
  return found;
}

void InputUnion::check_names(const char* owner) const {
  for (const Reader& reader : readers_) {
    TORCH_CHECK_VALUE(!reader.inputs.empty(), owner,
                      ": expected metrics that take the same inputs, or ",
                      "declare their names (kInputs); ", reader.label,
                      " does not");
  }
}

void InputUnion::arrange(std::size_t reader, Inputs inputs,
                         OrderedInputs& ordered) const {
  const Reader& one = readers_[reader];
  if (inputs_.empty()) {
    ordered.append(inputs.begin(), inputs.end());
    return;
  }
  const auto& places = places_[reader];
  const auto is_left_out = [&](std::size_t i) {
    return places[i] >= inputs.size() ||
           (one.inputs[i].is_optional && inputs[places[i]].is_none());
  };
  std::size_t count = places.size();
  while (count > 0 && is_left_out(count - 1)) --count;
  for (std::size_t i = 0; i < count; ++i) {
    ordered.push_back(places[i] < inputs.size() ? inputs[places[i]]
                                                : InputRef::none());
  }
}

void InputUnion::refuse_disagreement(const char* owner) const {
  std::string meanings;
  for (const Reader& reader : readers_) {
    if (reader.inputs.size() <= agreed_) continue;
    meanings += (meanings.empty() ? "" : ", ") + reader.label + " as '" +
                reader.inputs[agreed_].name + "'";
  }
  check_names(owner);
  TORCH_CHECK_VALUE(false, owner, ": input ", agreed_,
                    " has several meanings: ", meanings,
                    "; pass inputs by name: ", call_by_name(inputs_));
}

}  // namespace internal
}  // namespace tally
