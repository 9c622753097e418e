#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tally/metrics/text_list.h"
#include "tally/state/detected.h"
#include "tally/state/number.h"

namespace tally {

/// The kind of data in an input of a metric.
enum class InputKind {
  kReal,        ///< a tensor of floating-point numbers, integers or bool
  kFloat,       ///< a tensor of floating-point numbers
  kInteger,     ///< a tensor of integers or bool
  kKeys,        ///< integers, or texts, that are only told apart (see Keys)
  kCategories,  ///< the same, or scores of each category
  kGroups,      ///< a tensor of integers from 0, for which files have names
  kSegments,    ///< a tensor of integers: category and instance of pixels
  kText,        ///< a TextList: one text per row
  kTextLists,   ///< TextLists: several texts per row
  kTokens,      ///< TextLists: the words, or tags, of a text per row
  kRagged,      ///< a list with one element of any other type per row
  kTasks,       ///< a map of tasks to their inputs (see MultitaskWrapper)
  kAny,         ///< anything
};

/// The declaration of an input by a metric.
struct InputInfo {
  const char* name;
  InputKind kind;
  /// Description of content and shape for users: "int labels [N, ...]".
  const char* words;
  /// Whether it may be omitted.
  bool is_optional = false;
};

class InputValue;

namespace internal {

/// Of the input with this name, if there is one.
std::optional<std::size_t> place_of(c10::ArrayRef<InputInfo> inputs,
                                    std::string_view name);

/// Type-erased operations on inputs of a type.
struct InputOps {
  const std::type_info& type;
  /// Number of rows; -1 if it has no rows.
  std::int64_t (*rows)(const void* value);
  /// The rows at the given indices. Null if the type has no rows.
  InputValue (*select)(const void* value, c10::ArrayRef<std::int64_t> places);
  /// The tensors in it, through which gradients flow.
  void (*visit_tensors)(const void* value,
                        c10::function_ref<void(const at::Tensor&)> visit);
};

template <class T>
const InputOps& input_ops();

}  // namespace internal

/// A type-erased input of update(), without copy or allocation. It must not
/// outlive the value it refers to.
class InputRef {
 public:
  template <class T>
  static InputRef of(const T& value) {
    return InputRef(&value, internal::input_ops<T>());
  }
  /// An omitted optional input: an undefined tensor.
  static InputRef none();

  template <class T>
  const T* as() const {
    return ops_->type == typeid(T) ? static_cast<const T*>(value_) : nullptr;
  }
  const std::type_info& type() const { return ops_->type; }
  bool is_none() const {
    const auto* tensor = as<at::Tensor>();
    return tensor && !tensor->defined();
  }
  /// Number of rows: the size of a tensor's first dimension, the length of a
  /// list, 1 for a single text. -1 if it has no rows.
  std::int64_t rows() const { return ops_->rows(value_); }
  /// The rows at the given indices, which may repeat. REQUIRES: rows() >= 0.
  InputValue select(c10::ArrayRef<std::int64_t> places) const;
  /// `visit(tensor)` for each tensor in it: itself, or what a function
  /// tensors_of(value) that is declared beside its type returns.
  void visit_tensors(c10::function_ref<void(const at::Tensor&)> visit) const {
    ops_->visit_tensors(value_, visit);
  }

 private:
  friend class InputValue;
  InputRef(const void* value, const internal::InputOps& ops)
      : value_(value), ops_(&ops) {}

  const void* value_;
  const internal::InputOps* ops_;
};
using Inputs = c10::ArrayRef<InputRef>;

/// An owned input of any type.
class InputValue {
 public:
  template <class T>
  static InputValue of(T value) {
    auto owned = std::make_shared<const T>(std::move(value));
    const InputRef ref = InputRef::of(*owned);
    return InputValue(std::move(owned), ref);
  }
  const InputRef& ref() const { return ref_; }

 private:
  InputValue(std::shared_ptr<const void> owned, const InputRef& ref)
      : owned_(std::move(owned)), ref_(ref) {}

