#pragma once

#include <ATen/core/Tensor.h>

/// Probabilities of codes with independent bits: bit k of a token with logits z
/// is set with probability sigmoid(z_k). A code's probability is the product of
/// its bits' probabilities, so a token's entropy is the sum of its bits'
/// entropies, and the table of all tokens' codes is never needed.
namespace tally::losses::internal {

/// The entropy of each bit, in nats; same size as the logits.
at::Tensor bit_entropy(const at::Tensor& logits);

/// [c, 2^d], from logits [n, c, d] (float32 or wider): the sum over the n
/// tokens of each code's probability. The first of the d bits is the most
/// significant one of a code's index.
///
/// The d bits are split into halves, and the sum of outer products of the
/// halves' tables is one matrix product: n * 2^d multiplications, and memory
/// for the result and a few MB. Backward recomputes the tables. Second-order
/// gradients are supported.
at::Tensor sum_of_code_probabilities(const at::Tensor& logits);

/// The entropy along the last dimension, in nats. The term of a probability 0
/// is 0, with the gradient at the smallest positive number.
at::Tensor entropy(const at::Tensor& probabilities);

}  // namespace tally::losses::internal
