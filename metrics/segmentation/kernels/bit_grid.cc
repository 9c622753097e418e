#include "tally/metrics/segmentation/kernels/bit_grid.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace tally::internal::segmentation {
namespace {

using Word = BitGrid::Word;

// So many words are worth another thread.
constexpr std::int64_t kWordGrain = 4096;

std::int64_t grain_of(const BitGrid& grid) {
  return 1 + kWordGrain / std::max<std::int64_t>(grid.row_words(), 1);
}

// Rows around a place. Null: outside, where nothing is set.
struct Rows {
  const Word* row[4];
  int count;
};

Word any_of(const Rows& rows, std::int64_t i) {
  Word any = 0;
  for (int r = 0; r < rows.count; ++r) {
    if (rows.row[r] != nullptr) any |= rows.row[r][i];
  }
  return any;
}
Word all_of(const Rows& rows, std::int64_t i) {
  Word all = ~Word{0};
  for (int r = 0; r < rows.count; ++r) {
    all &= rows.row[r] == nullptr ? Word{0} : rows.row[r][i];
  }
  return all;
}

class SurfaceMaker {
 public:
  SurfaceMaker(const BitGrid& mask, int dims)
      : mask_(mask),
        extents_(mask.extents()),
        words_(mask.row_words()),
        is_volume_(dims == 3) {}

  void voxels(std::int64_t plane, std::int64_t y, Word* out) const {
    const Word* const here = row(plane, y);
    const Rows around{{row(plane, y - 1), row(plane, y + 1),
                       is_volume_ ? row(plane - 1, y) : here,
                       is_volume_ ? row(plane + 1, y) : here},
                      4};
    for (std::int64_t i = 0; i < words_; ++i) {
      const Word before = here[i] << 1 | (i > 0 ? here[i - 1] >> 63 : 0);
      const Word behind =
          here[i] >> 1 | (i + 1 < words_ ? here[i + 1] << 63 : 0);
      out[i] = here[i] & ~(before & behind & all_of(around, i));
    }
  }

  // A corner lies before the place of its number.
  void corners(std::int64_t plane, std::int64_t y, Word* out,
               std::int64_t out_words) const {
    const Rows around = is_volume_
                            ? Rows{{row(plane - 1, y - 1), row(plane - 1, y),
                                    row(plane, y - 1), row(plane, y)},
                                   4}
                            : Rows{{row(plane, y - 1), row(plane, y)}, 2};
    Word any_before = 0, all_before = 0;
    for (std::int64_t i = 0; i < out_words; ++i) {
      const Word any = i < words_ ? any_of(around, i) : 0;
      const Word all = i < words_ ? all_of(around, i) : 0;
      out[i] = (any | any << 1 | any_before >> 63) &
               ~(all & (all << 1 | all_before >> 63));
      any_before = any;
      all_before = all;
    }
  }

  void edges(std::int64_t plane, std::int64_t y, Word* out) const {
    const std::int64_t below = std::min(y + 1, extents_[1] - 1);
    const std::int64_t next = std::min(plane + 1, extents_[0] - 1);
    const Rows around{
        {row(plane, y), row(plane, below), row(next, y), row(next, below)}, 4};
    const std::int64_t last = extents_[2] - 1;
    for (std::int64_t i = 0; i < words_; ++i) {
      const bool is_last = i + 1 == words_;
      const Word any = any_of(around, i);
      const Word all = all_of(around, i);
      const Word next_any = is_last ? 0 : any_of(around, i + 1);
      const Word next_all = is_last ? 0 : all_of(around, i + 1);
      out[i] = (any | shifted(any, i, last, next_any)) &
               ~(all & shifted(all, i, last, next_all));
    }
  }

 private:
  const Word* row(std::int64_t plane, std::int64_t y) const {
    const bool inside =
        plane >= 0 && plane < extents_[0] && y >= 0 && y < extents_[1];
    return inside ? mask_.row(plane * extents_[1] + y) : nullptr;
  }
  // Each place has the bit of the next one; the last its own.
  static Word shifted(Word word, std::int64_t i, std::int64_t last, Word next) {
    Word moved = word >> 1 | next << 63;
    if (i == last / BitGrid::kBits) {
      const Word bit = Word{1} << (last % BitGrid::kBits);
      moved = (moved & ~bit) | (word & bit);
    }
    return moved;
  }

  const BitGrid& mask_;
  const Extents& extents_;
  std::int64_t words_;
  bool is_volume_;
};

}  // namespace

bool BitGrid::any() const {
  return std::any_of(words_.begin(), words_.end(),
                     [](Word word) { return word != 0; });
}

std::int64_t BitGrid::count() const {
  std::int64_t count = 0;
  for (const Word word : words_) count += __builtin_popcountll(word);
  return count;
}

BitGrid surface_of(const BitGrid& mask, SurfaceKind kind, int dims) {
  Extents extents = mask.extents();
  if (kind == SurfaceKind::kElement) {
    for (int axis = 3 - dims; axis < 3; ++axis) ++extents[axis];
  }
  BitGrid surface(extents);
  const SurfaceMaker maker(mask, dims);
  at::parallel_for(0, surface.rows(), grain_of(surface),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t r = begin; r < end; ++r) {
                       const std::int64_t plane = r / extents[1],
                                          y = r % extents[1];
                       Word* const out = surface.row(r);
                       switch (kind) {
                         case SurfaceKind::kVoxel:
                           maker.voxels(plane, y, out);
                           break;
                         case SurfaceKind::kElement:
                           maker.corners(plane, y, out, surface.row_words());
                           break;
                         case SurfaceKind::kEdge:
                           maker.edges(plane, y, out);
                           break;
                       }
                     }
                   });
  return surface;
}

}  // namespace tally::internal::segmentation
