#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tally/metrics/segmentation/kernels/bit_grid.h"
#include "tally/metrics/segmentation/kernels/distance_transform.h"
#include "tally/metrics/segmentation/kernels/surface_distances.h"

namespace tally::internal::segmentation {
namespace {

constexpr GridDistance kDistances[] = {GridDistance::kEuclidean,
                                       GridDistance::kChessboard,
                                       GridDistance::kTaxicab};

void set(BitGrid& grid, std::int64_t plane, std::int64_t y, std::int64_t x) {
  grid.row(plane * grid.extents()[1] + y)[x / BitGrid::kBits] |=
      BitGrid::Word{1} << (x % BitGrid::kBits);
}

BitGrid random_grid(const Extents& extents, double density,
                    std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::bernoulli_distribution is_set(density);
  BitGrid grid(extents);
  for (std::int64_t z = 0; z < extents[0]; ++z) {
    for (std::int64_t y = 0; y < extents[1]; ++y) {
      for (std::int64_t x = 0; x < extents[2]; ++x) {
        if (is_set(engine)) set(grid, z, y, x);
      }
    }
  }
  return grid;
}

template <class Visit>
void for_each(const Extents& extents, const Visit& visit) {
  for (std::int64_t z = 0; z < extents[0]; ++z) {
    for (std::int64_t y = 0; y < extents[1]; ++y) {
      for (std::int64_t x = 0; x < extents[2]; ++x) visit(z, y, x);
    }
  }
}

double distance(GridDistance kind, const GridSpacing& spacing,
                const Extents& gap) {
  double along[3];
  for (int axis = 0; axis < 3; ++axis) {
    along[axis] = spacing[axis] * std::abs(static_cast<double>(gap[axis]));
  }
  switch (kind) {
    case GridDistance::kEuclidean:
      return along[0] * along[0] + along[1] * along[1] + along[2] * along[2];
    case GridDistance::kChessboard:
      return std::max({along[0], along[1], along[2]});
    default:
      return along[0] + along[1] + along[2];
  }
}

// To every place, by looking at every seed.
std::vector<double> by_search(const BitGrid& seeds, GridDistance kind,
                              const GridSpacing& spacing) {
  std::vector<Extents> points;
  for_each(seeds.extents(), [&](auto z, auto y, auto x) {
    if (seeds.test(z, y, x)) points.push_back({z, y, x});
  });
  std::vector<double> nearest;
  for_each(seeds.extents(), [&](auto z, auto y, auto x) {
    double best = std::numeric_limits<double>::infinity();
    for (const Extents& p : points) {
      best = std::min(best,
                      distance(kind, spacing, {p[0] - z, p[1] - y, p[2] - x}));
    }
    nearest.push_back(best);
  });
  return nearest;
}

std::vector<float> by_transform(const BitGrid& seeds, GridDistance kind,
                                const GridSpacing& spacing,
                                const BitGrid* wanted = nullptr) {
  const auto [planes, rows, places] = seeds.extents();
  std::vector<float> out(static_cast<std::size_t>(planes * rows * places), -1);
  distance_transform(seeds, spacing, kind, wanted, out.data());
  return out;
}

constexpr Extents kShapes[] = {{1, 1, 1},   {1, 1, 70},  {1, 40, 1},
                               {30, 1, 1},  {1, 19, 23}, {7, 1, 33},
                               {9, 12, 65}, {17, 5, 6}};

TEST(DistanceTransformTest, IsExactOnUnitSpacing) {
  std::uint32_t seed = 1;
  for (const Extents& shape : kShapes) {
    for (const double density : {0.003, 0.05, 0.5}) {
      // Searching takes its time.
      if (density > 0.1 && shape[0] * shape[1] * shape[2] > 1000) continue;
      BitGrid seeds = random_grid(shape, density, ++seed);
      if (!seeds.any()) set(seeds, shape[0] - 1, shape[1] / 2, 0);
      for (const auto kind : kDistances) {
        const auto expected = by_search(seeds, kind, {1, 1, 1});
        const auto found = by_transform(seeds, kind, {1, 1, 1});
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(found[i], expected[i]) << i;
        }
      }
    }
  }
}

TEST(DistanceTransformTest, TakesAnySpacing) {
  std::uint32_t seed = 100;
  for (const Extents& shape : kShapes) {
    for (const GridSpacing& spacing :
         {GridSpacing{1, 1, 2}, GridSpacing{0.3, 0.07, 1},
          GridSpacing{5, 0.9, 0.41}}) {
      BitGrid seeds = random_grid(shape, 0.02, ++seed);
      if (!seeds.any()) set(seeds, 0, 0, shape[2] / 2);
      for (const auto kind : kDistances) {
        const auto expected = by_search(seeds, kind, spacing);
        const auto found = by_transform(seeds, kind, spacing);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(found[i], expected[i], 3e-7 * expected[i]) << i;
        }
      }
    }
  }
}

