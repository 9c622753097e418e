#pragma once

#include <c10/util/Exception.h>

#include <string>

#include "tally/metrics/options.h"
#include "tally/metrics/pairwise/pairwise.h"
#include "tally/sync/gradient_flow.h"

// The names in Python of what options choose between.
namespace tally {

template <>
struct EnumNames<sync::GradientFlow> {
  static constexpr const char* kNames[] = {"detached", "local", "replicated",
                                           "all_ranks"};
};
template <>
struct EnumNames<PairReduction> {
  static constexpr const char* kNames[] = {"none", "mean", "sum"};
};

namespace python {

/// What the option `name` is with these words; c10::ValueError for others.
template <class Enum>
Enum choice_of(const char* name, const std::string& words) {
  Enum value{};
  const auto refusal = OptionRef(value).set(words);
  TORCH_CHECK_VALUE(!refusal, name, ": expected ", refusal->expected, ", got '",
                    refusal->got, "'");
  return value;
}

/// The reverse.
template <class Enum>
std::string words_of(Enum choice) {
  return internal::OptionType<Enum>::print(choice);
}

}  // namespace python
}  // namespace tally
