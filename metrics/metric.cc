#include "tally/metrics/metric.h"

#include <c10/util/Type.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/core/spec_text.h"
#include "tally/metrics/metric_of.h"
#include "tally/state/fresh_tensor.h"
#include "tally/state/sole_owner.h"
#include "tally/sync/autograd.h"
#include "tally/sync/communicator.h"

namespace tally {

namespace {

template <std::size_t kBytes>
using BitsOf = std::conditional_t<
    kBytes == 8, std::uint64_t,
    std::conditional_t<kBytes == 4, std::uint32_t, std::uint16_t>>;

// As bits, such a NaN is above -infinity. Without a branch for each number, as
// results may have millions.
template <class T>
bool any_signed_nan(const at::Tensor& value) {
  using Bits = BitsOf<sizeof(T)>;
  const auto bits_of = [](const T* number) {
    Bits bits;
    std::memcpy(&bits, number, sizeof(bits));
    return bits;
  };
  constexpr std::int64_t kBlock = 256;
  const T lowest = -std::numeric_limits<T>::infinity();
  const Bits last = bits_of(&lowest);
  const T* data = value.const_data_ptr<T>();
  const T* const end = data + value.numel();
  for (; end - data >= kBlock; data += kBlock) {
    Bits any = 0;
    for (std::int64_t i = 0; i < kBlock; ++i) any |= bits_of(data + i) > last;
    if (any != 0) return true;
  }
  return std::any_of(data, end,
                     [&](const T& number) { return bits_of(&number) > last; });
}

// 0 / 0 has a sign on x86, with which NaN is printed.
bool has_signed_nan(const at::Tensor& value) {
  if (!value.is_cpu()) return false;
  if (!value.is_contiguous()) return has_signed_nan(value.contiguous());
  switch (value.scalar_type()) {
    case at::kDouble:
      return any_signed_nan<double>(value);
    case at::kFloat:
      return any_signed_nan<float>(value);
    case at::kHalf:
      return any_signed_nan<at::Half>(value);
    case at::kBFloat16:
      return any_signed_nan<at::BFloat16>(value);
    default:
      return false;
  }
}

std::string with_article(const std::string& noun) {
  const bool is_vowel =
      std::string_view("aeiou").find(noun[0]) != std::string_view::npos;
  return (is_vowel ? "an " : "a ") + noun;
}

}  // namespace

namespace internal {

std::string type_name(const std::type_info& type) {
  return c10::demangle(type.name());
}

void refuse_input_count(const char* metric, c10::ArrayRef<InputInfo> inputs,
                        std::size_t least, std::size_t most, std::size_t got) {
  TORCH_CHECK_VALUE(false, metric, ": expected ", least,
                    most > least ? c10::str(" to ", most) : std::string(),
                    most == 1 ? " input" : " inputs", ", got ", got,
                    inputs.empty() ? "" : "; they are ",
                    inputs.empty() ? "" : listed(inputs));
}

namespace {

/// The types that a View of texts is read from.
template <class View, class... Types>
struct TextTypes {
  static bool contain(const std::type_info& type) {
    return ((type == typeid(Types)) || ...);
  }
  static std::optional<View> read(const InputRef& input) {
    std::optional<View> texts;
    const auto take = [&](const auto* value) {
      if (value) texts = View(*value);
    };
    (take(input.as<Types>()), ...);
    return texts;
  }
};

template <class Text>
using Lists = std::vector<std::vector<Text>>;

using ListTypes =
    TextTypes<TextList, TextList, std::string, std::string_view, const char*,
              std::vector<std::string>, std::vector<std::string_view>,
              std::vector<const char*>, c10::ArrayRef<std::string>,
              c10::ArrayRef<std::string_view>, c10::ArrayRef<const char*>>;
using ListsTypes =
    TextTypes<TextLists, TextLists, std::vector<TextList>,
              std::vector<std::string>, std::vector<std::string_view>,
              std::vector<const char*>, Lists<std::string>,
              Lists<std::string_view>, Lists<const char*>>;

}  // namespace

void refuse_input_type(const char* metric, std::size_t index,
                       c10::ArrayRef<InputInfo> inputs,
                       const std::type_info& expected,
                       const std::type_info& got) {
  const std::string input = index < inputs.size()
                                ? inputs[index].name
                                : "input " + std::to_string(index);
  TORCH_CHECK_TYPE(false, metric, ": expected ", input, " to be ",
                   with_article(type_name(expected)), ", got ",
                   with_article(type_name(got)),
                   expected == typeid(at::Tensor) && ListTypes::contain(got)
                       ? "; pass the number of each text, the same on every "
                         "rank"
                       : "");
}

std::optional<TextList> InputConversion<TextList>::of(const InputRef& input) {
  return ListTypes::read(input);
}

std::optional<TextLists> InputConversion<TextLists>::of(const InputRef& input) {
  return ListsTypes::read(input);
}

}  // namespace internal

int BatchOrigin::rank() const {
  return accumulation_ ? accumulation_->communicator()->rank() : 0;
}

std::int64_t BatchOrigin::index() const {
  return accumulation_
             ? accumulation_->cell(accumulation_->last_row(), 0).next_index()
             : 0;
}

AnyState Metric::observe_next(Inputs given) const {
  check_positional(given.size());
  AnyState batch = make_batch();
  observe_into(batch, given, BatchOrigin(accumulation_));
  return batch;
}

AnyState Metric::observe_next(NamedInputs given) {
  const auto declared = inputs();
  TORCH_CHECK_VALUE(!declared.empty(), name(),
                    ": expected inputs by position, got them by name, which ",
                    "the metric does not declare (kInputs)");
  internal::OrderedInputs ordered;
  input_order_.arrange(
      given, declared, [&](std::size_t) { return name(); }, ordered);
  AnyState batch = make_batch();
  observe_into(batch, ordered, BatchOrigin(accumulation_));
  return batch;
}

Results Metric::results_of_batch(const AnyState& batch) const {
  Results results;
  evaluate_into(batch, "", results);
  return results;
}

void Metric::update_inputs(Inputs given) {
  update_by(given, [&] { return observe_next(given); });
}

void Metric::update_inputs(NamedInputs given) {
  update_by(given, [&] { return observe_next(given); });
}

Results Metric::forward_inputs(Inputs given) {
  return forward_by(
      given, is_differentiable(), [&] { return observe_next(given); },
      [&](const AnyState& batch) { return results_of_batch(batch); });
}

Results Metric::forward_inputs(NamedInputs given) {
  return forward_by(
      given, is_differentiable(), [&] { return observe_next(given); },
      [&](const AnyState& batch) { return results_of_batch(batch); });
}

AnyState Metric::derive(const AnyState&) const {
  TORCH_CHECK(false, name(), ": expected a metric with a source_key()");
}

void Metric::merge_state(const Metric& other) { merge_from(other); }

std::string Metric::spec() const { return with_common_options(repr()); }

std::string Metric::with_common_options(std::string text) const {
  return internal::with_common_options(std::move(text),
                                       {metric_options(), dtype_});
}

void Metric::set_dtype(at::ScalarType dtype) {
  TORCH_CHECK_VALUE(at::isFloatingType(dtype), name(),
                    ": set_dtype expected a floating-point dtype, got ", dtype);
  const Use use(accumulation_);
  dtype_ = dtype;
  accumulation_.invalidate_value();
}

void Metric::finish(at::Tensor& value) const {
  if (!value.defined()) return;
  if (value.requires_grad() && !is_differentiable()) value = value.detach();
  if (dtype_ && at::isFloatingType(value.scalar_type())) {
    value = value.to(*dtype_);
  }
  if (!internal::is_sole_owner(value) && !value.requires_grad()) {
    value = internal::fresh_copy(value);
  }
  if (!has_signed_nan(value)) return;
  if (value.requires_grad()) {
    const at::Tensor plain = value.detach();
    value = sync::replace_values(
        value, plain.masked_fill(plain.isnan(), internal::kNaN));
  } else {
    value.masked_fill_(value.isnan(), internal::kNaN);
  }
}

}  // namespace tally
