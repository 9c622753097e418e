#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/segmentation/kernels/bit_grid.h"
#include "tally/metrics/segmentation/options/segmentation_options.h"

/// What segmentation metrics do with their inputs.
namespace tally::internal::segmentation {

inline constexpr InputInfo kMaskInputs[] = {
    {"preds", InputKind::kReal,
     "int labels [N, ...], or 0 and 1 or float scores [N, C, ...], C > 1"},
    {"target", InputKind::kReal,
     "int labels [N, ...], or 0 and 1 [N, C, ...]"}};

/// How inputs are to be read.
struct MaskFormat {
  SegmentationFormat format;
  /// 0: as many as the inputs have.
  std::int64_t num_classes;
  bool include_background;
  NanPolicy nan_policy;
};

/// A part of a sample, [begin, end) along each axis.
struct Box {
  std::array<std::int64_t, 3> begin;
  std::array<std::int64_t, 3> end;

  bool is_empty() const { return begin[2] >= end[2]; }
  Extents extents() const {
    return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]};
  }
};

/// Checked inputs: preds and target in one form, on the CPU and dense.
class ClassMasks {
 public:
  /// c10::TypeError or c10::ValueError unless both are of that format, of one
  /// shape, on one device and of numbers that mean something in it; c10::
  /// IndexError for a label that is no class; c10::ValueError for
  /// floating-point preds of one class, and a floating-point target. Of scores
  /// the largest counts (the first of equal ones). Samples with NaN among their
  /// scores are skipped, or are an error if the policy is kError.
  ClassMasks(const at::Tensor& preds, const at::Tensor& target,
             const MaskFormat& format);

  std::int64_t samples() const { return preds_.size(0); }
  /// Samples that were skipped.
  std::int64_t nan_samples() const { return nan_samples_; }
  /// That count: without class 0 if that is the background.
  std::int64_t classes() const { return num_classes_ - first_class_; }
  /// Of a sample, without those of the format.
  at::IntArrayRef sizes() const;

  /// For each class of a sample: in how many places both say it, preds do,
  /// target does; [3, classes()].
  void count(std::int64_t sample, std::int64_t* counts) const;

  /// For each class of a sample, what preds and target take up together.
  /// REQUIRES: sizes() has 2 or 3 dimensions.
  std::vector<Box> boxes(std::int64_t sample) const;
  /// The extents of a sample.
  Extents extents() const;
  BitGrid preds_mask(std::int64_t sample, std::int64_t which_class,
                     const Box& box) const {
    return mask(preds_, sample, which_class, box);
  }
  BitGrid target_mask(std::int64_t sample, std::int64_t which_class,
                      const Box& box) const {
    return mask(target_, sample, which_class, box);
  }

 private:
  // The places of a sample where `value` stands for the class.
  struct Source {
    const void* data;
    bool is_wide;  // int32, else bytes
    std::int32_t value;
  };
  Source source(const at::Tensor& input, std::int64_t sample,
                std::int64_t which_class) const;
  BitGrid mask(const at::Tensor& input, std::int64_t sample,
               std::int64_t which_class, const Box& box) const;
  void leave_out(const at::Tensor& nan);

  // Either both [N, ...] of uint8 or int32 labels, or both [N, C, ...] of 0 and
  // 1 as uint8 or bool.
  at::Tensor preds_;
  at::Tensor target_;
  bool is_one_hot_ = false;
  std::int64_t num_classes_ = 0;
  std::int64_t first_class_ = 0;
  std::int64_t nan_samples_ = 0;
};

}  // namespace tally::internal::segmentation
