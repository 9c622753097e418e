#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "tally/state/fields.h"

namespace tally::internal::intervals {

/// `more` may be empty.
void append_part(Rows& rows, const at::Tensor& more);

/// Throws c10::ValueError unless there is one for each part.
void check_part_numbers(const Rows& numbers, std::int64_t parts);

/// A state may be on another device.
inline at::Tensor on_cpu(const Rows& rows) {
  return rows.tensor().cpu().contiguous();
}

inline const std::int64_t* integers(const at::Tensor& tensor) {
  return tensor.const_data_ptr<std::int64_t>();
}

/// What a field of a metric's state has for each of several parts: a number;
/// the elements and sizes of a tensor; rows and how many.
struct UnitColumn {
  Rows values;
  Rows lengths;  // int64: of rows; of tensors -1, or dimensions and sizes

  /// Throws c10::ValueError unless these are the values of so many parts.
  void check(Field::Kind kind, std::int64_t parts) const;
};

/// Gathers a field of parts that are put into a column together.
class ColumnWriter {
 public:
  void add(const Field& field);
  void append_to(UnitColumn& column) const;

 private:
  std::vector<at::Tensor> values_;
  std::vector<std::int64_t> ints_;
  std::vector<double> numbers_;
  std::vector<std::int64_t> lengths_;
};

/// Reads the parts of a column in turn. REQUIRES: one that check() takes.
class ColumnReader {
 public:
  explicit ColumnReader(const UnitColumn& column);

  void read(const Field& into);

 private:
  at::Tensor take(std::int64_t count);
  template <class T>
  T next_value();

  at::Tensor values_;
  at::Tensor lengths_;
  std::int64_t value_ = 0;
  std::int64_t length_ = 0;
};

}  // namespace tally::internal::intervals
