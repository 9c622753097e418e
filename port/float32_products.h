#pragma once

#include <ATen/Context.h>

namespace tally::port {

/// By how much at most LibTorch truncates each factor of a float32 product on
/// the CPU, relative to it: torch.set_float32_matmul_precision.
inline double float32_truncation() {
  using at::Float32Precision;
  switch (at::globalContext().float32Precision(at::Float32Backend::MKLDNN,
                                               at::Float32Op::MATMUL)) {
    case Float32Precision::BF16:
      return 0x1p-7;
    case Float32Precision::TF32:
      return 0x1p-10;
    default:
      return 0;
  }
}

}  // namespace tally::port
