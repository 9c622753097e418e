#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "tally/metrics/classification/kernels/prediction_kernels.h"
#include "tally/metrics/metric_options.h"

/// Common parts of metrics over the predicted class: input checks, and the
/// conversion of scores to predicted classes.
namespace tally::internal::classification {

struct MulticlassRules {
  std::int64_t num_classes;
  std::int64_t top_k = 1;
  std::optional<std::int64_t> ignore_index = std::nullopt;
  NanPolicy nan_policy = NanPolicy::kPropagate;
  bool validate_args = true;
};

/// The distance between predicted and target class indices to sum, for ordered
/// classes.
enum class ClassDistance {
  kNone,
  kLinear,     ///< |predicted - target|
  kQuadratic,  ///< its square
};

/// Throws c10::ValueError unless there are at least 2 classes, and top_k of
/// them.
void check_num_classes(const char* metric, std::int64_t num_classes,
                       std::int64_t top_k = 1);

/// Represents the predicted class of scores with a NaN under kPropagate.
constexpr std::int64_t kNanClass = -1;

/// The inputs of one update(), validated except for their values: contiguous,
/// viewed as preds [samples, num_classes, positions] (scores) or [samples,
/// positions] (labels, int64) and target [samples, positions] (int64).
class MulticlassBatch {
 public:
  /// c10::TypeError or c10::ValueError for inputs that are not scores [N, C,
  /// ...] or labels [N, ...], with labels and weights (which may be undefined)
  /// [N, ...].
  MulticlassBatch(const MulticlassRules& rules, const at::Tensor& preds,
                  const at::Tensor& given_target,
                  const at::Tensor& weight = {});

  const MulticlassRules& rules() const { return rules_; }
  bool has_scores() const { return has_scores_; }
  const at::Tensor& preds() const { return preds_; }
  const at::Tensor& target() const { return target_; }
  /// float64, or undefined.
  const at::Tensor& weight() const { return weight_; }
  std::int64_t samples() const { return samples_; }
  std::int64_t positions() const { return positions_; }

  bool is_class(std::int64_t label) const {
    return static_cast<std::uint64_t>(label) <
           static_cast<std::uint64_t>(rules_.num_classes);
  }
  /// False if the target is ignored; c10::IndexError if it is no class.
  bool takes(std::int64_t target, std::int64_t index) const {
    if (target == rules_.ignore_index) return false;
    if (!is_class(target)) refuse_target(target, index);
    return true;
  }
  /// The weight of a counted position, and whether it is counted with that
  /// weight. REQUIRES: weights, on the CPU.
  bool takes_weight(std::int64_t index, double& weight) const {
    weight = weight_.const_data_ptr<double>()[index];
    return weight == weight || takes_nan_weight(index);
  }
  /// Whether a NaN is counted as such; c10::ValueError under kError.
  bool takes_nan(std::int64_t index) const;
  bool takes_nan_weight(std::int64_t index) const;

  [[noreturn]] void refuse_target(std::int64_t label, std::int64_t index) const;
  [[noreturn]] void refuse_preds(std::int64_t label, std::int64_t index) const;
  [[noreturn]] void refuse_nan_at(std::int64_t index) const;

