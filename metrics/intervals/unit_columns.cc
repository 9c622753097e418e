#include "tally/metrics/intervals/unit_columns.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstddef>

#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/intervals/state_checks.h"

namespace tally::internal::intervals {
namespace {

constexpr const char* kOwner = "units";

bool is_number(Field::Kind kind) {
  return kind == Field::Kind::kInt || kind == Field::Kind::kNumber;
}

// A checkpoint that was forged may say anything.
void require(bool holds) {
  TORCH_CHECK_VALUE(holds, kOwner,
                    ": expected a state with the numbers and rows of each part,"
                    " got one with others");
}

// How many elements a tensor has whose dimensions and sizes are at the front,
// which it takes away; at most `most`.
std::int64_t take_count(c10::IntArrayRef& front, std::int64_t most) {
  require(!front.empty());
  const std::int64_t dims = front.front();
  front = front.slice(1);
  if (dims < 0) return 0;
  require(dims <= static_cast<std::int64_t>(front.size()));
  const c10::IntArrayRef sizes = front.slice(0, static_cast<std::size_t>(dims));
  front = front.slice(static_cast<std::size_t>(dims));
  require(std::all_of(sizes.begin(), sizes.end(),
                      [](std::int64_t size) { return size >= 0; }));
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    require(count <= most / size);
    count *= size;
  }
  return count;
}

}  // namespace

void append_part(Rows& rows, const at::Tensor& more) {
  if (more.numel() == 0 && more.dim() == 1) return;
  const Rows added(more);
  rows.check_append(added, kOwner, "part");
  rows.reserve_for(added);
  rows.append(added);
}

void check_part_numbers(const Rows& numbers, std::int64_t parts) {
  require(numbers.size() == parts);
  if (parts > 0) check_state_sizes("numbers", numbers.tensor(), {parts});
}

void UnitColumn::check(Field::Kind kind, std::int64_t parts) const {
  std::int64_t left = values.size();
  if (is_number(kind)) return check_part_numbers(values, parts);
  require(lengths.defined());
  const at::Tensor own = on_cpu(lengths);
  c10::IntArrayRef front(integers(own), static_cast<std::size_t>(own.numel()));
  for (std::int64_t i = 0; i < parts; ++i) {
    if (kind == Field::Kind::kRows) {
      require(!front.empty() && front.front() >= 0 && front.front() <= left);
      left -= front.front();
      front = front.slice(1);
    } else {
      left -= take_count(front, left);
    }
  }
  require(left == 0 && front.empty());
}

void ColumnWriter::add(const Field& field) {
  switch (field.kind) {
    case Field::Kind::kInt:
      ints_.push_back(field.as_int());
      return;
    case Field::Kind::kNumber:
      numbers_.push_back(field.as_number().value());
      return;
    case Field::Kind::kRows: {
      const Rows& rows = field.as_rows();
      lengths_.push_back(rows.size());
      if (rows.size() > 0) values_.push_back(rows.tensor().detach());
      return;
    }
    default:
      break;
  }
  const at::Tensor& tensor = field.as_tensor();
  if (!tensor.defined()) {
    lengths_.push_back(-1);
    return;
  }
  lengths_.push_back(tensor.dim());
  lengths_.insert(lengths_.end(), tensor.sizes().begin(), tensor.sizes().end());
  values_.push_back(tensor.detach().reshape(-1));
}

void ColumnWriter::append_to(UnitColumn& column) const {
  if (!ints_.empty()) append_part(column.values, tensor_of(ints_));
  if (!numbers_.empty()) append_part(column.values, tensor_of(numbers_));
  if (!values_.empty()) append_part(column.values, at::cat(values_));
  append_part(column.lengths, tensor_of(lengths_));
}

ColumnReader::ColumnReader(const UnitColumn& column)
    : values_(column.values.defined() ? column.values.tensor() : at::Tensor()),
      lengths_(column.lengths.defined() ? on_cpu(column.lengths)
                                        : at::Tensor()) {}

void ColumnReader::read(const Field& into) {
  switch (into.kind) {
    case Field::Kind::kInt:
      into.as_int() = next_value<std::int64_t>();
      return;
    case Field::Kind::kNumber:
      into.as_number() = Number(next_value<double>());
      return;
    case Field::Kind::kRows: {
      const std::int64_t rows = integers(lengths_)[length_++];
      if (rows > 0) into.as_rows() = Rows(take(rows));
      return;
    }
    default:
      break;
  }
  const std::int64_t dims = integers(lengths_)[length_++];
  if (dims < 0) return;
  const at::IntArrayRef sizes(integers(lengths_) + length_,
                              static_cast<std::size_t>(dims));
  length_ += dims;
  into.as_tensor() = take(c10::multiply_integers(sizes)).reshape(sizes);
}

at::Tensor ColumnReader::take(std::int64_t count) {
  // Without elements at all, their dtype is not known.
  if (!values_.defined()) return at::empty({count}, at::kDouble);
  at::Tensor own = values_.narrow(0, value_, count).clone();
  value_ += count;
  return own;
}

template <class T>
T ColumnReader::next_value() {
  if (!values_.is_cpu()) values_ = values_.cpu();
  return values_.const_data_ptr<T>()[value_++];
}

}  // namespace tally::internal::intervals
