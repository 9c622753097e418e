#include "tally/metrics/image/kernels/pixel_windows.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "tally/metrics/image/kernels/windows.h"

namespace tally::internal::image {
namespace {

// Halves round to even, as in Python.
std::int64_t border_of(std::int64_t size) {
  return size / 2 + (size % 4 == 3 ? 1 : 0);
}

}  // namespace

at::Tensor inner_means(const at::Tensor& values, std::int64_t size) {
  const std::int64_t border = border_of(size);
  const at::Tensor means = windowed(
      mirrored(values, size / 2, size - 1 - size / 2), uniform_taps(size));
  return means.narrow(2, border, values.size(2) - 2 * border)
      .narrow(3, border, values.size(3) - 2 * border);
}

void check_pixel_windows(std::int64_t size, const at::Tensor& images) {
  const std::int64_t least = std::max(2 * border_of(size) + 1, size / 2);
  TORCH_CHECK_VALUE(images.size(2) >= least && images.size(3) >= least,
                    "expected images of at least ", least, " x ", least,
                    " pixels for windows of ", size, ", got ", images.size(2),
                    " x ", images.size(3));
}

}  // namespace tally::internal::image
