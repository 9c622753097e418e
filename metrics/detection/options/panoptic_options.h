#pragma once

#include <torch/arg.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tally/metrics/options.h"

namespace tally {

/// Options of PanopticQuality and ModifiedPanopticQuality, which share one
/// state in a collection if they agree in the first three.
///
/// Example:
///     PanopticQuality quality(
///         PanopticQualityOptions(/*things=*/{0, 1}, /*stuffs=*/{6, 7})
///             .return_sq_and_rq(true));
struct PanopticQualityOptions {
  PanopticQualityOptions(std::vector<int64_t> things,
                         std::vector<int64_t> stuffs)
      : things_(std::move(things)), stuffs_(std::move(stuffs)) {}
  explicit PanopticQualityOptions(internal::Unset) {}

  /// The categories of countable objects: different integers.
  TORCH_ARG(std::vector<int64_t>, things) = {};
  /// The categories of regions, whose instance ids are ignored: different
  /// integers, and none of things.
  TORCH_ARG(std::vector<int64_t>, stuffs) = {};
  /// Whether preds may have other categories, whose pixels then belong to no
  /// segment; if not, these are an error.
  TORCH_ARG(bool, allow_unknown_preds_category) = false;
  /// Whether to return the segmentation quality and the recognition quality as
  /// well.
  TORCH_ARG(bool, return_sq_and_rq) = false;
  /// Whether to return the values of each category instead of their mean.
  TORCH_ARG(bool, return_per_class) = false;

 public:
  void visit(OptionVisitor& v) {
    v("things", things_, "Categories of countable objects.");
    v("stuffs", stuffs_, "Categories of regions without countable instances.");
    v("allow_unknown_preds_category", allow_unknown_preds_category_,
      "Whether preds may have other categories, which form no segments.");
    v("return_sq_and_rq", return_sq_and_rq_, OptionRole::kValue,
      "Whether to return the factors sq and rq as well.");
    v("return_per_class", return_per_class_, OptionRole::kValue,
      "Whether to return the value of each category.");
  }
  void validate(const char* metric) const;

  /// Things, then stuffs, each ascending: the order of results.
  std::vector<std::int64_t> categories() const;
};

}  // namespace tally
