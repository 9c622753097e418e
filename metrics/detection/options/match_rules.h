#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tally::internal::detection {

/// Both bounds belong to the range.
struct AreaRange {
  double least;
  double most;

  bool contains(double area) const { return area >= least && area <= most; }
};

/// What detections are matched by.
struct MatchRules {
  enum class Kind {
    kCoco,
    kLvis,  ///< no crowds; images name the classes that they are judged by
    kVoc,   ///< each detection is held against the object it overlaps most
  };

  std::vector<double> thresholds;  ///< of the overlap
  std::vector<AreaRange> areas;
  std::int64_t max_detections = 100;  ///< of an image and class
  bool class_agnostic = false;
  Kind kind = Kind::kCoco;
  /// Of an image, before those of other classes than it is judged by are
  /// ignored.
  std::int64_t max_per_image = std::numeric_limits<std::int64_t>::max();

  std::size_t bits() const { return areas.size() * thresholds.size(); }
  /// Words of 64 bits for one bit per area and threshold.
  std::size_t words() const { return (bits() + 63) / 64; }
};

/// A detection as it is accumulated: int64 words of
///     its score, as the bits of a double
///     the id of its image
///     its class * 2^31 + its rank within image and class
///     a bit per area and threshold (in this order): it hit an object
///     a bit per area and threshold: it is ignored
struct MatchRow {
  static constexpr std::size_t kScore = 0;
  static constexpr std::size_t kImage = 1;
  static constexpr std::size_t kPlace = 2;
  static constexpr std::size_t kBits = 3;
  static constexpr std::int64_t kRanks = std::int64_t{1} << 31;

  static std::size_t width(std::size_t words) { return kBits + 2 * words; }
  static std::int64_t place(std::int64_t label, std::int64_t rank) {
    return label * kRanks + rank;
  }
  static std::int64_t label(const std::int64_t* row) {
    return row[kPlace] / kRanks;
  }
  static std::int64_t rank(const std::int64_t* row) {
    return row[kPlace] % kRanks;
  }
};

/// The annotated objects of an image and class: int64 words of
///     the id of the image
///     the class
///     per area how many are not ignored
struct CountRow {
  static constexpr std::size_t kImage = 0;
  static constexpr std::size_t kLabel = 1;
  static constexpr std::size_t kCounts = 2;
};

/// An image with an id: that and a fingerprint of its rows.
struct ImageRow {
  static constexpr std::size_t kImage = 0;
  static constexpr std::size_t kFingerprint = 1;
  static constexpr std::size_t kWidth = 2;
};

}  // namespace tally::internal::detection
