#pragma once

#include <cstdint>

#include "tally/metrics/clustering/kernels/point_clusters.h"

namespace tally::internal::clustering {

/// The distance of two points, by their places, and which they are. Of equal
/// ones the first pair.
struct Extreme {
  double distance;
  std::int64_t a, b;
};

/// The p-norm of a - b; p may be infinite.
double distance_of(const double* a, const double* b, std::int64_t dims,
                   double p);

/// The least distance between points [count, dims]. REQUIRES: two or more.
Extreme least_distance(const double* points, std::int64_t count,
                       std::int64_t dims, double p);

/// The largest distance of a point (a) to the centroid of its cluster (b).
Extreme largest_to_centroid(const PointClusters& clusters,
                            const Centroids& centroids, double p);

/// The least distance of points of different clusters, and the largest of
/// points of the same, over all pairs. REQUIRES: two clusters or more.
struct PairExtremes {
  Extreme least_between, largest_inside;
};
PairExtremes extremes_of_pairs(const PointClusters& clusters, double p);

/// The mean silhouette by Euclidean distances: of all pairs, a few points and a
/// block at a time. It does not depend on the number of threads. REQUIRES: two
/// clusters or more.
double mean_silhouette(const PointClusters& clusters);

/// The same by squared distances, from the clusters' means and squares alone.
double mean_squared_silhouette(const PointClusters& clusters);

}  // namespace tally::internal::clustering