TEST(DistanceTransformTest, WritesWhatIsWanted) {
  const Extents shape{9, 12, 65};
  const BitGrid seeds = random_grid(shape, 0.01, 7);
  const BitGrid wanted = random_grid(shape, 0.02, 8);
  const auto all = by_transform(seeds, GridDistance::kEuclidean, {1, 1, 1});
  const auto some =
      by_transform(seeds, GridDistance::kEuclidean, {1, 1, 1}, &wanted);
  std::size_t i = 0;
  for_each(shape, [&](auto z, auto y, auto x) {
    if (wanted.test(z, y, x)) {
      EXPECT_EQ(some[i], all[i]);
    }
    ++i;
  });
}

bool in_mask(const BitGrid& mask, std::int64_t z, std::int64_t y,
             std::int64_t x) {
  const auto [planes, rows, places] = mask.extents();
  return z >= 0 && z < planes && y >= 0 && y < rows && x >= 0 && x < places &&
         mask.test(z, y, x);
}

// Whether a place of SurfaceKind::kVoxel or kElement is on the surface.
bool on_surface(const BitGrid& mask, SurfaceKind kind, int dims, std::int64_t z,
                std::int64_t y, std::int64_t x) {
  if (kind == SurfaceKind::kVoxel) {
    const bool inside =
        in_mask(mask, z, y - 1, x) && in_mask(mask, z, y + 1, x) &&
        in_mask(mask, z, y, x - 1) && in_mask(mask, z, y, x + 1) &&
        (dims == 2 ||
         (in_mask(mask, z - 1, y, x) && in_mask(mask, z + 1, y, x)));
    return in_mask(mask, z, y, x) && !inside;
  }
  int count = 0;
  for (int i = 0; i < (dims == 3 ? 8 : 4); ++i) {
    count += in_mask(mask, z - (i >> 2), y - (i >> 1 & 1), x - (i & 1));
  }
  return count != 0 && count != (dims == 3 ? 8 : 4);
}

// The same of DAVIS' boundaries.
bool on_edge(const BitGrid& mask, int dims, std::int64_t z, std::int64_t y,
             std::int64_t x) {
  const auto [planes, rows, places] = mask.extents();
  for (int i = 1; i < (dims == 3 ? 8 : 4); ++i) {
    const bool other = mask.test(std::min(z + (i >> 2), planes - 1),
                                 std::min(y + (i >> 1 & 1), rows - 1),
                                 std::min(x + (i & 1), places - 1));
    if (other != mask.test(z, y, x)) return true;
  }
  return false;
}

TEST(BitGridTest, FindsSurfaces) {
  std::uint32_t seed = 40;
  for (const Extents& shape :
       {Extents{1, 9, 63}, Extents{1, 7, 64}, Extents{1, 5, 130},
        Extents{1, 1, 65}, Extents{6, 5, 64}, Extents{3, 4, 129},
        Extents{1, 4, 70}, Extents{4, 1, 1}}) {
    for (const int dims : {2, 3}) {
      if (dims == 2 && shape[0] > 1) continue;
      const BitGrid mask = random_grid(shape, 0.8, ++seed);
      for (const auto kind :
           {SurfaceKind::kVoxel, SurfaceKind::kElement, SurfaceKind::kEdge}) {
        const BitGrid surface = surface_of(mask, kind, dims);
        std::int64_t count = 0;
        for_each(surface.extents(), [&](auto z, auto y, auto x) {
          const bool expected = kind == SurfaceKind::kEdge
                                    ? on_edge(mask, dims, z, y, x)
                                    : on_surface(mask, kind, dims, z, y, x);
          ASSERT_EQ(surface.test(z, y, x), expected)
              << static_cast<int>(kind) << ' ' << z << ' ' << y << ' ' << x;
          count += expected;
        });
        EXPECT_EQ(surface.count(), count);
        EXPECT_EQ(surface.any(), count > 0);
      }
    }
  }
}

