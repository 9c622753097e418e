#pragma once

#include <cstdint>

/// The loops of BarlowTwinsLoss, with the widest vectors of the machine.
namespace tally::losses::internal {

/// Writes rows [count, features] less their mean to `centered`, and to `scale`
/// 1 over the root of each feature's variance plus eps.
void center_rows(const float* rows, std::int64_t count, std::int64_t features,
                 double eps, float* centered, double* scale);
void center_rows(const double* rows, std::int64_t count, std::int64_t features,
                 double eps, double* centered, double* scale);

/// The correlations of the features of two views: the products of their
/// centered rows [features, features], over the number of rows and times both
/// scales.
template <class T>
struct Correlations {
  const T* products;
  std::int64_t features;
  double count;
  const double* scale_a;
  const double* scale_b;

  double operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(products[i * features + j]) / count *
           scale_a[i] * scale_b[j];
  }
};

/// The sum of the squares of row i, except that of its own feature.
double other_squares(const Correlations<float>& all, std::int64_t i);
double other_squares(const Correlations<double>& all, std::int64_t i);

/// With g, the derivatives with respect to the correlations c of row i, which
/// are `own` for its own feature and `factor` times c for all others: writes g
/// times both scales to `slopes` [features], subtracts g c from `by_feature`
/// [features], and returns the sum of g c.
double correlation_slopes(const Correlations<float>& all, std::int64_t i,
                          double factor, double own, float* slopes,
                          double* by_feature);
double correlation_slopes(const Correlations<double>& all, std::int64_t i,
                          double factor, double own, double* slopes,
                          double* by_feature);

}  // namespace tally::losses::internal
