#include "tally/metrics/segmentation/kernels/surface_elements.h"

#include <cmath>
#include <cstddef>
#include <iterator>

namespace tally::internal::segmentation {
namespace {

// The triangles of an element point in at most 7 directions, signs aside: along
// one axis, between two, between three. For each direction, the eighths of its
// spacing that they add up to: four bits, lowest for the direction 001 (along a
// row), then 010, 011 and so on to 111. Codes from 128 on have the surface of
// their complement.
// From the normals of google-deepmind/surface-distance, lookup_tables.py
// (Copyright 2018 Google Inc., Apache License 2.0).
constexpr std::uint32_t kTriangles[] = {
    // clang-format off
    0x0000000, 0x1000000, 0x1000000, 0x0400000, 0x1000000, 0x0040000,
    0x2000000, 0x3004000, 0x1000000, 0x2000000, 0x0040000, 0x3004000,
    0x0400000, 0x3004000, 0x3004000, 0x0008000, 0x1000000, 0x0000400,
    0x2000000, 0x3000040, 0x2000000, 0x3000004, 0x3000000, 0x6000000,
    0x2000000, 0x1000400, 0x1040000, 0x4020200, 0x1400000, 0x4200200,
    0x4004000, 0x3004000, 0x1000000, 0x2000000, 0x0000400, 0x3000040,
    0x2000000, 0x1040000, 0x1000400, 0x4020200, 0x2000000, 0x3000000,
    0x3000004, 0x6000000, 0x1400000, 0x4004000, 0x4200200, 0x3004000,
    0x0400000, 0x3000040, 0x3000040, 0x0000080, 0x1400000, 0x4220000,
    0x4000040, 0x3000040, 0x1400000, 0x4000040, 0x4220000, 0x3000040,
    0x0800000, 0x1400000, 0x1400000, 0x0400000, 0x1000000, 0x2000000,
    0x2000000, 0x1400000, 0x0000400, 0x3000004, 0x1000400, 0x4200200,
    0x2000000, 0x3000000, 0x1040000, 0x4004000, 0x3000040, 0x6000000,
    0x4020200, 0x3004000, 0x0040000, 0x3000004, 0x1040000, 0x4220000,
    0x3000004, 0x0000008, 0x4000004, 0x3000004, 0x1040000, 0x4000004,
    0x0080000, 0x1040000, 0x4220000, 0x3000004, 0x1040000, 0x0040000,
    0x2000000, 0x3000000, 0x1000400, 0x4000040, 0x1000400, 0x4000004,
    0x0000800, 0x1000400, 0x3000000, 0x4000000, 0x4000004, 0x3000000,
    0x4000040, 0x3000000, 0x1000400, 0x2000000, 0x3004000, 0x6000000,
    0x4020200, 0x3000040, 0x4200200, 0x3000004, 0x1000400, 0x0000400,
    0x4004000, 0x3000000, 0x1040000, 0x2000000, 0x1400000, 0x2000000,
    0x2000000, 0x1000000,
    // clang-format on
};
constexpr unsigned kHalf = std::size(kTriangles);
constexpr int kDirections = 7;

std::vector<double> areas(const GridSpacing& spacing) {
  // Of the sides of a cell, by the axis that they face.
  const double sides[] = {spacing[1] * spacing[2], spacing[0] * spacing[2],
                          spacing[0] * spacing[1]};
  double eighth[kDirections];
  for (unsigned direction = 1; direction <= kDirections; ++direction) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const bool faces = (direction >> (2 - axis) & 1) != 0;
      if (faces) square += sides[axis] * sides[axis];
    }
    eighth[direction - 1] = std::sqrt(square) / 8;
  }
  std::vector<double> sizes(2 * kHalf);
  for (unsigned code = 0; code < kHalf; ++code) {
    double area = 0;
    for (int i = 0; i < kDirections; ++i) {
      area += (kTriangles[code] >> (4 * i) & 15) * eighth[i];
    }
    sizes[code] = sizes[2 * kHalf - 1 - code] = area;
  }
  return sizes;
}

// First row, then second: 0b1100 is a row inside above one outside.
std::vector<double> lengths(const GridSpacing& spacing) {
  const double down = spacing[1], along = spacing[2];
  const double across = std::hypot(down, along) / 2;
  std::vector<double> sizes(16, across);
  sizes[0b0000] = sizes[0b1111] = 0;
  sizes[0b0011] = sizes[0b1100] = along;
  sizes[0b0101] = sizes[0b1010] = down;
  sizes[0b0110] = sizes[0b1001] = 2 * across;
  return sizes;
}

}  // namespace

unsigned element_code(const BitGrid& mask, int dims, std::int64_t plane,
                      std::int64_t y, std::int64_t x) {
  const auto [planes, rows, places] = mask.extents();
  unsigned code = 0;
  for (std::int64_t z = dims == 3 ? plane - 1 : plane; z <= plane; ++z) {
    for (std::int64_t row = y - 1; row <= y; ++row) {
      const bool inside = z >= 0 && z < planes && row >= 0 && row < rows;
      code = code << 1 | (inside && x > 0 && mask.test(z, row, x - 1));
      code = code << 1 | (inside && x < places && mask.test(z, row, x));
    }
  }
  return code;
}

std::vector<double> element_sizes(const GridSpacing& spacing, int dims) {
  return dims == 3 ? areas(spacing) : lengths(spacing);
}

}  // namespace tally::internal::segmentation
