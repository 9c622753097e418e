#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tally {

/// Nothing, a count, or a list: "none", "200", "[0.1, 0.5]".
using CountOrList =
    std::variant<std::monostate, std::int64_t, std::vector<double>>;

/// Whether an option shapes the state or only what is computed from it.
enum class OptionRole { kState, kValue };

/// An enumeration used in options has its names in a specialisation:
///     template <> struct EnumNames<Average> {
///       static constexpr const char* kNames[] = {"micro", "macro"};
///     };
/// in the order of the enumerators, which count from 0.
template <class Enum>
struct EnumNames;

/// Sees every option of an options struct once, by name. From one description,
///     void visit(OptionVisitor& v) {
///       v("num_classes", num_classes_);
///       v("average", average_, OptionRole::kValue);
///     }
/// come a metric's repr, the key under which metrics share a state, the schema
/// of checkpoints, and the parser of option strings.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  template <class T>
  void operator()(const char* name, T& value,
                  OptionRole role = OptionRole::kState) {
    if constexpr (std::is_enum_v<T>) {
      auto index = static_cast<std::size_t>(value);
      choice(name, index, EnumNames<T>::kNames, std::size(EnumNames<T>::kNames),
             role);
      value = static_cast<T>(index);
    } else {
      option(name, value, role);
    }
  }

 protected:
  virtual void option(const char* name, bool& value, OptionRole role) = 0;
  virtual void option(const char* name, std::int64_t& value,
                      OptionRole role) = 0;
  virtual void option(const char* name, double& value, OptionRole role) = 0;
  virtual void option(const char* name, std::string& value,
                      OptionRole role) = 0;
  virtual void option(const char* name, std::optional<std::int64_t>& value,
                      OptionRole role) = 0;
  virtual void option(const char* name, std::optional<double>& value,
                      OptionRole role) = 0;
  virtual void option(const char* name, std::vector<double>& value,
                      OptionRole role) = 0;
  virtual void option(const char* name, CountOrList& value,
                      OptionRole role) = 0;
  virtual void choice(const char* name, std::size_t& index,
                      const char* const* names, std::size_t count,
                      OptionRole role) = 0;
};

/// An option as described to a user.
struct OptionInfo {
  std::string name;
  /// The value that it has.
  std::string text;
  /// "an integer", "one of micro, macro".
  std::string expected;
};

namespace internal {

using OptionTexts = std::vector<std::pair<std::string, std::string>>;
using Visit = void (*)(void* options, OptionVisitor& visitor);

OptionTexts option_texts(void* options, Visit visit, bool state_only);
std::string join_options(const OptionTexts& texts);
/// The text in quotes, if a reader of "name=text, ..." needs them.
std::string quote_text(const std::string& text);
std::vector<OptionInfo> option_infos(void* options, Visit visit);
void assign_options(void* options, Visit visit, const std::string& owner,
                    const std::map<std::string, std::string>& texts);

template <class Options>
Visit visit_of() {
  return [](void* options, OptionVisitor& visitor) {
    static_cast<Options*>(options)->visit(visitor);
  };
}

}  // namespace internal

/// "num_classes=5, average=macro".
template <class Options>
std::string options_repr(Options options) {
  return internal::join_options(internal::option_texts(
      &options, internal::visit_of<Options>(), /*state_only=*/false));
}

/// The same for the options that shape the state, in alphabetical order.
template <class Options>
std::string options_state_key(Options options) {
  return internal::join_options(internal::option_texts(
      &options, internal::visit_of<Options>(), /*state_only=*/true));
}

/// Every option with its value in `options` and the values it can take.
template <class Options>
std::vector<OptionInfo> describe_options(Options options) {
  return internal::option_infos(&options, internal::visit_of<Options>());
}

/// Sets options by name from text ("macro", "0.5", "none", "[0.1, 0.9]").
/// Throws c10::ValueError that begins with `owner` for an unknown name (with
/// the nearest one, if one is near) or a text that is no value of that option;
/// then nothing has changed.
template <class Options>
void parse_options(Options& options, const std::string& owner,
                   const std::map<std::string, std::string>& texts) {
  Options parsed = options;
  internal::assign_options(&parsed, internal::visit_of<Options>(), owner,
                           texts);
  options = std::move(parsed);
}

}  // namespace tally
