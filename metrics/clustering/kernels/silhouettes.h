#pragma once

#include "tally/metrics/clustering/kernels/point_clusters.h"

namespace tally::internal::clustering {

/// The mean silhouette by Euclidean distances: of all pairs, a few points and a
/// block at a time. It does not depend on the number of threads. REQUIRES: two
/// clusters or more.
double mean_silhouette(const PointClusters& clusters);

/// The same by squared distances, from the clusters' means and squares alone.
double mean_squared_silhouette(const PointClusters& clusters);

}  // namespace tally::internal::clustering
