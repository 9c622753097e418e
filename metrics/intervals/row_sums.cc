#include "tally/metrics/intervals/row_sums.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace tally::internal::intervals {
namespace {

bool is_size(const Field& field) {
  return field.kind == Field::Kind::kInt && field.merge == Merge::kMax;
}

std::int64_t elements_of(const Field& field) {
  if (is_size(field) || field.kind == Field::Kind::kRows ||
      field.kind == Field::Kind::kNote) {
    return 0;
  }
  if (field.kind != Field::Kind::kTensor) return 1;
  return field.as_tensor().defined() ? field.as_tensor().numel() : 0;
}

void read_field(const Field& field, std::int64_t size, double* into) {
  if (size == 0) return;
  if (field.kind == Field::Kind::kInt) {
    *into = static_cast<double>(field.as_int());
  } else if (field.kind == Field::Kind::kNumber) {
    *into = field.as_number().value();
  } else if (field.as_tensor().defined()) {
    TORCH_CHECK_VALUE(field.as_tensor().numel() == size,
                      "expected a state whose size does not depend on the "
                      "rows");
    const at::Tensor values =
        field.as_tensor().detach().to(at::kCPU, at::kDouble).contiguous();
    std::memcpy(into, values.const_data_ptr<double>(),
                static_cast<std::size_t>(size) * sizeof(double));
  } else {
    std::fill_n(into, size, 0.0);
  }
}

}  // namespace

bool is_sum_of_rows(const AnyState& state) {
  if (!merges_by_field(state)) return false;
  for (const Field& field : state.fields()) {
    if (field.kind == Field::Kind::kNote) continue;
    if (field.kind == Field::Kind::kRows || field.merge != Merge::kSum) {
      return false;
    }
  }
  return true;
}

bool doubles(double once, double twice) {
  constexpr double kTolerance = 1e-9;
  return once != 0 &&
         std::abs(twice - 2 * once) <= kTolerance * std::abs(twice);
}

RowSums::RowSums(AnyState batch) : batch_(std::move(batch)) {
  for (const Field& field : batch_.fields()) {
    TORCH_CHECK_VALUE(
        field.kind != Field::Kind::kRows || field.as_rows().size() == 0,
        "expected a state that is a sum over rows, got one that keeps rows (",
        field.name, "); use method jackknife");
    sizes_.push_back(elements_of(field));
    width_ += sizes_.back();
  }
}

void RowSums::read(const AnyState& state, double* into) const {
  std::size_t i = 0;
  for (const Field& field : state.fields()) {
    read_field(field, sizes_[i], into);
    into += sizes_[i++];
  }
}

void RowSums::write(const double* from, std::int64_t stride,
                    AnyState& into) const {
  const Fields given = batch_.fields();
  std::size_t i = 0;
  for (const Field& field : into.fields()) {
    const std::int64_t size = sizes_[i];
    const Field& like = given[i++];
    if (is_size(like)) {
      field.as_int() = like.as_int();
    } else if (size > 0 && field.kind == Field::Kind::kInt) {
      field.as_int() = std::llround(*from);
    } else if (size > 0 && field.kind == Field::Kind::kNumber) {
      field.as_number() = Number(*from);
    } else if (size > 0) {
      at::Tensor values = at::empty({size}, at::kDouble);
      auto* own = values.mutable_data_ptr<double>();
      for (std::int64_t e = 0; e < size; ++e) own[e] = from[e * stride];
      field.as_tensor() = values.reshape(like.as_tensor().sizes())
                              .to(like.as_tensor().options());
    }
    from += size * stride;
  }
}

}  // namespace tally::internal::intervals
