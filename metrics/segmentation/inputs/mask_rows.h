#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/segmentation/inputs/class_masks.h"
#include "tally/metrics/segmentation/kernels/bit_grid.h"

/// Loops over labels and masks, which are uint8 (masks: 0 or 1) or int32.
namespace tally::internal::segmentation {

/// Calls `visit` with a pointer to the labels.
template <class Visit>
void visit_labels(const void* labels, bool is_wide, const Visit& visit) {
  if (is_wide) {
    visit(static_cast<const std::int32_t*>(labels));
  } else {
    visit(static_cast<const std::uint8_t*>(labels));
  }
}

/// Sets the bits of a row where labels are `value`.
void pack_row(const std::uint8_t* labels, std::int64_t size, std::int32_t value,
              BitGrid::Word* row);
void pack_row(const std::int32_t* labels, std::int64_t size, std::int32_t value,
              BitGrid::Word* row);

/// Adds to counts[0], counts[stride] and counts[2 * stride] where both masks
/// are 1, the first is, the second is.
void count_masks(const std::uint8_t* preds, const std::uint8_t* target,
                 std::int64_t size, std::int64_t* counts, std::int64_t stride);

/// How often labels agree, and how often each of both inputs has each.
class LabelCounts {
 public:
  explicit LabelCounts(std::int64_t num_classes);
  template <class P, class T>
  void add(const P* preds, const T* target, std::int64_t size);
  /// [3, num_classes - first]: those from class `first` on.
  void write(std::int64_t first, std::int64_t* counts) const;

 private:
  std::int64_t num_classes_;
  // Twice, for places in turn: one does not wait for the other.
  std::vector<std::int64_t> both_, preds_, target_;
};

/// Makes boxes[label] larger, so that it holds all places of each label.
void extend_boxes(const std::uint8_t* labels, const Extents& extents,
                  std::vector<Box>& boxes);
void extend_boxes(const std::int32_t* labels, const Extents& extents,
                  std::vector<Box>& boxes);
/// Makes a box larger, so that it holds all places of a mask.
void extend_box(const std::uint8_t* mask, const Extents& extents, Box& box);
void extend_box(const std::int32_t* mask, const Extents& extents, Box& box);

template <class P, class T>
void LabelCounts::add(const P* preds, const T* target, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t turn = (i & 1) * num_classes_;
    ++preds_[turn + preds[i]];
    ++target_[turn + target[i]];
    both_[turn + preds[i]] += preds[i] == target[i];
  }
}

}  // namespace tally::internal::segmentation
