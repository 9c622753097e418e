#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tally/metrics/dimension.h"

namespace tally {

/// Nothing, a count, or a list: "none", "200", "[0.1, 0.5]".
using CountOrList =
    std::variant<std::monostate, std::int64_t, std::vector<double>>;

/// What an option affects.
enum class OptionRole {
  kState,  ///< the state
  kValue,  ///< only what is computed from the state
  kSize,   ///< the state, whose memory grows with the option
};

/// The names of an enumeration used in options are given by a specialization:
///     template <> struct EnumNames<Average> {
///       static constexpr const char* kNames[] = {"micro", "macro"};
///     };
/// in the order of the enumerators, which start at 0.
template <class Enum>
struct EnumNames;

namespace internal {

/// The reason why a text is not a valid value of an option.
struct OptionRefusal {
  std::string expected;
  std::string got;
};

/// How options of a type are formatted and parsed: expected() describes the
/// accepted texts, parse() sets the value or returns a refusal.
template <class T, class = void>
struct OptionType {
  static std::string expected();
  static std::string print(const T& value);
  static std::optional<OptionRefusal> parse(const std::string& text, T& value);
};

std::string expected_choice(const char* const* names, std::size_t count);
std::optional<OptionRefusal> parse_choice(const std::string& text,
                                          const char* const* names,
                                          std::size_t count,
                                          std::size_t& index);
template <class Enum>
struct OptionType<Enum, std::enable_if_t<std::is_enum_v<Enum>>> {
  static constexpr auto& kNames = EnumNames<Enum>::kNames;

  static std::string expected() {
    return expected_choice(kNames, std::size(kNames));
  }
  static std::string print(const Enum& value) {
    return kNames[static_cast<std::size_t>(value)];
  }
  static std::optional<OptionRefusal> parse(const std::string& text,
                                            Enum& value) {
    std::size_t index = 0;
    auto refusal = parse_choice(text, kNames, std::size(kNames), index);
    if (!refusal) value = static_cast<Enum>(index);
    return refusal;
  }
};

/// Of an enumeration of which the first `kCount` are valid.
template <class Enum, std::size_t kCount>
struct FirstOf {
  static constexpr auto& kNames = EnumNames<Enum>::kNames;

  static std::string expected() { return expected_choice(kNames, kCount); }
  static std::optional<OptionRefusal> parse(const std::string& text,
                                            Enum& value) {
    std::size_t index = 0;
    auto refusal = parse_choice(text, kNames, kCount, index);
    if (!refusal) value = static_cast<Enum>(index);
    return refusal;
  }
};

template <class T>
struct OptionType<std::optional<T>> {
  static std::string expected() {
    return "none or " + OptionType<T>::expected();
  }
  static std::string print(const std::optional<T>& value) {
    return value ? OptionType<T>::print(*value) : "none";
  }
  static std::optional<OptionRefusal> parse(const std::string& text,
                                            std::optional<T>& value) {
    if (text == "none") {
      value = std::nullopt;
      return std::nullopt;
    }
    T parsed{};
    if (OptionType<T>::parse(text, parsed)) {
      return OptionRefusal{expected(), text};
    }
    value = std::move(parsed);
    return std::nullopt;
  }
};

/// "[a, b]", and its items; nothing if the text is not a list.
std::string join_list(const std::vector<std::string>& items);
std::optional<std::vector<std::string>> split_list(const std::string& text);
/// "a list such as [0.1, 0.9]" of integers, numbers or text.
template <class T>
std::string expected_list() {
  if constexpr (std::is_same_v<T, double>) return "a list such as [0.1, 0.9]";
  if constexpr (std::is_same_v<T, std::int64_t>) return "a list such as [1, 2]";
  return "a list such as [one, two]";
}

template <class T>
struct OptionType<std::vector<T>> {
  static std::string expected() {
    if constexpr (std::is_enum_v<T>) {
      return "a list, each " + OptionType<T>::expected();
    } else {
      return expected_list<T>();
    }
  }
  static std::string print(const std::vector<T>& values) {
    std::vector<std::string> items;
    for (const T& value : values) items.push_back(OptionType<T>::print(value));
    return join_list(items);
  }
  static std::optional<OptionRefusal> parse(const std::string& text,
                                            std::vector<T>& values) {
    const auto items = split_list(text);
    if (!items) return OptionRefusal{expected(), text};
    std::vector<T> parsed(items->size());
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (auto no = OptionType<T>::parse((*items)[i], parsed[i])) return no;
    }
    values = std::move(parsed);
    return std::nullopt;
  }
};

extern template struct OptionType<std::optional<std::int64_t>>;
extern template struct OptionType<std::optional<double>>;
extern template struct OptionType<std::vector<double>>;

}  // namespace internal