 private:
  const MulticlassRules& rules_;
  at::Tensor preds_;
  at::Tensor target_;
  at::Tensor weight_;
  std::int64_t samples_ = 0;
  std::int64_t positions_ = 0;
  bool has_scores_ = false;
};

/// Whether the target's score is among the k largest; ties go to the lower
/// class. `stride` is the distance between two classes.
template <class T>
bool is_in_top_k(const T* scores, std::int64_t stride, std::int64_t classes,
                 std::int64_t target, std::int64_t k) {
  const T own = scores[target * stride];
  std::int64_t larger = 0;
  for (std::int64_t c = 0; c < target; ++c) {
    larger += scores[c * stride] >= own;
  }
  for (std::int64_t c = target + 1; c < classes; ++c) {
    larger += scores[c * stride] > own;
  }
  return larger < k;
}

/// for_each_prediction for scores of type T on the CPU.
template <class T, class Count>
void for_each_scored(const MulticlassBatch& batch, const Count& count) {
  using Score = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr std::int64_t kFew = 256;
  constexpr std::int64_t kMany = std::int64_t{1} << 16;
  const std::int64_t classes = batch.rules().num_classes;
  const std::int64_t top_k = batch.rules().top_k;
  const std::int64_t stride = batch.positions();
  const T* const all_scores = batch.preds().const_data_ptr<T>();
  const auto* const targets = batch.target().const_data_ptr<std::int64_t>();

  std::int64_t few[kFew];
  std::vector<std::int64_t> many;
  const auto room_for = [&](std::int64_t size) {
    if (size <= kFew) return static_cast<std::int64_t*>(few);
    many.resize(size);
    return many.data();
  };
  if constexpr (std::is_floating_point_v<T>) {
    if (stride == 1 && classes >= kLeastVectorClasses) {
      std::int64_t* const predicted = room_for(batch.samples());
      predict_rows(all_scores, targets, batch.samples(), classes, top_k,
                   predicted);
      for (std::int64_t i = 0; i < batch.samples(); ++i) {
        if (!batch.takes(targets[i], i)) continue;
        if (predicted[i] == kNanClass && !batch.takes_nan(i)) continue;
        count(i, i, predicted[i], targets[i]);
      }
      return;
    }
  }

  const auto take = [&](std::int64_t sample, std::int64_t position,
                        std::int64_t best) {
    const std::int64_t index = sample * stride + position;
    const std::int64_t target = targets[index];
    if (!batch.takes(target, index)) return;
    if (best == kNanClass && !batch.takes_nan(index)) return;
    const bool hit =
        top_k > 1 && best != target && best != kNanClass &&
        is_in_top_k(all_scores + sample * classes * stride + position, stride,
                    classes, target, top_k);
    count(index, sample, hit ? target : best, target);
  };
  if (stride == 1) {
    for (std::int64_t sample = 0; sample < batch.samples(); ++sample) {
      const T* const scores = all_scores + sample * classes;
      Score best = scores[0];
      std::int64_t best_class = 0;
      bool has_nan = best != best;
      for (std::int64_t c = 1; c < classes; ++c) {
        const Score score = scores[c];
        const bool better = score > best;
        has_nan |= score != score;
        best = better ? score : best;
        best_class = better ? c : best_class;
      }
      take(sample, 0, has_nan ? kNanClass : best_class);
    }
    return;
  }
  std::int64_t* const predicted = room_for(std::min(stride, kMany));
  for (std::int64_t sample = 0; sample < batch.samples(); ++sample) {
    for (std::int64_t first = 0; first < stride; first += kMany) {
      const std::int64_t width = std::min(kMany, stride - first);
      predict_columns(all_scores + sample * classes * stride + first,
                      c10::CppTypeToScalarType<T>::value, classes, stride,
                      width, predicted);
      for (std::int64_t i = 0; i < width; ++i) {
        take(sample, first + i, predicted[i]);
      }
    }
  }
}

/// Calls count(index, sample, predicted class, target class) for every counted
/// position, where the predicted class is the target if that is among the top
/// k. Throws for invalid class labels. REQUIRES: a batch on the CPU.
template <class Count>
void for_each_prediction(const MulticlassBatch& batch, const Count& count) {
  if (batch.has_scores()) {
    switch (batch.preds().scalar_type()) {
      case at::kFloat:
        return for_each_scored<float>(batch, count);
      case at::kDouble:
        return for_each_scored<double>(batch, count);
      case at::kHalf:
        return for_each_scored<at::Half>(batch, count);
      default:
        return for_each_scored<at::BFloat16>(batch, count);
    }
  }
  const auto* const preds = batch.preds().const_data_ptr<std::int64_t>();
  const auto* const targets = batch.target().const_data_ptr<std::int64_t>();
  std::int64_t index = 0;
  for (std::int64_t sample = 0; sample < batch.samples(); ++sample) {
    for (std::int64_t i = 0; i < batch.positions(); ++i, ++index) {
      if (!batch.takes(targets[index], index)) continue;
      if (!batch.is_class(preds[index])) {
        batch.refuse_preds(preds[index], index);
      }
      count(index, sample, preds[index], targets[index]);
    }
  }
}

/// The same as for_each_prediction with tensor operations, for any device: both
/// [samples, positions], num_classes at ignored positions, and kNanClass as
/// above. On a GPU, invalid class labels are detected, which synchronizes, only
/// with validate_args; otherwise they are ignored.
struct PredictionTensors {
  at::Tensor predicted;
  at::Tensor target;
  at::Tensor weight;  // float64, 0 if ignored; undefined without weights
};
PredictionTensors prediction_tensors(const MulticlassBatch& batch);

}  // namespace tally::internal::classification
