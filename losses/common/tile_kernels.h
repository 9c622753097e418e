#pragma once

#include <cstdint>
#include <limits>

/// Operations on a tile of products `q` of rows and columns while it is in the
/// cache. Logits are `scale * q`.
///
/// Tiles are row-major and contiguous. Arrays of columns have space for
/// kPadding additional elements with arbitrary values.
///
/// Exponents are `scale * (q - max)` with the largest product of the row or
/// column: however large logits are, and with them the rounding of their
/// log-sum-exp, no probability is off by more than a few units in the last
/// place times the exponent.
namespace tally::losses::internal {

inline constexpr std::int64_t kPadding = 64;
/// Out of range of any tile's columns.
inline constexpr std::int64_t kNoColumn =
    std::numeric_limits<std::int64_t>::min() / 2;

template <class T>
struct Tile {
  T* q;
  std::int64_t rows;
  std::int64_t columns;
  T scale;  ///< at least 0, except in sigmoid()
  /// The column to exclude for the tile's first row, its pair or the row
  /// itself; for the second row the next one, and so on. May be out of range.
  std::int64_t left_out;
};

/// The largest product of rows and of columns, and the sum of their exp(scale *
/// (q - max)). They start with -infinity and 0.
void add_to_statistics(const Tile<const float>& tile, float* row_max,
                       double* row_sum, float* column_max, double* column_sum);
void add_to_statistics(const Tile<const double>& tile, double* row_max,
                       double* row_sum, double* column_max, double* column_sum);

/// The contribution of a row or column to the gradient of a logit is factor *
/// exp(scale * (q - max)).
template <class T>
struct SoftmaxTerms {
  const T* max;
  const T* factor;
};

/// Replaces q by the logit's gradient, except for excluded ones. Returns the
/// sum of all gradients, those from rows times q - max of the row, those from
/// columns times q - max of the column.
double softmax_gradient(const Tile<float>& tile,
                        const SoftmaxTerms<float>& rows,
                        const SoftmaxTerms<float>& columns);
double softmax_gradient(const Tile<double>& tile,
                        const SoftmaxTerms<double>& rows,
                        const SoftmaxTerms<double>& columns);

/// Defines a row's positives: the columns with the same id.
struct Ids {
  const std::int32_t* rows;
  const std::int32_t* columns;
};

/// A row's largest product, and sums over its columns.
struct SameLabelStatistics {
  double max = -std::numeric_limits<double>::infinity();
  double others = 0;     ///< of exp(scale * (q - max))
  double positives = 0;  ///< the same over positives
  double distance = 0;   ///< of max - q of positives
  double found = 0;      ///< their number
};

void add_to_statistics(const Tile<const float>& tile, const Ids& ids,
                       SameLabelStatistics* rows);
void add_to_statistics(const Tile<const double>& tile, const Ids& ids,
                       SameLabelStatistics* rows);

/// As SoftmaxTerms; for a positive, positives_factor * exp(scale * (q - max)) -
/// positives.
template <class T>
struct SameLabelTerms {
  const T* max;
  const T* factor;
  const T* positives_factor;
  const T* positives;
};

/// Replaces q by the gradient of the logit and of its mirror image, 0 if
/// excluded.
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

/// Logits are scale * q + bias; the tile's excluded columns are the pairs. With
/// gradients, q is replaced by the logit's gradient times `weight`.
SigmoidSums sigmoid(const Tile<float>& tile, float bias, float weight,
                    bool with_gradient);
SigmoidSums sigmoid(const Tile<double>& tile, double bias, double weight,
                    bool with_gradient);

}  // namespace tally::losses::internal