TEST(SurfaceElementsTest, AreasAreThoseOfCells) {
  const auto unit = element_sizes({1, 1, 1}, 3);
  ASSERT_EQ(unit.size(), 256u);
  EXPECT_EQ(unit[0], 0);
  EXPECT_EQ(unit[255], 0);
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(unit[code], unit[255 - code]);
    EXPECT_EQ(unit[code] > 0, code % 255 != 0);
  }
  // A corner is a triangle between middles of edges, half a cell a square.
  EXPECT_NEAR(unit[1], std::sqrt(3) / 8, 1e-15);
  EXPECT_NEAR(unit[0b00001111], 1, 1e-15);
  const auto other = element_sizes({2, 3, 5}, 3);
  EXPECT_NEAR(other[0b00001111], 15, 1e-14);  // between planes
  EXPECT_NEAR(other[0b00110011], 10, 1e-14);  // between rows
  EXPECT_NEAR(other[0b01010101], 6, 1e-14);   // between places of a row
  const auto lengths = element_sizes({1, 2, 3}, 2);
  ASSERT_EQ(lengths.size(), 16u);
  EXPECT_EQ(lengths[0b0011], 3);
  EXPECT_EQ(lengths[0b0101], 2);
  EXPECT_NEAR(lengths[0b0001], std::sqrt(13) / 2, 1e-15);
  EXPECT_NEAR(lengths[0b1001], std::sqrt(13), 1e-15);
}

TEST(SurfaceElementsTest, CodesNameThePlacesAround) {
  BitGrid mask({2, 2, 2});
  set(mask, 0, 0, 0);
  const auto codes_of = [](const BitGrid& of, int dims) {
    return element_codes(of, surface_of(of, SurfaceKind::kElement, dims), dims);
  };
  // From the corner before the place to the one behind it.
  EXPECT_EQ(codes_of(mask, 3),
            (std::vector<std::uint8_t>{1, 2, 4, 8, 16, 32, 64, 128}));
  BitGrid image({1, 1, 130});
  set(image, 0, 0, 63);
  set(image, 0, 0, 64);
  EXPECT_EQ(codes_of(image, 2),
            (std::vector<std::uint8_t>{0b0001, 0b0011, 0b0010, 0b0100, 0b1100,
                                       0b1000}));
}

TEST(PercentilesTest, AreLinearBetweenValues) {
  const std::vector<double> values{7, 1, 3, 10, 4};
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile(values, 50), 4);
  EXPECT_EQ(percentile(values, 100), 10);
  EXPECT_NEAR(percentile(values, 60), 5.2, 1e-14);
  EXPECT_EQ(percentile({2}, 30), 2);
}

TEST(PercentilesTest, OfWeightsAreReached) {
  const std::vector<Weighted> values{{4, 1}, {1, 3}, {9, 2}, {2, 2}, {9, 2}};
  EXPECT_EQ(weighted_percentile(values, 0), 1);
  EXPECT_EQ(weighted_percentile(values, 30), 1);  // just
  EXPECT_EQ(weighted_percentile(values, 31), 2);
  EXPECT_EQ(weighted_percentile(values, 50), 2);
  EXPECT_EQ(weighted_percentile(values, 60), 4);
  EXPECT_EQ(weighted_percentile(values, 61), 9);
  EXPECT_EQ(weighted_percentile(values, 100), 9);
  // Ten times 0.1 is less than 1.
  std::vector<Weighted> tenths;
  for (int i = 0; i < 20; ++i) tenths.push_back({static_cast<double>(i), 0.1});
  EXPECT_EQ(weighted_percentile(tenths, 50), 9);
}

}  // namespace
}  // namespace tally::internal::segmentation
