#pragma once

#include <ATen/core/Tensor.h>

/// Counts of texts, which have no device: those of batches are on the CPU, and
/// states come back to it wherever they were moved.
namespace tally::internal::text {

/// The counts, int64, contiguous and on the CPU. Throws c10::ValueError unless
/// they are of this shape.
at::Tensor checked_counts(const at::Tensor& counts, at::IntArrayRef sizes);

/// Their sum; one of them if the other is undefined. Throws c10::ValueError for
/// other dtypes and for shapes that differ.
at::Tensor added_counts(const at::Tensor& a, const at::Tensor& b);

}  // namespace tally::internal::text
