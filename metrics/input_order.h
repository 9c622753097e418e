#pragma once

#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tally/metrics/inputs.h"

/// How inputs reach those that read them.
namespace tally::internal {

using OrderedInputs = c10::SmallVector<InputRef, 6>;

/// "preds, target[, weight]".
std::string listed(c10::ArrayRef<InputInfo> inputs);

/// How many inputs may be given by position where nothing limits it.
inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);
/// Throws c10::ValueError unless `count` of the inputs may be, which are read
/// by several metrics inside `owner`.
void check_positional(const std::string& owner, c10::ArrayRef<InputInfo> inputs,
                      std::size_t positional, std::size_t count);

/// Puts inputs given by name into the order of a declaration: where each is
/// found once, for a call with other names than the last one.
class InputOrder {
 public:
  /// Those that are left out become InputRef::none(), and at the end nothing.
  /// `who(i)` reads input i; behind the last one: who reads all of them. Throws
  /// c10::ValueError for an input that is not declared, given twice, or
  /// missing.
  void arrange(NamedInputs given, c10::ArrayRef<InputInfo> inputs,
               c10::function_ref<std::string(std::size_t)> who,
               OrderedInputs& ordered);
  /// The declaration is another one from now on.
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

  /// First those that every reader reads at the same position. An input may be
  /// left out if every reader of it says so. Empty if a reader declares none.
  c10::ArrayRef<InputInfo> inputs() const { return inputs_; }
  /// How many positions every reader reads, as the same input.
  std::size_t positional() const { return positional_; }
  /// How many positions no two readers read as different inputs.
  std::size_t agreed() const { return agreed_; }
  /// Throws c10::ValueError if that many, given by position, reach a position
  /// that readers read as different inputs.
  void check_agreement(const char* owner, std::size_t count) const {
    if (count > agreed_) refuse_disagreement(owner);
  }
  /// Who needs input i, or reads it if nobody does.
  std::string reader_of(std::size_t i) const;
  /// Throws c10::ValueError if a reader declares no inputs.
  void check_names(const char* owner) const;
  /// What the reader takes of `inputs`, which are in the order of inputs(); all
  /// of them where there are no names.
  void arrange(std::size_t reader, Inputs inputs, OrderedInputs& ordered) const;
  /// Which of inputs() those of the reader are.
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
