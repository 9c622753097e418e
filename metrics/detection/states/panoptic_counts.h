#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/detection/kernels/segment_matcher.h"
#include "tally/metrics/detection/options/panoptic_options.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"
#include "tally/state/fields.h"

namespace tally {

/// The state of PanopticQuality and ModifiedPanopticQuality, merged by
/// addition. Classes are things and then stuffs.
struct PanopticState {
  at::Tensor sums;    ///< float64 [2, C]: IoU of matches, and of all pairs
  at::Tensor counts;  ///< int64 [4, C]: TP, FP, FN, and annotated segments

  void fields(Fields& f) { f("sums", sums)("counts", counts); }
};

/// Matches the segments of each image: the observer of PanopticQuality and
/// ModifiedPanopticQuality.
class PanopticCounts {
 public:
  static constexpr const char* kName = "PanopticCounts";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kSegments,
       "int [N, P, ..., 2]: category and instance"},
      {"target", InputKind::kSegments,
       "int [N, P, ..., 2]: category and instance"},
      {"crowd", InputKind::kInteger, "0 or 1 [N, P, ...]: crowds of target",
       /*is_optional=*/true}};
  static constexpr const char* kUnit = "image";
  static bool keeps_on_cpu() { return true; }
  using Options = PanopticQualityOptions;
  using State = PanopticState;

  explicit PanopticCounts(const Options& options)
      : categories_(options.categories(), options.things().size()),
        allow_unknown_(options.allow_unknown_preds_category()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& crowd = {}) const;

 private:
  internal::detection::Categories categories_;
  bool allow_unknown_;
};

namespace internal::detection {

/// IoU sums [C] and TP, FP and FN, int64 [C].
struct PanopticRates {
  at::Tensor iou, tp, fp, fn;
};

/// Panoptic, segmentation and recognition quality: `pq`, and as options ask,
/// `sq`, `rq` and `classes`.
Results panoptic_results(const PanopticRates& rates,
                         const PanopticQualityOptions& options);

}  // namespace internal::detection
}  // namespace tally
