#pragma once

#include <cstdint>

/// Scores of single images and their derivatives, in float64, for float and
/// double.
namespace tally::internal::image {

/// Planes of `height` rows of `width` values, one after the other.
struct Planes {
  std::int64_t channels, height, width;

  std::int64_t plane() const { return height * width; }
  std::int64_t size() const { return channels * plane(); }
};

/// Each has
///
///     template <class T>
///     double score(const T* const* images, const Planes& planes) const;
///     template <class T>
///     void write_slopes(const T* const* images, const Planes& planes,
///                     double factor, T* const* to) const;
///
/// of one image from each input; the latter writes the derivatives times the
/// factor, unless a pointer is null.

/// The sum of absolute differences of neighbors.
struct VariationKernel {
  static constexpr int kInputs = 1;
  template <class T>
  double score(const T* const* images, const Planes& planes) const;
  template <class T>
  void write_slopes(const T* const* images, const Planes& planes, double factor,
                    T* const* to) const;
};

/// 100 / ratio times the root of the mean over channels of mean squared errors
/// relative to the square of the target's mean.
struct RelativeErrorKernel {
  static constexpr int kInputs = 2;
  template <class T>
  double score(const T* const* images, const Planes& planes) const;
  template <class T>
  void write_slopes(const T* const* images, const Planes& planes, double factor,
                    T* const* to) const;
  double ratio;
};

/// The mean over pixels of the angle between spectra: exact for spectra that
/// are nearly parallel, 0 between equal ones, and a right angle where one alone
/// has none.
struct AngleKernel {
  static constexpr int kInputs = 2;
  template <class T>
  double score(const T* const* images, const Planes& planes) const;
  template <class T>
  void write_slopes(const T* const* images, const Planes& planes, double factor,
                    T* const* to) const;
};

/// The mean squared error, and what differences across the borders of blocks
/// have above others, as Yim and Bovik weight it; in decibels.
struct BlockedKernel {
  static constexpr int kInputs = 2;
  template <class T>
  double score(const T* const* images, const Planes& planes) const;
  template <class T>
  void write_slopes(const T* const* images, const Planes& planes, double factor,
                    T* const* to) const;
  std::int64_t block_size;
  double data_range;
};

}  // namespace tally::internal::image
