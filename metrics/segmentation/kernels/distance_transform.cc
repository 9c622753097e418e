#include "tally/metrics/segmentation/kernels/distance_transform.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace tally::internal::segmentation {
namespace {

// So many lines across rows at a time: a cache line's floats.
constexpr std::int64_t kLines = 16;
// So many places are worth another thread.
constexpr std::int64_t kPlaceGrain = 32768;
constexpr double kFar = std::numeric_limits<double>::infinity();

// Along one axis, of `size` places.
struct Axis {
  Axis(GridDistance kind, std::int64_t size, double spacing)
      : distance(kind),
        step(spacing),
        square(spacing * spacing),
        alone(static_cast<std::size_t>(size)),
        slope(static_cast<std::size_t>(size)) {
    for (std::int64_t i = 0; i < size; ++i) {
      const auto places = static_cast<double>(i);
      alone[i] = static_cast<float>(kind == GridDistance::kEuclidean
                                        ? square * places * places
                                        : step * places);
      if (i > 0) slope[i] = 0.5 / (square * places);
    }
  }

  GridDistance distance;
  double step;
  double square;
  std::vector<float> alone;   // what i places cost, if no other axis does
  std::vector<double> slope;  // by which parabolas i places apart meet
};

// Of a row with seeds, along itself.
void fill_row(const BitGrid::Word* seeds, std::int64_t words, const Axis& axis,
              std::int64_t size, float* out) {
  const float* const cost = axis.alone.data();
  std::int64_t last = -1;
  for_each_bit(seeds, words, [&](std::int64_t seed) {
    std::int64_t x = last < 0 ? 0 : last;
    if (last >= 0) {
      for (const std::int64_t middle = (last + seed) / 2; x <= middle; ++x) {
        out[x] = cost[x - last];
      }
    }
    for (; x <= seed; ++x) out[x] = cost[seed - x];
    last = seed;
  });
  for (std::int64_t x = last; x < size; ++x) out[x] = cost[x - last];
}

// One line across rows at a time. `from` holds a number for each of `places`,
// in order, `to` gets one for each of `size`; both are kLines apart.
class Line {
 public:
  explicit Line(std::int64_t size)
      : size_(size), place_(size), begin_(size), height_(size), value_(size) {}

  void run(const Axis& axis, const std::vector<std::int64_t>& places,
           const float* from, float* to) {
    switch (axis.distance) {
      case GridDistance::kEuclidean:
        return envelope(axis, places, from, to);
      case GridDistance::kChessboard:
        return chessboard(axis, places, from, to);
      case GridDistance::kTaxicab:
        return taxicab(axis, places, from, to);
    }
  }

 private:
  // The lower envelope of parabolas: parabola k is the lowest one behind
  // begin_[k].
  void envelope(const Axis& axis, const std::vector<std::int64_t>& places,
                const float* from, float* to) {
    const auto last = static_cast<double>(size_ - 1);
    std::int64_t top = -1;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t q = places[i];
      const auto x = static_cast<double>(q);
      const auto value = static_cast<double>(from[i * kLines]);
      const double height = value + axis.square * x * x;
      double meet = 0;
      while (top >= 0) {
        meet = (height - height_[top]) * axis.slope[q - place_[top]];
        if (meet > begin_[top]) break;
        --top;
      }
      if (top < 0) {
        meet = 0;
      } else if (meet >= last) {
        continue;  // the lowest nowhere
      }
      ++top;
      place_[top] = q;
      begin_[top] = meet;
      height_[top] = height;
      value_[top] = value;
    }
    std::int64_t x = 0;
    for (std::int64_t k = 0; k <= top; ++k) {
      const std::int64_t end =
          k < top ? static_cast<std::int64_t>(begin_[k + 1]) : size_ - 1;
      double gap = static_cast<double>(x - place_[k]);
      for (; x <= end; ++x, gap += 1) {
        to[x * kLines] =
            static_cast<float>(value_[k] + axis.square * gap * gap);
      }
    }
  }

  void taxicab(const Axis& axis, const std::vector<std::int64_t>& places,
               const float* from, float* to) {
    spread(places, from);
    for (std::int64_t x = 1; x < size_; ++x) {
      value_[x] = std::min(value_[x], value_[x - 1] + axis.step);
    }
    for (std::int64_t x = size_ - 1; x-- > 0;) {
      value_[x] = std::min(value_[x], value_[x + 1] + axis.step);
    }
    for (std::int64_t x = 0; x < size_; ++x) {
      to[x * kLines] = static_cast<float>(value_[x]);
    }
  }

  void chessboard(const Axis& axis, const std::vector<std::int64_t>& places,
                  const float* from, float* to) {
    spread(places, from);
    for (std::int64_t x = 0; x < size_; ++x) {
      double best = value_[x];
      for (std::int64_t gap = 1; gap < size_; ++gap) {
        const double cost = axis.step * static_cast<double>(gap);
        if (cost >= best) break;
        if (x >= gap) best = std::min(best, std::max(cost, value_[x - gap]));
        if (x + gap < size_) {
          best = std::min(best, std::max(cost, value_[x + gap]));
        }
      }
      to[x * kLines] = static_cast<float>(best);
    }
  }

  // value_ of all places.
  void spread(const std::vector<std::int64_t>& places, const float* from) {
    std::fill(value_.begin(), value_.end(), kFar);
    for (std::size_t i = 0; i < places.size(); ++i) {
      value_[places[i]] = static_cast<double>(from[i * kLines]);
    }
  }

  std::int64_t size_;
  std::vector<std::int64_t> place_;
  std::vector<double> begin_;
  std::vector<double> height_;
  std::vector<double> value_;
};

