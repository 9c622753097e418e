#pragma once

#include <optional>
#include <string>

#include "tally/metrics/options.h"

namespace tally {

/// The threshold above which a score is predicted as 1. Probabilities have the
/// default 0.5; scores of any kind have none, so that it matters whether it was
/// given. A number in every other respect:
///
///     BinaryF1ScoreOptions().input(ScoreKind::kScores).threshold(12.5)
class ScoreThreshold {
 public:
  ScoreThreshold() = default;
  ScoreThreshold(double value) : value_(value), is_given_(true) {}

  operator double() const { return value_; }
  bool is_given() const { return is_given_; }

 private:
  double value_ = 0.5;
  bool is_given_ = false;
};

namespace internal {

template <>
struct OptionType<ScoreThreshold> {
  static std::string expected() { return OptionType<double>::expected(); }
  static std::string print(const ScoreThreshold& value) {
    return OptionType<double>::print(value);
  }
  static std::optional<OptionRefusal> parse(const std::string& text,
                                            ScoreThreshold& value) {
    double number = 0;
    auto refusal = OptionType<double>::parse(text, number);
    if (!refusal) value = number;
    return refusal;
  }
};

}  // namespace internal
}  // namespace tally
