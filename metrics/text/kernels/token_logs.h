#pragma once

#include <cstdint>

/// Logarithms of the probabilities of tokens, with the widest vectors of the
/// machine.
namespace tally::internal::text {

/// The negative logarithm of the softmax's value of one of `size` logits,
/// within 1e-13 of the larger of it and 1. NaN where the largest logit is not
/// finite.
double negative_log(const float* logits, std::int64_t size, std::int64_t token);
double negative_log(const double* logits, std::int64_t size,
                    std::int64_t token);

}  // namespace tally::internal::text
