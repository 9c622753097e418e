#pragma once

#include <cstdint>

#include "tally/metrics/classification/inputs/binary_inputs.h"

/// Loops that count elements that are 0 or 1.
namespace tally::internal::classification {

/// The counted quantities, in this order.
enum ElementCount : int {
  kTruePositives,
  kPredicted,
  kTarget,
  kTotal,
  kNans,
  kElementCounts
};

/// Adds the unweighted counts of a batch to rows of [kElementCounts, labels]:
/// all to one row, or each sample's to its own. Throws for invalid values.
/// REQUIRES: a plain batch.
void count_elements(const BinaryBatch& batch, bool samplewise,
                    std::int64_t* counts);
/// Adds the counts over the labels of each position of each sample to a
/// separate row [kElementCounts].
void count_elements_of_positions(const BinaryBatch& batch,
                                 std::int64_t* counts);
/// Adds sums of the elements' weights, and the number of NaN, to one row.
/// REQUIRES: a plain batch with weights.
void sum_element_weights(const BinaryBatch& batch, double* sums);

/// The same with tensor operations, for any device, weighted or not: float64 or
/// int64 [kElementCounts, labels] or [samples, kElementCounts, labels].
at::Tensor count_elements_by_tensors(const BinaryBatch& batch, bool samplewise);
/// [samples * positions, kElementCounts, 1], unweighted.
at::Tensor count_positions_by_tensors(const BinaryBatch& batch);

}  // namespace tally::internal::classification
