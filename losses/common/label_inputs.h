#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "tally/metrics/options.h"

namespace tally {
namespace losses {

/// What preds and target of losses of labels are.
enum class LabelMode {
  kBinary,      ///< both [N, ...]: one label
  kMulticlass,  ///< preds [N, C, ...], target [N, ...] of classes, or
                ///< [N, C, ...] of probabilities
  kMultilabel,  ///< both [N, C, ...]: C labels, independent of each other
};

namespace internal {

/// Throws c10::ValueError unless preds and target have sizes and dtypes of this
/// mode. Does not look at their values.
void check_labels(std::string_view loss, LabelMode mode,
                  const std::optional<std::int64_t>& ignore_index,
                  const at::Tensor& preds, const at::Tensor& target);

/// One of contiguous float32 or float64 numbers on the CPU.
inline double number_at(const at::Tensor& numbers, std::int64_t i) {
  return numbers.scalar_type() == at::kFloat
             ? numbers.const_data_ptr<float>()[i]
             : numbers.const_data_ptr<double>()[i];
}

}  // namespace internal
}  // namespace losses

template <>
struct EnumNames<losses::LabelMode> {
  static constexpr const char* kNames[] = {"binary", "multiclass",
                                           "multilabel"};
};

}  // namespace tally