// Lines along an axis whose places are `stride` numbers apart.
class Lines {
 public:
  Lines(const Axis& axis, std::int64_t size, std::int64_t stride)
      : axis_(axis),
        size_(size),
        stride_(stride),
        line_(size),
        from_(static_cast<std::size_t>(size * kLines)),
        to_(static_cast<std::size_t>(size * kLines)) {}

  // `count` lines side by side, of those `which` has bits set.
  void run(const std::vector<std::int64_t>& places, float* first,
           std::int64_t count, std::uint64_t which) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::memcpy(from_.data() + i * kLines, first + places[i] * stride_,
                  bytes);
    }
    for (std::int64_t line = 0; line < count; ++line) {
      if ((which >> line & 1) == 0) continue;
      line_.run(axis_, places, from_.data() + line, to_.data() + line);
    }
    for (std::int64_t i = 0; i < size_; ++i) {
      std::memcpy(first + i * stride_, to_.data() + i * kLines, bytes);
    }
  }

 private:
  const Axis& axis_;
  std::int64_t size_;
  std::int64_t stride_;
  Line line_;
  std::vector<float> from_;
  std::vector<float> to_;
};

// Of all planes as one.
BitGrid projected(const BitGrid& grid) {
  const auto [planes, rows, places] = grid.extents();
  BitGrid all({1, rows, places});
  for (std::int64_t r = 0; r < grid.rows(); ++r) {
    BitGrid::Word* const to = all.row(r % rows);
    const BitGrid::Word* const from = grid.row(r);
    for (std::int64_t i = 0; i < grid.row_words(); ++i) to[i] |= from[i];
  }
  return all;
}

class Transform {
 public:
  Transform(const BitGrid& seeds, const GridSpacing& spacing,
            GridDistance distance, float* out)
      : seeds_(seeds),
        planes_(seeds.extents()[0]),
        rows_(seeds.extents()[1]),
        size_(seeds.extents()[2]),
        blocks_((size_ + kLines - 1) / kLines),
        along_planes_(distance, planes_, spacing[0]),
        along_rows_(distance, rows_, spacing[1]),
        along_(distance, size_, spacing[2]),
        out_(out) {
    for (std::int64_t plane = 0; plane < planes_; ++plane) {
      std::vector<std::int64_t> set;
      for (std::int64_t y = 0; y < rows_; ++y) {
        const BitGrid::Word* const row = seeds.row(plane * rows_ + y);
        const bool is_set =
            std::any_of(row, row + seeds.row_words(),
                        [](BitGrid::Word word) { return word != 0; });
        if (is_set) set.push_back(y);
      }
      if (set.empty()) continue;
      set_planes_.push_back(plane);
      set_rows_.push_back(std::move(set));
    }
  }

  void within_rows() const {
    const auto count = static_cast<std::int64_t>(set_planes_.size());
    at::parallel_for(0, count, grain(rows_ * size_),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         for (const std::int64_t y : set_rows_[i]) {
                           const std::int64_t r = set_planes_[i] * rows_ + y;
                           fill_row(seeds_.row(r), seeds_.row_words(), along_,
                                    size_, out_ + r * size_);
                         }
                       }
                     });
  }

  void across_rows() const {
    const auto count = static_cast<std::int64_t>(set_planes_.size()) * blocks_;
    at::parallel_for(0, count, grain(rows_ * kLines),
                     [&](std::int64_t begin, std::int64_t end) {
                       Lines lines(along_rows_, rows_, size_);
                       for (std::int64_t i = begin; i < end; ++i) {
                         float* const plane =
                             out_ + set_planes_[i / blocks_] * rows_ * size_;
                         const std::int64_t x = i % blocks_ * kLines;
                         lines.run(set_rows_[i / blocks_], plane + x,
                                   std::min(kLines, size_ - x), kAll);
                       }
                     });
  }

  void across_planes(const BitGrid* wanted) const {
    if (planes_ == 1) return;
    const BitGrid columns = wanted ? projected(*wanted) : BitGrid();
    at::parallel_for(0, rows_ * blocks_, grain(planes_ * kLines),
                     [&](std::int64_t begin, std::int64_t end) {
                       Lines lines(along_planes_, planes_, rows_ * size_);
                       for (std::int64_t i = begin; i < end; ++i) {
                         const std::int64_t y = i / blocks_,
                                            x = i % blocks_ * kLines;
                         const std::uint64_t which =
                             wanted ? columns.row(y)[x / BitGrid::kBits] >>
                                              (x % BitGrid::kBits) &
                                          kAll
                                    : kAll;
                         if (which == 0) continue;
                         lines.run(set_planes_, out_ + y * size_ + x,
                                   std::min(kLines, size_ - x), which);
                       }
                     });
  }

 private:
  static constexpr std::uint64_t kAll = (std::uint64_t{1} << kLines) - 1;
  static std::int64_t grain(std::int64_t places) {
    return 1 + kPlaceGrain / places;
  }

  const BitGrid& seeds_;
  std::int64_t planes_;
  std::int64_t rows_;
  std::int64_t size_;
  std::int64_t blocks_;
  Axis along_planes_;
  Axis along_rows_;
  Axis along_;
  float* out_;
  // Those with seeds.
  std::vector<std::int64_t> set_planes_;
  std::vector<std::vector<std::int64_t>> set_rows_;
};

}  // namespace

void distance_transform(const BitGrid& seeds, const GridSpacing& spacing,
                        GridDistance distance, const BitGrid* wanted,
                        float* out) {
  const Transform transform(seeds, spacing, distance, out);
  transform.within_rows();
  transform.across_rows();
  transform.across_planes(wanted);
}

}  // namespace tally::internal::segmentation
