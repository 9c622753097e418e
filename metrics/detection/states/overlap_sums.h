#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/detection/inputs/image_objects.h"
#include "tally/metrics/detection/options/box_overlap_options.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"
#include "tally/state/fields.h"

namespace tally {

/// Overlaps of boxes, added up by class. Merging adds the sums of a class.
struct OverlapSumsState {
  at::Tensor labels;  ///< int64 [K]: of the annotations, ascending
  at::Tensor sums;    ///< float64 [K]: of the overlaps of their pairs
  at::Tensor counts;  ///< int64 [K]: of these pairs

  void fields(Fields& f) {
    f("labels", labels)("sums", sums)("counts", counts);
  }
  static OverlapSumsState merge(const OverlapSumsState& a,
                                const OverlapSumsState& b);
};

namespace internal::detection {

inline constexpr InputInfo kOverlapInputs[] = {
    {"preds", InputKind::kRagged, "boxes and labels of N images"},
    {"target", InputKind::kRagged, "boxes and labels of N images"}};

OverlapSumsState observe_overlaps(const ImageObjectsList& preds,
                                  const ImageObjectsList& target,
                                  BoxOverlap overlap,
                                  const BoxOverlapOptions& options,
                                  bool validate);
/// The mean over all pairs, by the overlap's name, and with class_metrics those
/// of the classes.
Results overlap_results(const OverlapSumsState& state, BoxOverlap overlap,
                        const BoxOverlapOptions& options);

}  // namespace internal::detection

/// The observer of metrics that average overlaps.
template <BoxOverlap kOverlap>
class OverlapSums {
 public:
  static constexpr const char* kName =
      EnumNames<BoxOverlap>::kNames[static_cast<int>(kOverlap)];
  static constexpr const auto& kInputs = internal::detection::kOverlapInputs;
  static constexpr const char* kUnit = "image";
  using Options = BoxOverlapOptions;
  using State = OverlapSumsState;

  OverlapSums(Options options, const MetricOptions& metric_options)
      : options_(std::move(options)),
        validate_(metric_options.validate_args()) {}

  State observe(const ImageObjectsList& preds,
                const ImageObjectsList& target) const {
    return internal::detection::observe_overlaps(preds, target, kOverlap,
                                                 options_, validate_);
  }

 private:
  Options options_;
  bool validate_;
};

}  // namespace tally
