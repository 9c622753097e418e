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

/// A row of a ragged input: named tensors, whose sizes differ from row to row.
using RaggedRow = std::map<std::string, at::Tensor>;
/// Converts such rows to an input of a metric's update().
using RaggedInput = std::function<InputValue(const std::vector<RaggedRow>&)>;

/// One input of a metric's update(), for generic code: a tensor, or a list with
/// one text, several texts or several tensors per row.
class BatchInput {
 public:
  using Texts = std::vector<std::string>;
  using TextLists = std::vector<Texts>;
  using Ragged = std::vector<RaggedRow>;
  using Content = std::variant<at::Tensor, Texts, TextLists, Ragged>;

  BatchInput(at::Tensor tensor) : content_(std::move(tensor)) {}
  BatchInput(Texts texts) : content_(std::move(texts)) {}
  BatchInput(TextLists lists) : content_(std::move(lists)) {}
  BatchInput(Ragged rows, RaggedInput ragged = {})
      : content_(std::move(rows)), ragged_(std::move(ragged)) {}

  bool is_tensor() const {
    return std::holds_alternative<at::Tensor>(content_);
  }
  /// REQUIRES: is_tensor().
  const at::Tensor& tensor() const { return std::get<at::Tensor>(content_); }
  bool is_floating() const {
    return is_tensor() && at::isFloatingType(tensor().scalar_type());
  }
  const Content& content() const { return content_; }
  /// -1 for a 0-dim tensor.
  std::int64_t rows() const;

  /// Every `step`-th row in [first, last); tensors as views.
  BatchInput slice(std::int64_t first, std::int64_t last,
                   std::int64_t step = 1) const;
  /// All rows, repeated `times` times.
  BatchInput repeated(std::int64_t times) const;
  /// A deep copy.
  BatchInput copy() const;
  static BatchInput joined(const std::vector<BatchInput>& parts);
  /// A copy with each tensor transformed, including those of ragged rows.
  BatchInput with_tensors(
      const std::function<at::Tensor(const at::Tensor&)>& change) const;
  /// Overwrites the values in place.
  void scramble();

  void set_ragged(RaggedInput ragged) { ragged_ = std::move(ragged); }
  /// The argument for update(); refers to this input.
  InputValue value() const;

  friend bool same(const BatchInput& a, const BatchInput& b);

 private:
  Content content_;
  RaggedInput ragged_;
};

/// Whether texts are equal, and tensors have equal dtypes, sizes and bits.
bool same(const BatchInput& a, const BatchInput& b);

/// The inputs of one update(), in its order.
using Batch = std::vector<BatchInput>;

/// All batches joined into one.
Batch joined(const std::vector<Batch>& batches);
/// A deep copy of the rows [first, last).
Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t last);
Batch copy_of(const Batch& batch);
/// A copy whose tensors are on the device.
Batch moved_to(c10::Device device, const Batch& batch);

}  // namespace tally::testkit
