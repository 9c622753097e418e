#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

/// The inner loops of curves at given thresholds, with the widest vectors of
/// the machine. A place is a score's bin (see ThresholdGrid), plus `columns`
/// for a code of 1; codes may be absent.
namespace tally::internal::classification {

/// A list of thresholds, organized such that the bin of a probability is found
/// by a table lookup and a few steps.
class EdgeTable {
 public:
  /// With more steps, a search among all thresholds is faster.
  static constexpr std::int64_t kFewSteps = 4;

  /// `edges` ascend within [0, 1].
  EdgeTable(const double* edges, std::int64_t count);

  /// REQUIRES: score is in [0, 1].
  std::int64_t bucket(double score) const {
    const auto cell = static_cast<std::int64_t>(score * scale_);
    return std::upper_bound(edges_.begin() + cells_[cell],
                            edges_.begin() + cells_[cell + 1], score) -
           edges_.begin();
  }
  const float* float_edges() const { return float_edges_.data(); }
  const std::uint32_t* cells() const { return cells_.data(); }
  float scale() const { return static_cast<float>(scale_); }
  /// The most thresholds within a cell.
  std::int64_t steps() const { return steps_; }
  /// The largest power of 2 that is not more than their number.
  std::int32_t halves() const { return halves_; }

 private:
  void fill_cells(std::int64_t count, std::int64_t cells);

  std::vector<double> edges_;
  // The smallest floats not below the edges, so that they compare with floats
  // like the edges; padded with infinity to 2 * halves().
  std::vector<float> float_edges_;
  // For each part of [0, 1], the number of edges not above its lower end.
  std::vector<std::uint32_t> cells_;
  double scale_ = 0;
  std::int64_t steps_ = 0;
  std::int32_t halves_ = 1;
};

/// For thresholds i / scale. REQUIRES: scale < 2^29. False, with meaningless
/// places, if a score is not in [0, 1].
bool uniform_places(const float* scores, const std::uint8_t* codes,
                    std::int64_t size, double scale, std::int64_t columns,
                    std::uint32_t* places);
bool listed_places(const float* scores, const std::uint8_t* codes,
                   std::int64_t size, const EdgeTable& table,
                   std::int64_t columns, std::uint32_t* places);

/// Whether all scores are in [0, 1]; NaN is not.
bool are_probabilities(const float* scores, std::int64_t size);
bool are_probabilities(const double* scores, std::int64_t size);

}  // namespace tally::internal::classification
