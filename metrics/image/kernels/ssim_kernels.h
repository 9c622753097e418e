#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Structural similarity of rows of two planes, in vectors. With p = x + y and
/// m = x - y, and moments of both in each window,
///
///     luminance   1 - 2 E[m]^2 / (E[p]^2 + E[m]^2 + 2 c1)
///     contrast    1 - 2 Var[m] / (Var[p] + Var[m] + 2 c2)
///
/// which is the usual formula; equal planes give exactly 1.
namespace tally::internal::image {

/// Windows, of which only those inside of the planes count, and constants.
struct SsimWindow {
  /// Of one dimension; those of a window are their products.
  const double* taps;
  std::int64_t size;
  double c1, c2;
  /// For constants of 0: windows in which both planes are constant have a
  /// contrast of 1, and where both are 0, a luminance of 1.
  bool has_flat = false;
};

template <class T>
struct SsimPlanes {
  const T* x;
  const T* y;
  std::int64_t height, width;
  /// Subtracted first, so that variances keep their digits: about the means.
  T x_shift, y_shift;
};

/// Of a thread; contents do not matter.
template <class T>
using SsimScratch = std::vector<T>;

/// Rows [begin, end) of windows: adds up their structural similarities, and
/// their contrasts. REQUIRES: planes at least as large as the window.
struct SsimSums {
  double similarity = 0, contrast = 0;
};
SsimSums ssim_rows(const SsimPlanes<float>& planes, const SsimWindow& window,
                   std::int64_t begin, std::int64_t end,
                   SsimScratch<float>& scratch);
SsimSums ssim_rows(const SsimPlanes<double>& planes, const SsimWindow& window,
                   std::int64_t begin, std::int64_t end,
                   SsimScratch<double>& scratch);

/// Rows [begin, end) of the planes: the gradient of
/// `weights.similarity * (sum of similarities) + weights.contrast * (sum of
/// contrasts)` over all windows, for x, and for y unless dy is null.
void ssim_gradient_rows(const SsimPlanes<float>& planes,
                        const SsimWindow& window, const SsimSums& weights,
                        std::int64_t begin, std::int64_t end,
                        SsimScratch<float>& scratch, float* dx, float* dy);
void ssim_gradient_rows(const SsimPlanes<double>& planes,
                        const SsimWindow& window, const SsimSums& weights,
                        std::int64_t begin, std::int64_t end,
                        SsimScratch<double>& scratch, double* dx, double* dy);

}  // namespace tally::internal::image
