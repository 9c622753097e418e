#pragma once

#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tally/metrics/inputs.h"

/// Routes inputs to the metrics that read them.
namespace tally::internal {

using OrderedInputs = c10::SmallVector<InputRef, 6>;

/// "preds, target[, weight]".
std::string listed(c10::ArrayRef<InputInfo> inputs);

/// The number of positional inputs if unlimited.
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);
/// Throws c10::ValueError unless `count` of the inputs, which several metrics
/// inside `owner` read, may be positional.
void check_positional(const std::string& owner, c10::ArrayRef<InputInfo> inputs,
                      std::size_t positional, std::size_t count);

/// Puts named inputs into the order of a declaration. Positions are looked up
/// only if the names differ from those of the last call.
class InputOrder {
 public:
  /// Omitted inputs become InputRef::none(), or are dropped at the end.
  /// `who(i)` is the reader of input i; for i past the last input, the reader
  /// of all. Throws c10::ValueError for an input that is undeclared, given
  /// twice, or missing.
  void arrange(NamedInputs given, c10::ArrayRef<InputInfo> inputs,
               c10::function_ref<std::string(std::size_t)> who,
               OrderedInputs& ordered);
  /// To be called when the declaration changes.
  void forget() { names_.clear(); }

 private:
  bool is_known(NamedInputs given) const;
  void find(NamedInputs given, c10::ArrayRef<InputInfo> inputs,
            c10::function_ref<std::string(std::size_t)> who);

  std::vector<std::string> names_;  // of the last call
  std::vector<int> places_;         // of inputs in it; -1 for none
};

/// The inputs of several readers together: each name once.
class InputUnion {
 public:
  struct Reader {
    std::string label;
    c10::ArrayRef<InputInfo> inputs;  // empty if it declares none
    std::size_t positional = kAnyNumber;
  };

  InputUnion() = default;
  explicit InputUnion(std::vector<Reader> readers);

  /// Inputs that every reader has at the same position come first. An input is
  /// optional if it is for every reader of it. Empty if a reader declares none.
  c10::ArrayRef<InputInfo> inputs() const { return inputs_; }
  /// Number of leading positions that every reader reads as the same input.
  std::size_t positional() const { return positional_; }
  /// Number of leading positions that no two readers read as different inputs.
  std::size_t agreed() const { return agreed_; }
  /// Throws c10::ValueError if `count` positional inputs include a position
  /// that readers read as different inputs.
  void check_agreement(const char* owner, std::size_t count) const {
    if (count > agreed_) refuse_disagreement(owner);
  }
  /// The reader that requires input i, or one that reads it if none does.
  std::string reader_of(std::size_t i) const;
  /// Throws c10::ValueError if a reader declares no inputs.
  void check_names(const char* owner) const;
  /// Selects the reader's inputs from `inputs`, which are in the order of
  /// inputs(); all of them if there are no names.
  void arrange(std::size_t reader, Inputs inputs, OrderedInputs& ordered) const;
  /// Positions of the reader's inputs in inputs().
  const std::vector<std::size_t>& places(std::size_t reader) const {
    return places_[reader];
  }

 private:
  [[noreturn]] void refuse_disagreement(const char* owner) const;

  std::vector<Reader> readers_;
  std::vector<InputInfo> inputs_;
  std::vector<std::vector<std::size_t>> places_;
  std::size_t positional_ = kAnyNumber;
  std::size_t agreed_ = kAnyNumber;
};

}  // namespace tally::internal
