#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/multiclass_inputs.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// What the counts of a confusion matrix are divided by.
enum class Normalize {
  kNone,  ///< nothing
  kTrue,  ///< the sum of their row: shares of the targets of a class
  kPred,  ///< the sum of their column: shares of the predictions of a class
  kAll,   ///< the sum of all
};

template <>
struct EnumNames<Normalize> {
  static constexpr const char* kNames[] = {"none", "true", "pred", "all"};
};

/// Options of MulticlassConfusionMatrix.
struct MulticlassConfusionMatrixOptions {
  /// The number of classes, from 2 to 46340.
  MulticlassConfusionMatrixOptions(std::int64_t num_classes = 0)
      : num_classes_(num_classes) {}

  /// Labels are 0 to num_classes - 1.
  TORCH_ARG(std::int64_t, num_classes);
  /// Default: kNone.
  TORCH_ARG(Normalize, normalize) = Normalize::kNone;
  /// Positions with this target do not count. It need not be a class.
  /// Default: none.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_);
    v("normalize", normalize_, OptionRole::kValue);
    v("ignore_index", ignore_index_);
  }
  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const;
};

/// Counts every pair of target and predicted class. A batch that is small
/// beside the matrix is kept as its pairs until these take half the memory
/// of the matrix, so that an update does not cost a matrix.
struct MulticlassPairs {
  static constexpr const char* kName = "MulticlassPairs";
  using Options = MulticlassConfusionMatrixOptions;

  struct State {
    at::Tensor counts;  // int64 [num_classes, num_classes]
    Rows pairs;         // int32, target * num_classes + predicted
    Number nans;        // positions with a NaN among their scores
    std::int64_t num_classes = 0;

    void fields(Fields& f) {
      f("counts", counts)("pairs", pairs)("nans", nans);
      f("num_classes", num_classes, Merge::kMax);
    }
    void compact();
    /// counts with the pairs added, undefined if there are neither. It may be
    /// counts itself, and is with `in_place`.
    at::Tensor matrix(bool in_place = false) const;
  };

  MulticlassPairs(const Options& options, const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  internal::MulticlassRules rules_;
};

namespace internal {

/// The state of a batch, and pairs added to counts in place: by one loop over
/// memory (REQUIRES: on the CPU), and by tensor operations on any device.
MulticlassPairs::State pairs_of(const MulticlassBatch& batch);
MulticlassPairs::State pairs_by_tensors(const MulticlassBatch& batch);
void add_pairs(const at::Tensor& counts, const at::Tensor& pairs);
void add_pairs_by_tensors(const at::Tensor& counts, const at::Tensor& pairs);

}  // namespace internal

/// How often each class was predicted as each.
///
///     matrix[i][j] = positions with target i that were predicted to be j
///
/// update(preds, target): target are labels [N, ...] of an integer dtype (bool
/// for 2 classes); preds too, or scores [N, C, ...] of a floating-point dtype.
/// Of equal scores that of the lower class is the larger.
///
/// Result: [C, C], int64 counts or, normalised, float64 in [0, 1]; a row or
/// column without entries is 0. State: that of MulticlassPairs, added up.
/// Nothing counted gives 0. NaN among the scores of a position: all of the
/// result is NaN, and float64, or kIgnore takes the position out. Ignored ones
/// may hold any.
///
/// Throws c10::IndexError for labels that are no classes (on a GPU only under
/// validate_args; else they do not count), c10::TypeError and c10::ValueError
/// for other inputs. Not differentiable. As sklearn.metrics.confusion_matrix.
///
/// Example:
///     MulticlassConfusionMatrix matrix(
///         MulticlassConfusionMatrixOptions(3).normalize(Normalize::kTrue));
///     matrix.update(preds, target);
///     std::cout << matrix.compute();
class MulticlassConfusionMatrix final
    : public MetricOf<MulticlassConfusionMatrix, MulticlassPairs, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassConfusionMatrix";

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally
