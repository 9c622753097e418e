#pragma once

#include <cstdint>
#include <limits>

/// What is done with a tile of products `q` of rows and columns, while it is in
/// the cache. Logits are `scale * q`.
///
/// Tiles are row-major without gaps. Arrays of columns have room for kPadding
/// more elements, whose values do not matter.
///
/// Exponents are `scale * (q - max)` with the largest product of the row or the
/// column: however large logits are, and with them the rounding of their
/// log-sum-exp, no probability is off by more than a few units in its last
/// place times the exponent.
namespace tally::losses::internal {

inline constexpr std::int64_t kPadding = 64;
/// Far from any tile's columns.
inline constexpr std::int64_t kNoColumn =
    std::numeric_limits<std::int64_t>::min() / 2;

template <class T>
struct Tile {
  T* q;
  std::int64_t rows;
  std::int64_t columns;
  T scale;  ///< at least 0, but in sigmoid()
  /// The column that is left out for the tile's first row, its pair or the row
  /// itself; for the second it is the next one, and so on. May be out of range.
  std::int64_t left_out;
};

/// The largest product of rows and of columns, and the sum of their
/// exp(scale * (q - max)). They start with -infinity and 0.
void add_to_statistics(const Tile<const float>& tile, float* row_max,
                       double* row_sum, float* column_max, double* column_sum);
void add_to_statistics(const Tile<const double>& tile, double* row_max,
                       double* row_sum, double* column_max, double* column_sum);

/// The gradient of a logit that a row or a column brings about is
/// factor * exp(scale * (q - max)).
template <class T>
struct SoftmaxTerms {
  const T* max;
  const T* factor;
};

/// q becomes the logit's gradient; what is left out stays. Returns the sum of
/// all gradients, those by rows times q - max of the row, those by columns
/// times q - max of the column.
double softmax_gradient(const Tile<float>& tile,
                        const SoftmaxTerms<float>& rows,
                        const SoftmaxTerms<float>& columns);
double softmax_gradient(const Tile<double>& tile,
                        const SoftmaxTerms<double>& rows,
                        const SoftmaxTerms<double>& columns);

/// Which columns are a row's positives: those with its id.
struct Ids {
  const std::int32_t* rows;
  const std::int32_t* columns;
};

/// A row's largest product, and sums over its columns.
struct SameLabelStatistics {
  double max = -std::numeric_limits<double>::infinity();
  double others = 0;     ///< of exp(scale * (q - max))
  double positives = 0;  ///< the same, of positives
  double distance = 0;   ///< of max - q of positives
  double found = 0;      ///< their number
};

void add_to_statistics(const Tile<const float>& tile, const Ids& ids,
                       SameLabelStatistics* rows);
void add_to_statistics(const Tile<const double>& tile, const Ids& ids,
                       SameLabelStatistics* rows);

/// As SoftmaxTerms; of a positive, positives_factor * exp(scale * (q - max)) -
/// positives.
template <class T>
struct SameLabelTerms {
  const T* max;
  const T* factor;
  const T* positives_factor;
  const T* positives;
};

/// q becomes the gradient of the logit and of its mirror image, 0 where left
/// out.
void softmax_gradient(const Tile<float>& tile, const Ids& ids,
                      const SameLabelTerms<float>& rows,
                      const SameLabelTerms<float>& columns);
void softmax_gradient(const Tile<double>& tile, const Ids& ids,
                      const SameLabelTerms<double>& rows,
                      const SameLabelTerms<double>& columns);

struct SigmoidSums {
  double loss = 0;    ///< of softplus(logit), of softplus(-logit) for pairs
  double logits = 0;  ///< of the logits' gradients
  double scale = 0;   ///< of q times those
};

/// Logits are scale * q + bias; what the tile calls left out are the pairs.
/// With gradients, q becomes the logit's times `weight`.
SigmoidSums sigmoid(const Tile<float>& tile, float bias, float weight,
                    bool with_gradient);
SigmoidSums sigmoid(const Tile<double>& tile, double bias, double weight,
                    bool with_gradient);

}  // namespace tally::losses::internal