/// A type-erased option: conversion to text and back.
class OptionRef {
 public:
  template <class T>
  explicit OptionRef(T& value, const char* words = "")
      : value_(&value),
        type_(&kType<T, internal::OptionType<T>>),
        words_(words) {}
  /// Of an enumeration of which the first `kCount` are valid.
  template <std::size_t kCount, class Enum>
  static OptionRef first(Enum& value, const char* words) {
    OptionRef option(value, words);
    option.type_ = &kType<Enum, internal::FirstOf<Enum, kCount>>;
    option.is_limited_ = true;
    return option;
  }

  std::string text() const { return type_->print(value_); }
  /// "an integer", "one of micro, macro".
  std::string expected() const { return type_->expected(); }
  /// What files call it, if that is another name.
  const char* old_name() const { return old_name_; }
  /// Whether a value of its type may be invalid.
  bool is_limited() const { return is_limited_; }
  /// What it does, in one sentence; empty if its visit() does not say.
  const char* words() const { return words_; }
  /// Sets the value that the text represents, or returns what was expected and
  /// leaves the option unchanged.
  std::optional<internal::OptionRefusal> set(const std::string& text) const {
    return type_->parse(text, value_);
  }

 private:
  struct Type {
    std::string (*expected)();
    std::string (*print)(const void* value);
    std::optional<internal::OptionRefusal> (*parse)(const std::string& text,
                                                    void* value);
  };
  template <class T, class Accepted>
  static constexpr Type kType = {
      &Accepted::expected,
      [](const void* value) {
        return internal::OptionType<T>::print(*static_cast<const T*>(value));
      },
      [](const std::string& text, void* value) {
        return Accepted::parse(text, *static_cast<T*>(value));
      }};

  void* value_;
  const Type* type_;
  const char* words_;
  const char* old_name_ = nullptr;
  bool is_limited_ = false;

  friend class OptionVisitor;
};

/// Visits every option of an options struct once, by name. A single
/// description,
///     void visit(OptionVisitor& v) {
///       v("num_classes", num_classes_, OptionRole::kSize,
///         "Number of classes; labels are 0 to num_classes - 1.");
///       v("average", average_, OptionRole::kValue,
///         "How the values of classes are averaged.");
///     }
/// provides a metric's repr, the key by which metrics share a state, the schema
/// of checkpoints, the parser of option strings, and what `tally describe`
/// says. The last argument, of at most 72 characters, may be omitted. An
/// option is a bool, an std::int64_t, a double, an std::string or an
/// enumeration, one of these or none (std::optional), a list of them
/// (std::vector), or a CountOrList.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  template <class T>
  void operator()(const char* name, T& value, OptionRole role,
                  const char* words = "") {
    option(name, OptionRef(value, words), role);
  }
  template <class T>
  void operator()(const char* name, T& value, const char* words = "") {
    option(name, OptionRef(value, words), OptionRole::kState);
  }
  /// For an option that had another name: files know it by that, and texts may
  /// use it until 0.2.0.
  template <class T>
  void renamed(const char* name, const char* old_name, T& value,
               OptionRole role, const char* words = "") {
    OptionRef renamed(value, words);
    renamed.old_name_ = old_name;
    option(name, renamed, role);
  }
  /// For an enumeration of which only the first `kCount` are valid; others are
  /// refused where a metric or loss is made.
  template <std::size_t kCount, class Enum>
  void first(const char* name, Enum& value, OptionRole role,
             const char* words = "") {
    option(name, OptionRef::first<kCount>(value, words), role);
  }

 protected:
  virtual void option(const char* name, const OptionRef& option,
                      OptionRole role) = 0;
};

