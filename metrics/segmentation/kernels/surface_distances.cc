#include "tally/metrics/segmentation/kernels/surface_distances.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>

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
  const double across = std::sqrt(down * down + along * along) / 2;
  std::vector<double> sizes(16, across);
  sizes[0b0000] = sizes[0b1111] = 0;
  sizes[0b0011] = sizes[0b1100] = along;
  sizes[0b0101] = sizes[0b1010] = down;
  sizes[0b0110] = sizes[0b1001] = 2 * across;
  return sizes;
}

}  // namespace

std::vector<std::uint8_t> element_codes(const BitGrid& mask,
                                        const BitGrid& surface, int dims) {
  const std::int64_t planes = mask.extents()[0], rows = mask.extents()[1];
  const std::int64_t corner_rows = surface.extents()[1];
  const std::int64_t words = mask.row_words();
  std::vector<std::uint8_t> codes;
  codes.reserve(static_cast<std::size_t>(surface.count()));
  // Null: outside.
  const auto row_of = [&](std::int64_t plane,
                          std::int64_t y) -> const BitGrid::Word* {
    const bool inside = plane >= 0 && plane < planes && y >= 0 && y < rows;
    return inside ? mask.row(plane * rows + y) : nullptr;
  };
  for (std::int64_t r = 0; r < surface.rows(); ++r) {
    const std::int64_t plane = r / corner_rows, y = r % corner_rows;
    const BitGrid::Word* around[4] = {row_of(plane - 1, y - 1),
                                      row_of(plane - 1, y),
                                      row_of(plane, y - 1), row_of(plane, y)};
    const int first = dims == 3 ? 0 : 2;
    for (std::int64_t i = 0; i < surface.row_words(); ++i) {
      BitGrid::Word left = surface.row(r)[i];
      if (left == 0) continue;
      // Of each row the places before the corners, and those behind.
      BitGrid::Word before[4] = {}, behind[4] = {};
      for (int k = first; k < 4; ++k) {
        if (around[k] == nullptr) continue;
        behind[k] = i < words ? around[k][i] : 0;
        before[k] = behind[k] << 1 | (i > 0 ? around[k][i - 1] >> 63 : 0);
      }
      for (; left != 0; left &= left - 1) {
        const int bit = __builtin_ctzll(left);
        unsigned code = 0;
        for (int k = first; k < 4; ++k) {
          code =
              code << 2 | (before[k] >> bit & 1) << 1 | (behind[k] >> bit & 1);
        }
        codes.push_back(static_cast<std::uint8_t>(code));
      }
    }
  }
  return codes;
}

std::vector<double> element_sizes(const GridSpacing& spacing, int dims) {
  return dims == 3 ? areas(spacing) : lengths(spacing);
}

namespace {

// Calls visit(plane, y, x) for the places that are set, in order.
template <class Visit>
void for_each_place(const BitGrid& grid, const Visit& visit) {
  const std::int64_t rows = grid.extents()[1];
  for (std::int64_t r = 0; r < grid.rows(); ++r) {
    for_each_bit(grid.row(r), grid.row_words(),
                 [&](std::int64_t x) { visit(r / rows, r % rows, x); });
  }
}

std::vector<double> sizes_of(const BitGrid& mask, const BitGrid& surface,
                             const SurfaceGeometry& geometry) {
  if (geometry.kind != SurfaceKind::kElement) return {};
  const std::vector<double> by_code =
      element_sizes(geometry.spacing, geometry.dims);
  std::vector<double> sizes;
  for (const std::uint8_t code : element_codes(mask, surface, geometry.dims)) {
    sizes.push_back(by_code[code]);
  }
  return sizes;
}

// Of all points of `from`.
std::vector<double> distances_to(const BitGrid& surface, const BitGrid& from,
                                 const SurfaceGeometry& geometry,
                                 float* spare) {
  // Numbers near 1, whatever the unit.
  const auto& spacing = geometry.spacing;
  const double unit =
      *std::max_element(spacing.begin() + (3 - geometry.dims), spacing.end());
  distance_transform(surface,
                     {spacing[0] / unit, spacing[1] / unit, spacing[2] / unit},
                     geometry.distance, &from, spare);
  const std::int64_t rows = surface.extents()[1], places = surface.extents()[2];
  std::vector<double> distances;
  distances.reserve(static_cast<std::size_t>(from.count()));
  const bool is_square = geometry.distance == GridDistance::kEuclidean;
  for_each_place(from, [&](std::int64_t plane, std::int64_t y, std::int64_t x) {
    const double value = spare[(plane * rows + y) * places + x];
    distances.push_back(unit * (is_square ? std::sqrt(value) : value));
  });
  return distances;
}

}  // namespace

SurfacePair surface_distances(const BitGrid& preds, const BitGrid& target,
                              const SurfaceGeometry& geometry) {
  const BitGrid of_preds = surface_of(preds, geometry.kind, geometry.dims);
  const BitGrid of_target = surface_of(target, geometry.kind, geometry.dims);
  SurfacePair pair;
  pair.preds.is_empty = !of_preds.any();
  pair.target.is_empty = !of_target.any();
  if (pair.preds.is_empty || pair.target.is_empty) return pair;
  const auto [planes, rows, places] = of_preds.extents();
  // Not set to anything: only places that were written are read.
  const std::unique_ptr<float[]> spare(
      new float[static_cast<std::size_t>(planes * rows * places)]);
  pair.preds.distances =
      distances_to(of_target, of_preds, geometry, spare.get());
  pair.target.distances =
      distances_to(of_preds, of_target, geometry, spare.get());
  pair.preds.sizes = sizes_of(preds, of_preds, geometry);
  pair.target.sizes = sizes_of(target, of_target, geometry);
  return pair;
}

namespace {

constexpr double kRounding = 1e-12;

// No function, so that it is inlined.
constexpr auto kIsLess = [](const Weighted& a, const Weighted& b) {
  return a.value < b.value;
};

}  // namespace

double percentile(std::vector<double> values, double percent) {
  const double place = static_cast<double>(values.size() - 1) * (percent / 100);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  const double rest = place - std::floor(place);
  if (rest == 0 || below + 1 == values.end()) return *below;
  const double above = *std::min_element(below + 1, values.end());
  return *below + rest * (above - *below);
}

double weighted_percentile(std::vector<Weighted> values, double percent) {
  double total = 0;
  for (const Weighted& v : values) total += v.weight;
  const double wanted = total * (percent / 100) * (1 - kRounding);
  double below = 0;
  auto first = values.begin();
  auto end = values.end();
  while (end - first > 1) {
    const auto middle = first + (end - first) / 2;
    std::nth_element(first, middle, end, kIsLess);
    double here = 0;
    for (auto v = first; v != middle; ++v) here += v->weight;
    if (below + here >= wanted) {
      end = middle;
    } else {
      below += here;
      first = middle;
    }
  }
  return first->value;
}

}  // namespace tally::internal::segmentation
