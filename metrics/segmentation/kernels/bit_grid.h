#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::internal::segmentation {

/// Extents of a grid: planes, rows of a plane, places of a row. An image has
/// one plane.
using Extents = std::array<std::int64_t, 3>;

/// A mask over a grid: a bit for each place, 64 to a word. Rows begin at a
/// word; bits behind a row's last place are 0.
class BitGrid {
 public:
  using Word = std::uint64_t;
  static constexpr std::int64_t kBits = 64;

  BitGrid() = default;
  /// All 0.
  explicit BitGrid(const Extents& extents)
      : extents_(extents),
        row_words_((extents[2] + kBits - 1) / kBits),
        words_(static_cast<std::size_t>(rows() * row_words_)) {}

  const Extents& extents() const { return extents_; }
  /// Of all planes.
  std::int64_t rows() const { return extents_[0] * extents_[1]; }
  std::int64_t row_words() const { return row_words_; }
  Word* row(std::int64_t row) { return words_.data() + row * row_words_; }
  const Word* row(std::int64_t row) const {
    return words_.data() + row * row_words_;
  }
  bool test(std::int64_t plane, std::int64_t y, std::int64_t x) const {
    return row(plane * extents_[1] + y)[x / kBits] >> (x % kBits) & 1;
  }
  bool any() const;
  std::int64_t count() const;

 private:
  Extents extents_{};
  std::int64_t row_words_ = 0;
  std::vector<Word> words_;
};

/// Calls visit(place) for the bits of a row that are set, in order.
template <class Visit>
void for_each_bit(const BitGrid::Word* row, std::int64_t words,
                  const Visit& visit) {
  for (std::int64_t i = 0; i < words; ++i) {
    for (BitGrid::Word left = row[i]; left != 0; left &= left - 1) {
      visit(i * BitGrid::kBits + __builtin_ctzll(left));
    }
  }
}

/// What the surface of a mask is.
enum class SurfaceKind {
  /// Places of the mask with a neighbor (of 6, in an image of 4) outside.
  kVoxel,
  /// Corners between places (one more along each axis) of which some touch the
  /// mask and some do not.
  kElement,
  /// Places that differ from the next one along any axis or diagonal; those
  /// behind the grid's edge are like the last ones.
  kEdge,
};

/// The surface of a mask in a grid of 2 or 3 dimensions. Whatever is outside of
/// the grid is not in the mask.
BitGrid surface_of(const BitGrid& mask, SurfaceKind kind, int dims);

}  // namespace tally::internal::segmentation
