#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/losses/common/label_inputs.h"

namespace tally::losses::internal {

/// What is summed over positions and classes.
struct EntropyTerms {
  const char* loss;  ///< its name
  LabelMode mode;
  std::vector<double> class_weights;  ///< of each class, or none
  double label_smoothing;
  double gamma;
  double of_1, of_0;  ///< with sigmoids, the weights of labels 1 and 0
  std::optional<std::int64_t> ignore_index;
};

/// Sums over positions that count, float64.
struct EntropySums {
  at::Tensor loss;  ///< of losses, with a graph if preds have one
  at::Tensor both;  ///< [2], of losses and of weights, without a graph
};

/// On the CPU in one pass, with one node of a graph, and independent of the
/// number of threads. Throws c10::ValueError for preds and target that do not
/// fit.
EntropySums entropy_sums(const EntropyTerms& terms, const at::Tensor& preds,
                         const at::Tensor& target);

/// The ratio of both sums, where there are no other ranks to ask: undefined for
/// preds that it is not faster for. Errors as above.
at::Tensor entropy_ratio(const EntropyTerms& terms, const at::Tensor& preds,
                         const at::Tensor& target);

}  // namespace tally::losses::internal