  std::shared_ptr<const void> owned_;
  InputRef ref_;
};

inline InputValue InputRef::select(c10::ArrayRef<std::int64_t> places) const {
  return ops_->select(value_, places);
}

namespace internal {

/// Tensors are taken as they are, none as an undefined one; plain numbers as
/// 0-dim tensors, so that `mean.update(0.25)` works; literals as const char*.
template <class T>
decltype(auto) as_input(const T& value) {
  static_assert(!std::is_same_v<T, c10::IValue>,
                "expected a tensor, got an IValue: pass value.toTensor()");
  if constexpr (std::is_same_v<T, std::optional<at::Tensor>>) {
    return value.value_or(at::Tensor());
  } else if constexpr (std::is_same_v<T, std::nullopt_t>) {
    return at::Tensor();
  } else if constexpr (std::is_floating_point_v<T>) {
    return scalar_tensor(static_cast<double>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return scalar_tensor(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_array_v<T>) {
    return static_cast<const std::remove_extent_t<T>*>(value);
  } else {
    return (value);
  }
}

template <class...>
inline constexpr bool kNever = false;

template <class T>
constexpr void refuse_braces() {
  static_assert(sizeof(T) == 0,
                "a braced list has no type: pass a std::vector<std::string>, a "
                "tensor or another input of the metric, or inputs by name, "
                "update({{\"preds\", {\"a\", "
                "\"b\"}}, ...})");
}

template <class T>
struct InputTraits {
  static std::int64_t rows(const void*) { return -1; }
  static constexpr InputValue (*select)(const void*,
                                        c10::ArrayRef<std::int64_t>) = nullptr;
};

/// For lists, whose elements are copied.
template <class List, class Element>
struct ListTraits {
  static std::int64_t rows(const void* list) {
    return static_cast<std::int64_t>(static_cast<const List*>(list)->size());
  }
  static InputValue select(const void* list,
                           c10::ArrayRef<std::int64_t> places) {
    std::vector<Element> rows;
    rows.reserve(places.size());
    const auto& all = *static_cast<const List*>(list);
    for (const std::int64_t place : places) {
      rows.push_back(all[static_cast<std::size_t>(place)]);
    }
    return InputValue::of(std::move(rows));
  }
};
template <class T>
struct InputTraits<std::vector<T>> : ListTraits<std::vector<T>, T> {};
template <class T>
struct InputTraits<c10::ArrayRef<T>> : ListTraits<c10::ArrayRef<T>, T> {};
template <>
struct InputTraits<TextList> : ListTraits<TextList, std::string_view> {};
template <>
struct InputTraits<TextLists> : ListTraits<TextLists, TextList> {};

/// For a single text.
template <class Text>
struct TextTraits {
  static std::int64_t rows(const void*) { return 1; }
  static InputValue select(const void* text,
                           c10::ArrayRef<std::int64_t> places) {
    const TextList one(*static_cast<const Text*>(text));
    return ListTraits<TextList, std::string_view>::select(&one, places);
  }
};
template <>
struct InputTraits<std::string> : TextTraits<std::string> {};
template <>
struct InputTraits<std::string_view> : TextTraits<std::string_view> {};
template <>
struct InputTraits<const char*> : TextTraits<const char*> {};

template <>
struct InputTraits<at::Tensor> {
  static std::int64_t rows(const void* tensor);
  static InputValue select(const void* tensor,
                           c10::ArrayRef<std::int64_t> places);
};

/// Of the inputs of tasks.
std::vector<at::Tensor> tensors_of(
    const std::map<std::string, at::Tensor>& tasks);
std::vector<at::Tensor> tensors_of(
    const std::map<std::string, InputValue>& tasks);

template <class T>
using TensorsOf = decltype(tensors_of(std::declval<const T&>()));

template <class T, class Visit>
void visit_tensors_of([[maybe_unused]] const T& value,
                      [[maybe_unused]] const Visit& visit) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    visit(value);
  } else if constexpr (std::is_same_v<T, std::optional<at::Tensor>>) {
    if (value) visit(*value);
  } else if constexpr (kHas<TensorsOf, T>) {
    for (const at::Tensor& tensor : tensors_of(value)) visit(tensor);
  }
}

template <class T>
const InputOps& input_ops() {
  static constexpr InputOps kOps{
      typeid(T), InputTraits<T>::rows, InputTraits<T>::select,
      [](const void* value, c10::function_ref<void(const at::Tensor&)> visit) {
        visit_tensors_of(*static_cast<const T*>(value), visit);
      }};
  return kOps;
}

}  // namespace internal

/// A named input: {"preds", preds}. It holds a handle of a tensor; other values
/// are not owned and must outlive it.
class NamedInput {
 public:
  template <class T>
  NamedInput(std::string_view name, const T& value)
      : NamedInput(name, internal::as_input(value), 0) {}
  /// For a type-erased input.
  NamedInput(std::string_view name, const InputRef& input)
      : name_(name), other_(input) {}
  /// {"preds", {"a text", "another"}}.
  NamedInput(std::string_view name, std::initializer_list<const char*> texts)
      : name_(name), texts_(texts) {}

  std::string_view name() const { return name_; }
  InputRef value() const {
    if (other_) return *other_;
    return tensor_ ? InputRef::of(*tensor_) : InputRef::of(texts_);
  }

 private:
  NamedInput(std::string_view name, at::Tensor tensor, int)
      : name_(name), tensor_(std::move(tensor)) {}
  NamedInput(std::string_view name, const char* text, int)
      : name_(name), texts_(text) {}
  template <class T>
  NamedInput(std::string_view name, const T& value, int)
      : name_(name), other_(InputRef::of(value)) {}

  std::string_view name_;
  std::optional<at::Tensor> tensor_;
  TextList texts_;
  std::optional<InputRef> other_;
};
using NamedInputs = c10::ArrayRef<NamedInput>;

}  // namespace tally
