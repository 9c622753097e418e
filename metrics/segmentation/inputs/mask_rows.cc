#include "tally/metrics/segmentation/inputs/mask_rows.h"

#include <algorithm>
#include <cstring>

namespace tally::internal::segmentation {
namespace {

using Word = BitGrid::Word;

constexpr Word kOnes = 0x0101010101010101;
constexpr Word kLow = 0x7f7f7f7f7f7f7f7f;
// A sum of bytes of 0 and 1 does not overflow for so many words.
constexpr std::int64_t kWordsAtOnce = 255;

Word load(const std::uint8_t* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

Word sum_of_bytes(Word word) {
  constexpr Word kEven = 0x00ff00ff00ff00ff;
  const Word pairs = (word & kEven) + (word >> 8 & kEven);
  return (pairs * 0x0001000100010001) >> 48;
}

struct MaskCounts {
  std::int64_t both = 0, preds = 0, target = 0;
};

void extend(Box& box, std::int64_t plane, std::int64_t y, std::int64_t begin,
            std::int64_t end) {
  box.begin = {std::min(box.begin[0], plane), std::min(box.begin[1], y),
               std::min(box.begin[2], begin)};
  box.end = {std::max(box.end[0], plane + 1), std::max(box.end[1], y + 1),
             std::max(box.end[2], end)};
}

// Where the run of equal bytes ends that begins at `x`.
std::int64_t end_of_run(const std::uint8_t* row, std::int64_t x,
                        std::int64_t size) {
  const std::uint8_t value = row[x];
  const Word all = kOnes * value;
  ++x;
  while (x + 8 <= size) {
    const Word different = load(row + x) ^ all;
    if (different != 0) return x + __builtin_ctzll(different) / 8;
    x += 8;
  }
  while (x < size && row[x] == value) ++x;
  return x;
}
std::int64_t end_of_run(const std::int32_t* row, std::int64_t x,
                        std::int64_t size) {
  const std::int32_t value = row[x];
  while (x < size && row[x] == value) ++x;
  return x;
}

// Calls visit(label, plane, y, begin, end) for each run of a row.
template <class T, class Visit>
void for_each_run(const T* labels, const Extents& extents, const Visit& visit) {
  const std::int64_t size = extents[2];
  for (std::int64_t r = 0; r < extents[0] * extents[1]; ++r) {
    const T* const row = labels + r * size;
    for (std::int64_t x = 0; x < size;) {
      const std::int64_t end = end_of_run(row, x, size);
      visit(row[x], r / extents[1], r % extents[1], x, end);
      x = end;
    }
  }
}

template <class T>
void extend_boxes_of(const T* labels, const Extents& extents,
                     std::vector<Box>& boxes) {
  for_each_run(
      labels, extents,
      [&](T label, std::int64_t plane, std::int64_t y, std::int64_t begin,
          std::int64_t end) { extend(boxes[label], plane, y, begin, end); });
}

template <class T>
void extend_box_of(const T* mask, const Extents& extents, Box& box) {
  for_each_run(mask, extents,
               [&](T value, std::int64_t plane, std::int64_t y,
                   std::int64_t begin, std::int64_t end) {
                 if (value != 0) extend(box, plane, y, begin, end);
               });
}

}  // namespace

void pack_row(const std::uint8_t* labels, std::int64_t size, std::int32_t value,
              BitGrid::Word* row) {
  const Word wanted = kOnes * static_cast<std::uint8_t>(value);
  std::int64_t x = 0;
  for (; x + 8 <= size; x += 8) {
    const Word other = load(labels + x) ^ wanted;
    // The highest bit of each byte that is 0.
    const Word equal = ~(((other & kLow) + kLow) | other | kLow);
    const Word bits = (equal >> 7) * 0x0102040810204080 >> 56;
    row[x / BitGrid::kBits] |= bits << (x % BitGrid::kBits);
  }
  for (; x < size; ++x) {
    row[x / BitGrid::kBits] |= Word{labels[x] == value} << (x % BitGrid::kBits);
  }
}

void pack_row(const std::int32_t* labels, std::int64_t size, std::int32_t value,
              BitGrid::Word* row) {
  for (std::int64_t x = 0; x < size; ++x) {
    row[x / BitGrid::kBits] |= Word{labels[x] == value} << (x % BitGrid::kBits);
  }
}

void count_masks(const std::uint8_t* preds, const std::uint8_t* target,
                 std::int64_t size, std::int64_t* counts, std::int64_t stride) {
  MaskCounts all;
  std::int64_t i = 0;
  while (i + 8 <= size) {
    Word both = 0, of_preds = 0, of_target = 0;
    const std::int64_t words = std::min((size - i) / 8, kWordsAtOnce);
    for (const std::int64_t end = i + 8 * words; i < end; i += 8) {
      const Word p = load(preds + i), t = load(target + i);
      both += p & t;
      of_preds += p;
      of_target += t;
    }
    all.both += static_cast<std::int64_t>(sum_of_bytes(both));
    all.preds += static_cast<std::int64_t>(sum_of_bytes(of_preds));
    all.target += static_cast<std::int64_t>(sum_of_bytes(of_target));
  }
  for (; i < size; ++i) {
    all.both += preds[i] & target[i];
    all.preds += preds[i];
    all.target += target[i];
  }
  counts[0] += all.both;
  counts[stride] += all.preds;
  counts[2 * stride] += all.target;
}

LabelCounts::LabelCounts(std::int64_t num_classes)
    : num_classes_(num_classes),
      both_(static_cast<std::size_t>(2 * num_classes)),
      preds_(both_.size()),
      target_(both_.size()) {}

void LabelCounts::write(std::int64_t first, std::int64_t* counts) const {
  for (const auto* const from : {&both_, &preds_, &target_}) {
    for (std::int64_t c = first; c < num_classes_; ++c) {
      *counts++ = (*from)[c] + (*from)[num_classes_ + c];
    }
  }
}

void extend_boxes(const std::uint8_t* labels, const Extents& extents,
                  std::vector<Box>& boxes) {
  extend_boxes_of(labels, extents, boxes);
}
void extend_boxes(const std::int32_t* labels, const Extents& extents,
                  std::vector<Box>& boxes) {
  extend_boxes_of(labels, extents, boxes);
}
void extend_box(const std::uint8_t* mask, const Extents& extents, Box& box) {
  extend_box_of(mask, extents, box);
}
void extend_box(const std::int32_t* mask, const Extents& extents, Box& box) {
  extend_box_of(mask, extents, box);
}

}  // namespace tally::internal::segmentation