/// The description of an option for users.
struct OptionInfo {
  std::string name;
  /// Its current value.
  std::string text;
  /// "an integer", "one of micro, macro".
  std::string expected;
  /// See OptionRole::kSize.
  bool is_size = false;
  /// Whether its value is one or more metrics, for example
  /// "MeanSquaredError()".
  bool is_metric = false;
  /// What it does, in one sentence.
  std::string words = {};
};

namespace internal {

using OptionTexts = std::vector<std::pair<std::string, std::string>>;
using Visit = void (*)(void* options, OptionVisitor& visitor);

OptionTexts option_texts(void* options, Visit visit, bool state_only);
std::string join_options(const OptionTexts& texts);
std::vector<OptionInfo> option_infos(void* options, Visit visit);
void assign_options(void* options, Visit visit, const std::string& owner,
                    const std::map<std::string, std::string>& texts);
/// Throws c10::ValueError for a value that its option does not accept.
void check_accepted(void* options, Visit visit, const char* owner);

template <class Options>
Visit visit_of() {
  return [](void* options, OptionVisitor& visitor) {
    static_cast<Options*>(options)->visit(visitor);
  };
}

}  // namespace internal

/// The type of a required count in options: an integer. Not a double, which
/// would be truncated, nor a bool, which is another option.
template <class T>
using RequireCount =
    std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int>;

/// Tag for options without values for required ones, to be set from text: what
/// checks options rejects them until then. Options without a default
/// constructor, of a class that is made from text, have
///     explicit MyOptions(Unset) : MyOptions(0) {}
struct Unset {};

/// Options without values for required ones.
template <class Options>
Options unset_options() {
  if constexpr (std::is_default_constructible_v<Options>) {
    return Options();
  } else {
    return Options(Unset());
  }
}

namespace internal {
using tally::Unset;
using tally::unset_options;
}  // namespace internal

/// "num_classes=5, average=macro".
template <class Options>
std::string options_repr(Options options) {
  return internal::join_options(internal::option_texts(
      &options, internal::visit_of<Options>(), /*state_only=*/false));
}

/// The same for the options that affect the state, in alphabetical order.
template <class Options>
std::string options_state_key(Options options) {
  return internal::join_options(internal::option_texts(
      &options, internal::visit_of<Options>(), /*state_only=*/true));
}

/// Every option with its value in `options` and its accepted values.
template <class Options>
std::vector<OptionInfo> describe_options(Options options) {
  return internal::option_infos(&options, internal::visit_of<Options>());
}

/// Throws c10::ValueError that starts with `owner` for a value that an option
/// does not take (see OptionVisitor::first).
template <class Options>
void check_options(Options& options, const char* owner) {
  internal::check_accepted(&options, internal::visit_of<Options>(), owner);
}

/// Sets options by name from text ("macro", "0.5", "none", "[0.1, 0.9]").
/// Throws c10::ValueError that starts with `owner` for an unknown name
/// (suggesting a close one, if any) or an invalid value, without changing
/// anything.
template <class Options>
void parse_options(Options& options, const std::string& owner,
                   const std::map<std::string, std::string>& texts) {
  Options parsed = options;
  internal::assign_options(&parsed, internal::visit_of<Options>(), owner,
                           texts);
  options = std::move(parsed);
}

}  // namespace tally
