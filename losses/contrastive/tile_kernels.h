#pragma once

#include <cstdint>

/// What is done with a tile of products `q` of rows and columns, while it is in
/// the cache. Logits are `scale * q`.
///
/// Tiles are row-major without gaps. Arrays of columns have room for kPadding
/// more elements, whose values do not matter.
namespace tally::losses::internal {

inline constexpr std::int64_t kPadding = 64;

template <class T>
struct Tile {
  T* q;
  std::int64_t rows;
  std::int64_t columns;
  T scale;
};

/// The running maximum of logits and the sum of exp(logit - maximum), of rows
/// and of columns. They start with -infinity and 0.
void add_to_statistics(const Tile<const float>& tile, float* row_max,
                       float* row_sum, float* column_max, float* column_sum);
void add_to_statistics(const Tile<const double>& tile, double* row_max,
                       double* row_sum, double* column_max, double* column_sum);

/// q becomes the logit's gradient, the sum of row_weight * exp(logit - row_lse)
/// and column_weight * exp(logit - column_lse). Returns the sum of q times it.
double softmax_gradient(const Tile<float>& tile, const float* row_lse,
                        float row_weight, const float* column_lse,
                        float column_weight);
double softmax_gradient(const Tile<double>& tile, const double* row_lse,
                        double row_weight, const double* column_lse,
                        double column_weight);

/// Which columns are alike a row: those with its id.
struct Ids {
  const std::int32_t* rows;
  const std::int32_t* columns;
  /// The column that is the tile's first row itself, the second's is the next,
  /// and so on; it counts neither as alike nor at all. May be out of range.
  std::int64_t self;
};

/// As above, of rows alone, and the sum of the logits of columns alike. A row's
/// product with itself is overwritten, so that it counts for nothing.
void add_to_statistics(const Tile<float>& tile, const Ids& ids, float* row_max,
                       float* row_sum, float* row_alike);
void add_to_statistics(const Tile<double>& tile, const Ids& ids,
                       double* row_max, double* row_sum, double* row_alike);

/// q becomes the gradient of the logit and of its mirror image: the sum of
/// row_weight * exp(logit - row_lse) and column_weight * exp(logit -
/// column_lse), less row_alike + column_alike if the two are alike; 0 for a row
/// itself.
void softmax_gradient(const Tile<float>& tile, const Ids& ids,
                      const float* row_lse, const float* row_weight,
                      const float* row_alike, const float* column_lse,
                      const float* column_weight, const float* column_alike);
void softmax_gradient(const Tile<double>& tile, const Ids& ids,
                      const double* row_lse, const double* row_weight,
                      const double* row_alike, const double* column_lse,
                      const double* column_weight, const double* column_alike);

struct SigmoidSums {
  double loss = 0;    ///< of softplus(logit), of softplus(-logit) for pairs
  double logits = 0;  ///< of the logits' gradients
  double scale = 0;   ///< of q times those
};

/// Logits are scale * q + bias. The pair of the tile's first row is column
/// `self`, the second's is the next, and so on; it may be out of range. With
/// gradients, q becomes the logit's times `weight`.
SigmoidSums sigmoid(const Tile<float>& tile, float bias, std::int64_t self,
                    float weight, bool with_gradient);
SigmoidSums sigmoid(const Tile<double>& tile, double bias, std::int64_t self,
                    double weight, bool with_gradient);

}  // namespace tally::losses::internal
