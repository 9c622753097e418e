#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tally/metrics/inputs.h"

namespace tally::testkit {

/// A row of a ragged input: tensors by name, of sizes of their own.
using RaggedRow = std::map<std::string, at::Tensor>;
/// Makes what a metric takes of such rows.
using RaggedInput = std::function<InputValue(const std::vector<RaggedRow>&)>;

/// An input of update() in a fixture: a tensor, or a list with a text, several
/// texts, or tensors for each row.
class FixtureInput {
 public:
  using Texts = std::vector<std::string>;
  using TextLists = std::vector<Texts>;
  using Ragged = std::vector<RaggedRow>;

  FixtureInput(at::Tensor tensor) : value_(std::move(tensor)) {}
  FixtureInput(Texts texts) : value_(std::move(texts)) {}
  FixtureInput(TextLists lists) : value_(std::move(lists)) {}
  FixtureInput(Ragged rows, RaggedInput ragged = {})
      : value_(std::move(rows)), ragged_(std::move(ragged)) {}

  bool is_tensor() const { return std::holds_alternative<at::Tensor>(value_); }
  /// REQUIRES: is_tensor().
  const at::Tensor& tensor() const { return std::get<at::Tensor>(value_); }
  bool is_floating() const {
    return is_tensor() && at::isFloatingType(tensor().scalar_type());
  }
  /// -1 of 0-dim tensors.
  std::int64_t rows() const;

  /// Every `step`-th row from `first` to before `last`; tensors as views.
  FixtureInput slice(std::int64_t first, std::int64_t last,
                     std::int64_t step = 1) const;
  /// All rows, so many times.
  FixtureInput repeated(std::int64_t times) const;
  /// In memory of its own.
  FixtureInput copy() const;
  static FixtureInput joined(const std::vector<FixtureInput>& parts);
  /// The same with tensors changed, those of ragged rows too.
  FixtureInput with_tensors(
      const std::function<at::Tensor(const at::Tensor&)>& change) const;
  /// Writes other values into the same memory.
  void scramble();

  void set_ragged(RaggedInput ragged) { ragged_ = std::move(ragged); }
  /// What update() gets; the input has to outlive it.
  InputValue value() const;

  friend bool same(const FixtureInput& a, const FixtureInput& b);

 private:
  std::variant<at::Tensor, Texts, TextLists, Ragged> value_;
  RaggedInput ragged_;
};

/// The same texts, and tensors of the same dtypes, sizes and bits.
bool same(const FixtureInput& a, const FixtureInput& b);

}  // namespace tally::testkit
