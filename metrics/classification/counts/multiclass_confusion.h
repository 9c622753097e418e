#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/counts/class_counts.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/inputs/multiclass_inputs.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/state/fields.h"

namespace tally {

namespace internal::classification {

/// The largest number of classes whose pairs can be indexed in int32.
constexpr std::int64_t kMostMatrixClasses = 46340;

/// Throws c10::ValueError for a number of classes that a matrix cannot have.
void check_matrix_classes(const char* metric, std::int64_t num_classes);

}  // namespace internal::classification

/// Options of all metrics over MulticlassConfusion.
template <class Self>
struct MulticlassConfusionOptions {
  /// The number of classes, from 2 to 46340.
  template <class Count, RequireCount<Count> = 0>
  MulticlassConfusionOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  explicit MulticlassConfusionOptions(internal::Unset) : num_classes_(0) {}

  /// Labels are 0 to num_classes - 1.
  TALLY_INHERITED_ARG(Self, std::int64_t, num_classes);
  /// Positions with this target are ignored. It need not be a class.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  /// Throws c10::ValueError for invalid values.
  void validate(const char* metric) const {
    internal::classification::check_matrix_classes(metric, num_classes_);
  }
};

/// Only the options that affect the state.
struct ConfusionStateOptions
    : MulticlassConfusionOptions<ConfusionStateOptions> {
  using MulticlassConfusionOptions::MulticlassConfusionOptions;
};

/// Counts every pair of target and predicted class. A batch that is small
/// compared to the matrix is kept as pairs until these take half the memory of
/// the matrix, so that an update does not cost a matrix.
struct MulticlassConfusion {
  static constexpr const char* kName = "MulticlassPairs";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassInputs;
  struct State {
    at::Tensor counts;  // int64 [num_classes, num_classes]
    at::Tensor sums;    // float64, of samples with weights
    Rows pairs;         // int32, target * num_classes + predicted
    Number nans;        // positions with a NaN among their scores
    std::int64_t num_classes = 0;

    void fields(Fields& f) {
      f("counts", counts)("sums", sums)("pairs", pairs)("nans", nans);
      f("num_classes", num_classes, Merge::kMax);
    }
    void compact();
    /// counts with the pairs added, undefined if there are neither. May be
    /// counts itself, and always is with `in_place`.
    at::Tensor matrix(bool in_place = false) const;
  };

  template <class AnyOptions>
  MulticlassConfusion(const AnyOptions& options,
                      const MetricOptions& metric_options)
      : rules_{options.num_classes(), /*top_k=*/1, options.ignore_index(),
               metric_options.nan_policy(), metric_options.validate_args()} {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  internal::classification::MulticlassRules rules_;
};

namespace internal::classification {

/// The state of a batch, and adding pairs to counts in place: in one loop over
/// memory (REQUIRES: on the CPU), or with tensor operations on any device.
MulticlassConfusion::State pairs_of(const MulticlassBatch& batch);
MulticlassConfusion::State pairs_by_tensors(const MulticlassBatch& batch);
void add_pairs(const at::Tensor& counts, const at::Tensor& pairs);
/// Throws c10::ValueError unless all are pairs of valid classes. REQUIRES: on
/// the CPU.
void check_pairs(const at::Tensor& pairs, std::int64_t classes);
void add_pairs_by_tensors(const at::Tensor& counts, const at::Tensor& pairs);

}  // namespace internal::classification

}  // namespace tally
