#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tally::internal::tables {

/// Labels may be whole numbers of a floating-point dtype: c10::ValueError that
/// names the first other number, behind `place`. REQUIRES: a real dtype.
void check_whole_numbers(const char* input, const at::Tensor& labels,
                         const std::string& place = "");

/// c10::ValueError that names the value and its place unless all labels are
/// from 0 to num_classes - 1, if that is set. REQUIRES: int64, contiguous, on
/// the CPU.
void check_label_range(const char* input, const at::Tensor& labels,
                       std::optional<std::int64_t> num_classes);

/// c10::ValueError for num_classes below 1.
void check_num_classes(const char* metric,
                       std::optional<std::int64_t> num_classes);

}  // namespace tally::internal::tables
