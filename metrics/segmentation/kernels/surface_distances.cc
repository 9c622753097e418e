#include "tally/metrics/segmentation/kernels/surface_distances.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "tally/metrics/segmentation/kernels/surface_elements.h"

namespace tally::internal::segmentation {
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
  const auto [planes, rows, places] = surface.extents();
  std::vector<double> distances;
  distances.reserve(static_cast<std::size_t>(from.count()));
  const bool is_square = geometry.distance == GridDistance::kEuclidean;
  for_each_place(from, [&, rows = rows, places = places](
                           std::int64_t plane, std::int64_t y, std::int64_t x) {
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

}  // namespace tally::internal::segmentation
